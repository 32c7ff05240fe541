// USE-07: the record of a call whose client left before the end of the answer.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chunk, DONE, event, type Script, stream, usageChunk } from '../../mocks/test-upstream.ts'
import { manualClock } from '../shared/test-clock.ts'
import { ask, testGateway } from '../test/test-gateway.ts'
import { pause, until } from '../test/test-until.ts'

const CONFIG = `
models: { alpha/model-a: { price: { input: 1, output: 10 } } }
routes: { auto: { targets: [ { model: alpha/model-a } ] } }
resilience: { idle: 1s }`

/** Fifty deltas of six words; half of the deltas are thoughts. */
const TEXT = Array.from({ length: 50 }, (_, n) =>
  chunk({ [n % 2 ? 'content' : 'reasoning_content']: ' and so the story goes on' }),
)
const QUESTION = 'Tell me a very long story about a gateway, please. '.repeat(20)

interface Row {
  readonly name: string
  readonly script: Script
  /** True if the client leaves after the first bytes. */
  readonly leaves?: boolean
  readonly state: string
  /** Source of `tokens`. If reported, the counts are the mock's 20 and 7. */
  readonly source: 'reported' | 'estimated' | null
}

const ROWS: readonly Row[] = [
  {
    name: 'the client leaves',
    script: stream(...TEXT, 60_000),
    leaves: true,
    state: 'aborted',
    source: 'estimated',
  },
  {
    name: 'the provider breaks off',
    script: stream(...TEXT, 20, (r) => void r.destroy()),
    state: 'failed',
    source: 'estimated',
  },
  { name: 'the provider ends too early', script: stream(...TEXT), state: 'failed', source: 'estimated' },
  {
    name: 'the provider falls silent',
    script: stream(...TEXT, 60_000),
    state: 'failed',
    source: 'estimated',
  },
  {
    name: 'the provider reports an error',
    script: stream(...TEXT, event({ error: { message: 'x' } }), DONE),
    state: 'failed',
    source: 'estimated',
  },
  {
    name: 'the provider breaks off after its usage',
    script: stream(...TEXT, usageChunk()),
    state: 'failed',
    source: 'reported',
  },
  {
    name: 'the client leaves after the usage',
    script: stream(...TEXT, usageChunk(), 60_000),
    leaves: true,
    state: 'aborted',
    source: 'reported',
  },
  {
    name: 'nothing happens, but usage is never reported',
    script: stream(...TEXT, chunk({}, { finish_reason: 'stop' }), DONE),
    state: 'completed',
    source: null,
  },
]

for (const { name, script, leaves = false, state, source } of ROWS)
  test(`when ${name}, the tokens on record are ${source ?? 'not known'} (USE-07)`, async (t) => {
    const manual = manualClock()
    const gateway = await testGateway(t, { providers: { alpha: script }, config: CONFIG, clock: manual })
    const leave = new AbortController()
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        ...ask('auto', { stream: true }),
        messages: [{ role: 'user', content: QUESTION }],
      }),
      signal: leave.signal,
    })
    let got = 0
    const reading = (async () => {
      for await (const part of response.body!) {
        got += Buffer.from(part).toString().split('goes on').length - 1
        if (leaves && got === TEXT.length) void pause(50).then(() => leave.abort())
      }
    })().catch(() => {}) // a cut stream cannot be read to the end
    await until('all text has arrived', () => got === TEXT.length)
    if (name === 'the provider falls silent') await manual.advance(1_000)
    await reading
    const record = await gateway.record(response.headers.get('x-gateway-request-id'))
    assert.equal(record.state, state)
    assert.equal(record.tokens.source, source)
    assert.deepEqual(record.attempt_log[0].tokens, record.tokens)
    const { input, output } = record.tokens
    if (source === null) assert.deepEqual([input, output, record.cost_usd], [null, null, null])
    if (source === 'reported') assert.deepEqual([input, output], [20, 7])
    if (source === 'estimated') {
      // The text has 11 words and 2 marks, twenty times, or 6 words, fifty times. An estimate may be off by a
      // third.
      assert.ok(input > 160 && input < 340, `input ${input}`)
      assert.ok(output > 200 && output < 400, `output ${output}`)
      assert.equal(record.tokens.cached_input, null)
    }
    if (source !== null) assert.ok(Math.abs(record.cost_usd - (input * 1 + output * 10) / 1e6) < 1e-12)
  })
