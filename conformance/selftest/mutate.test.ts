import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { readRows } from './mutate.ts'
import type { GatewayHooks, HookContext, Wanted } from './wire.ts'

/** Returns the hooks of a row with these members. */
function hooksOf(t: TestContext, members: string): GatewayHooks {
  const directory = mkdtempSync(join(tmpdir(), 'waybill-rows-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const file = join(directory, 'rows.yaml')
  writeFileSync(file, `one:\n  what: A mistake.\n  caughtBy: LOG-01\n  ${members}\n`)
  const { one } = readRows(file)
  assert.ok(one && 'hooks' in one)
  return typeof one.hooks === 'function' ? one.hooks() : one.hooks
}

const wanted = (more: Partial<Wanted> = {}): Wanted => ({
  ...{ method: 'POST', path: '/v1/messages', headers: {}, body: Buffer.from('{"model":"groq/a"}') },
  ...more,
})
const context = { env: { ADMIN_KEY: 'k' } } as unknown as HookContext

const ITEMS = '{"n":3,"list":[{"type":"a","v":1},{"type":"b","v":2},{"type":"a","v":3}],"deep":{"x":{"v":4}}}'
const CASES: readonly [operators: string, changed: string][] = [
  ['{ remove: /deep }', ITEMS.replace(',"deep":{"x":{"v":4}}', '')],
  ["{ remove: '/list/*[type=a]' }", ITEMS.replace(/\{"type":"a","v":1\},|,\{"type":"a","v":3\}/g, '')],
  ["{ remove: '/list/*[type!=a]' }", ITEMS.replace('{"type":"b","v":2},', '')],
  ["{ remove: '/list/*[type=a|b]+' }", ITEMS.replace(/,\{"type":"b".*3\}/, '')],
  ['{ remove: /**/v }', '{"n":3,"list":[{"type":"a"},{"type":"b"},{"type":"a"}],"deep":{"x":{}}}'],
  ['{ set: { /n: null, /missing: 1 } }', ITEMS.replace('"n":3', '"n":null')],
  ['{ put: { /deep/x/w: 5 } }', ITEMS.replace('"v":4', '"v":4,"w":5')],
  ['{ copy: { /n: /deep/x/v } }', ITEMS.replace('"n":3', '"n":4')],
  ['{ add: { /n: [/deep/x/v, -1] } }', ITEMS.replace('"n":3', '"n":-1')],
  ['{ add: { /n: 1 }, times: { /deep/x/v: 2 } }', ITEMS.replace('"n":3', '"n":4').replace('4}}', '8}}')],
  ['{ round: { /n: 2 } }', ITEMS.replace('"n":3', '"n":4')],
  ['{ replace: { /list/0/type: [a, c] } }', ITEMS.replace('"a"', '"c"')],
  ['{ slice: { /list: [-1] } }', ITEMS.replace(/\{"type":"a","v":1.*?2\},/, '')],
  ['{ repeat: /list/0 }', ITEMS.replace('{"type":"a","v":1},', '$&$&')],
  [
    "{ rotate: '/list/*[type=a]/v' }",
    ITEMS.replace('"v":1', '"v":0').replace('"v":3', '"v":1').replace('"v":0', '"v":3'),
  ],
  ['{ stringify: /deep }', ITEMS.replace('{"x":{"v":4}}', '"{\\"x\\":{\\"v\\":4}}"')],
  ['{ fill: { /deep: 1, /list/*/w: 6 } }', ITEMS.replaceAll(/("v":[123])/g, '$1,"w":6')],
  ['{ reverse: true, remove: /list }', '{"deep":{"x":{"v":4}},"n":3}'],
  ['{ remove: [/list, /deep], indent: 1 }', '{\n "n": 3\n}'],
  ['{ text: [\'"v":\', \'"w":\'] }', ITEMS.replaceAll('"v":', '"w":')],
]

for (const [operators, changed] of CASES)
  test(`an answer changes by ${operators}`, async (t) => {
    const { body } = hooksOf(t, `answer: ${operators}`)
    assert.equal(await body!(ITEMS, wanted(), context), changed)
  })

test('every byte stays if the condition does not hold, or if another request is meant', async (t) => {
  const spaced = '{ "n": 3.0 }'
  const meant = hooksOf(t, 'answer: { where: { /n: 4 }, set: { /n: 5 } }')
  assert.equal(await meant.body!(spaced, wanted(), context), spaced)
  for (const other of ['of: chat', 'at: openai', 'method: GET', 'path: /v2', 'body: nobody']) {
    const { body } = hooksOf(t, `answer: { set: { /n: 5 } }\n  ${other}`)
    assert.equal(await body!(spaced, wanted(), context), spaced, other)
  }
})

test('an event is dropped, doubled or changed by its text, its number or its JSON', async (t) => {
  const [delta, end] = ['data: {"type":"delta","n":1}\n\n', 'data: [DONE]\n\n']
  const rows: readonly [members: string, index: number, event: string, out: readonly string[]][] = [
    ["{ match: '\\[DONE\\]', drop: true }", 0, end, []],
    ["{ match: '\\[DONE\\]', drop: true }", 0, delta, [delta]],
    ['{ index: 1, twice: true }', 1, delta, [delta, delta]],
    ['{ index: 1, twice: true }', 2, delta, [delta]],
    ['{ where: { /type: delta }, drop: true }', 0, delta, []],
    ['{ where: { /type: other }, drop: true }', 0, delta, [delta]],
    ['{ where: { /type: d.* }, set: { /n: 2 } }', 0, delta, [delta.replace('1', '2')]],
    ['{ set: { /n: 2 } }', 0, end, [end]],
  ]
  for (const [members, index, event, out] of rows)
    assert.deepEqual(
      await hooksOf(t, `events: ${members}`).event!(event, index, wanted(), context),
      out,
      members,
    )
})

test('headers are removed, written or changed, with variables of the gateway', async (t) => {
  const { request } = hooksOf(t, 'sent: { a: null, b: Bearer $ADMIN_KEY, c: [x, y], d: [x, y] }')
  const sent = wanted({ headers: { a: '1', c: 'x' } })
  await request!(sent, context)
  assert.deepEqual(sent.headers, { b: 'Bearer k', c: 'y' })
})

test('an unknown member of a row is an error that names the row and the member', (t) => {
  assert.throws(() => hooksOf(t, 'answers: {}'), /rows\.yaml: one: .*"answers"/s)
  assert.throws(() => hooksOf(t, 'answer: { drop: true }'), /rows\.yaml: one: .*"drop"/s)
})
