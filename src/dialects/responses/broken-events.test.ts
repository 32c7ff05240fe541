// Events of a provider that are cut off, followed by other text, or have impossible numbers. They end their own
// response at most. Nothing is remembered of it.
import assert from 'node:assert/strict'
import { on, once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { WebSocket } from 'ws'
import type { Script } from '../../../mocks/test-upstream.ts'
import { type TestGateway, testGateway } from '../../test/test-gateway.ts'
import { message, response } from './test-samples.ts'

const CONFIG = `responses: { store: { enabled: true } }
routes: { auto: { targets: [ { model: alpha/m } ] } }`

const event = (type: string, more: object): string => JSON.stringify({ type, ...more })
const BEGUN = event('response.created', {
  response: response('m', 'in_progress', { id: 'resp_x', store: false }),
})
const ITEM = event('response.output_item.done', { output_index: 0, item: message('hello') })
const ENDED = event('response.completed', {
  response: response('m', 'completed', { id: 'resp_x', store: false, output: [] }),
})
const at = (index: unknown): string =>
  event('response.output_item.done', { output_index: index, item: message('hello') })
const cutBefore = (text: string, word: string): string => text.slice(0, text.indexOf(word))

const STREAMS: readonly (readonly [what: string, ...events: string[]])[] = [
  ['an item that ends inside an object', BEGUN, cutBefore(ITEM, '"role"'), ENDED],
  ['an item that ends inside a list', BEGUN, cutBefore(ITEM, '"annotations"'), ENDED],
  ['an item that ends inside a string', BEGUN, cutBefore(ITEM, 'ello'), ENDED],
  ['an item with text after it', BEGUN, `${ITEM}]`, ENDED],
  ['a text as an item', BEGUN, event('response.output_item.done', { output_index: 0, item: 'x' }), ENDED],
  ['no item', BEGUN, event('response.output_item.done', { output_index: 0 }), ENDED],
  ['no response at the end', BEGUN, ITEM, event('response.completed', {})],
  ['an end that is cut off', BEGUN, ITEM, ENDED.slice(0, -3)],
  ['an end with text after it', BEGUN, ITEM, `${ENDED}{}`],
  ...[4_294_967_294, 1e9, 5e8, 1e300, -1, 1.5, '0', null, {}, [0]].map((index): [string, ...string[]] => [
    `the index ${JSON.stringify(index)}`,
    BEGUN,
    at(index),
    ENDED,
  ]),
]

const streaming =
  (events: readonly string[]): Script =>
  (res) =>
    res
      .writeHead(200, { 'content-type': 'text/event-stream' })
      .end(events.map((each) => `data: ${each}\n\n`).join(''))

const start = (t: TestContext, events: readonly string[]) =>
  testGateway(t, {
    providers: { alpha: streaming(events) },
    dialects: { alpha: ['responses'] },
    config: CONFIG,
    env: { WAYBILL_RESPONSES_KEY: 'k'.repeat(44) },
  })

const askFor = ({ get }: TestGateway, more: object) =>
  get('/v1/responses', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'auto', input: 'hi', ...more }),
  })

test('a stream with a broken event is relayed on a WebSocket and over HTTP, and is not remembered', async (t) => {
  const gateway = await start(t, [])
  const { url, get, upstream } = gateway
  const ask = (more: object = {}) => askFor(gateway, { stream: true, ...more })
  for (const [what, ...events] of STREAMS)
    await t.test(what, async () => {
      upstream.alpha!.script = streaming(events)
      const ws = new WebSocket(`${url.replace('http', 'ws')}/v1/responses`)
      await once(ws, 'open')
      ws.send('{"type":"response.create","model":"auto","input":"hi","store":false}')
      for await (const [data] of on(ws, 'message'))
        if (/response\.completed|"error"/.test(String(data))) break
      ws.terminate()
      await ask().catch(() => {}) // a stream without an end is cut off
      const before = upstream.alpha!.ledger.length
      const { status, json } = await ask({ previous_response_id: 'resp_x' })
      assert.deepEqual([status, json.error.code], [400, 'previous_response_not_found'])
      assert.equal(upstream.alpha!.ledger.length, before)
      assert.equal((await get('/healthz')).status, 200)
    })
})

test('items are remembered in their order, also if a provider leaves indexes out', async (t) => {
  const named = (id: string, index: number) =>
    event('response.output_item.done', { output_index: index, item: { ...message(id), id } })
  const gateway = await start(t, [BEGUN, named('c', 7), named('a', 1), named('b', 3), ENDED])
  await askFor(gateway, { stream: true })
  const { json } = await gateway.get('/v1/responses/resp_x')
  assert.deepEqual(
    json.output.map(({ id }: any) => id),
    ['a', 'b', 'c'],
  )
})
