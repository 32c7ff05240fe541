// Selection of the facts for a model, and errors for invalid files.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseConfig } from '../config/load.ts'
import { catalog } from '../endpoints/models.ts'
import {
  createFactTable,
  type FactLayer,
  FactsError,
  factTableOf,
  packageTable,
  parseFacts,
} from './facts.ts'

const layer = (lines: string, origin: FactLayer['origin'] = 'package'): FactLayer =>
  parseFacts(
    `providers: { maker: [chat] }\nsources: { guide: { title: the guide, date: 2026-11-01 } }\nmodels:\n${lines}`,
    'facts.yaml',
    origin,
  )
const line = (rest: string) => `  - { provider: maker, source: guide, ${rest} }\n`

test('an exact name takes precedence over a pattern, and a longer pattern over a shorter one', () => {
  const table = createFactTable([
    layer(
      line('model: "m-*", output: 1, context: 1, chat_tools: no') +
        line('model: m-1, output: 3') +
        line('model: "m-1*", output: 2, context: 2'),
    ),
  ])
  assert.deepEqual(table.of('maker', 'm-1', null), { output: 3, context: 2, chat_tools: 'no' })
  assert.deepEqual(table.of('maker', 'm-2', null), { output: 1, context: 1, chat_tools: 'no' })
  assert.deepEqual(table.models, [{ provider: 'maker', model: 'm-1' }], 'a pattern is no model')
})

test('a name covers its dated, prefixed and versioned forms, but no other names with the same beginning', () => {
  const table = createFactTable([layer(line('model: m-1, output: 3'))])
  for (const model of [
    'm-1-20261101',
    'm-1-2026-11-01',
    'm-1@20261101',
    'maker/m-1',
    'eu.maker.m-1-20261101-v1:0',
  ])
    assert.deepEqual(table.of('maker', model, null), { output: 3 }, model)
  for (const model of ['m-1-mini', 'm-10', 'am-1'])
    assert.deepEqual(table.of('maker', model, null), {}, model)
})

test("a maker's facts apply to another provider only in the same dialect", () => {
  const table = createFactTable([layer(line('model: m-1, output: 3'))])
  assert.deepEqual(table.of('another', 'm-1', 'chat'), { output: 3 })
  for (const dialect of ['messages', null]) assert.deepEqual(table.of('another', 'm-1', dialect), {})
})

test('an unverified fact is listed, but no call is refused because of it', () => {
  const table = createFactTable([layer(line('model: m-1, output: 3, unverified: true'))])
  assert.deepEqual(table.of('maker', 'm-1', null), {})
  assert.deepEqual(table.statements('maker', 'm-1', null), [
    {
      fact: 'output',
      value: 3,
      origin: 'package',
      name: 'm-1',
      source: 'the guide',
      date: '2026-11-01',
      unverified: true,
    },
  ])
})

test('the configuration takes precedence over the package and can add a model in one line; `like` works across both files', () => {
  const table = factTableOf({
    models: {
      'work/claude-opus-6': { context: 2_000_000, accepts: { like: 'claude-opus-5-5', forced_tools: 'yes' } },
      'work/claude-opus-5-*': { accepts: { output: 5 } },
    },
  })
  const known = packageTable().of('anthropic', 'claude-opus-5-5', null)
  const facts = table.of('work', 'claude-opus-6', 'messages')
  assert.deepEqual(facts, { ...known, output: 5, context: 2_000_000, forced_tools: 'yes' })
  assert.equal(table.of('elsewhere', 'claude-opus-6', 'messages').context, undefined)
})

test('two models that are declared like each other do not cause an endless loop', () => {
  const table = createFactTable([layer(line('model: a, like: b') + line('model: b, like: a, output: 3'))])
  assert.deepEqual(table.of('maker', 'a', null), { output: 3 })
})

for (const [what, text, said] of [
  ['a wrong value', line('model: m, output: many'), /^facts\.yaml:4: models\.0\.output: .*expected number/],
  [
    'an unknown field',
    line('model: m') + line('model: n, outputs: 3'),
    /^facts\.yaml:5: models\.1: .*"outputs"/,
  ],
  ['an unknown word', line('model: m, sampling: some'), /^facts\.yaml:4: models\.0\.sampling: /],
  ['no model', line('output: 3'), /^facts\.yaml:4: models\.0\.model: /],
  ['no YAML', '  - {', /^facts\.yaml:\d+: /],
  [
    'a source that is nowhere',
    '  - { provider: p, model: m, source: hearsay }',
    /"hearsay" is not under sources/,
  ],
] as const)
  test(`a file with ${what} is refused with an error that names the place`, () => {
    assert.throws(
      () => layer(text),
      (error) => error instanceof FactsError && said.test(error.message),
    )
  })

test('a pattern in the configuration provides facts, but appears in no list of models', () => {
  const { config } = parseConfig(
    'providers: { work: { dialect: chat, base_url: "http://localhost:1/v1" } }\nmodels: { "work/m-*": { accepts: { sampling: none } }, work/m-1: {} }',
    'waybill.yaml',
    { env: {} },
  )
  assert.deepEqual(
    catalog(config).map(({ id }) => id),
    ['work/m-1'],
  )
  assert.deepEqual(factTableOf(config).of('work', 'm-1', null), { sampling: 'none' })
})
