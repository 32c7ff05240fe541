// Providers that send floods of comments, blank lines or brackets, and requests with deep nesting. Memory
// must be bounded, no other call may wait, and the record must match the client's answer.
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { answer, chunk, DONE } from '../../mocks/test-upstream.ts'
import { ask, testGateway } from '../test/test-gateway.ts'
import { processorMs } from '../test/test-processor-time.ts'

/** Writes a text repeatedly, as fast as it is accepted. */
async function flood(response: ServerResponse, text: string, times: number): Promise<void> {
  for (let time = 0; time < times && !response.destroyed; time++)
    if (!response.write(text)) await room(response)
}

const room = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const goOn = () => {
      response.off('drain', goOn).off('close', goOn)
      resolve()
    }
    response.on('drain', goOn).on('close', goOn)
  })

/** Maximum processor time of a turn of the event loop, ms. */
const MOST_TURN_MS = 500

const END = chunk({ content: 'here' }) + chunk({}, { finish_reason: 'stop' }) + DONE

/** Returns the longest processor time for which nothing else could run during an action, ms. */
async function longestTurn(during: () => Promise<unknown>): Promise<number> {
  let longest = 0
  let last = processorMs()
  const look = () => {
    longest = Math.max(longest, processorMs() - last)
    last = processorMs()
  }
  const timer = setInterval(look, 5)
  try {
    await during()
  } finally {
    clearInterval(timer)
  }
  look()
  return longest
}

test('endless comments before the first event do not fill the memory, and the answer arrives (FLOW-04)', async (t) => {
  const comment = `: ${'x'.repeat(65_000)}\n\n`
  const gateway = await testGateway(t, {
    providers: {
      alpha: async (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        await flood(response, comment, 4_500)
        response.end(END)
      },
    },
  })
  let most = 0
  const before = process.memoryUsage().arrayBuffers
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage().arrayBuffers - before)
  }, 5)
  const { status, text, headers } = await gateway.chat(ask('auto', { stream: true }))
  clearInterval(timer)
  assert.equal(status, 200)
  assert.ok(text.endsWith(END))
  assert.ok(text.length < 200_000, `${text.length} bytes reached the client`)
  assert.ok(most < 128 * 2 ** 20, `${Math.round(most / 2 ** 20)} MiB were held of 280`)
  assert.equal((await gateway.record(headers.get('x-gateway-request-id'))).state, 'completed')
})

for (const [what, text] of [
  ['blank lines', '\n'],
  ['empty comments', ':\n\n'],
] as const)
  test(`5 MB of ${what} do not delay other calls, and the client receives the answer that follows`, async (t) => {
    const gateway = await testGateway(t, {
      providers: {
        alpha: async (response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' })
          await flood(response, text.repeat(50_000), 100 / text.length)
          response.end(END)
        },
      },
    })
    const turn = await longestTurn(async () => {
      const answered = await gateway.chat(ask('auto', { stream: true }))
      assert.ok(answered.text.endsWith(END), 'the client got the answer')
      const record = await gateway.record(answered.headers.get('x-gateway-request-id'))
      assert.deepEqual([record.state, record.status], ['completed', 200])
    })
    t.diagnostic(`longest turn ${Math.round(turn)} ms`)
    assert.ok(turn < MOST_TURN_MS, `everybody else waits for a turn of ${Math.round(turn)} ms`)
  })

for (const [what, text] of [
  ['empty lists', `[${'[],'.repeat(3_500_000)}[]]`],
  ['open lists', '['.repeat(10_000_000)],
] as const)
  for (const stream of [false, true])
    test(`10 MB of ${what} from a provider do not delay other calls (${stream ? 'streamed' : 'whole'})`, async (t) => {
      const gateway = await testGateway(t, {
        providers: {
          alpha: (response) => {
            response.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' })
            response.end(stream ? `data: ${text}\n\n` : text)
          },
        },
      })
      const turn = await longestTurn(async () => {
        const { status, json } = await gateway.chat(ask('auto', { stream }))
        assert.equal(status, 502)
        assert.match(json.error.code, /^upstream_/)
      })
      t.diagnostic(`longest turn ${Math.round(turn)} ms`)
      assert.ok(turn < MOST_TURN_MS, `everybody else waits for a turn of ${Math.round(turn)} ms`)
    })

for (const cached of [false, true])
  test(`a request with deeply nested stream_options is answered normally (cache ${cached ? 'on' : 'off'})`, async (t) => {
    const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
    const gateway = await testGateway(t, {
      providers: { alpha: answer() },
      config: `cache: { enabled: ${cached} }\nroutes: { auto: { targets: [ { model: alpha/model-a } ] } }`,
    })
    for (const stream of [true, false]) {
      const body = `{"model":"auto","messages":[],"stream":${stream},"stream_options":{"x":${deep},"y":1.0}}`
      const { status, headers } = await gateway.chat(body)
      assert.equal(status, 200)
      assert.equal((await gateway.record(headers.get('x-gateway-request-id'))).state, 'completed')
      const { text } = gateway.upstream.alpha!.ledger.at(-1)!
      assert.ok(text.includes(`"stream_options":{"x":${deep},"y":1.0`), 'every byte of them arrives')
    }
    assert.match((await gateway.get('/metrics')).text, /^waybill_open_calls 0$/m)
  })
