// Events that are larger than any answer. They must neither delay other calls nor stay in memory while a
// client reads.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { chunk, DONE } from '../../mocks/test-upstream.ts'
import { Transcript } from '../core/token-estimate.ts'
import { upstream } from '../dialects/chat/upstream.ts'
import { ask, testGateway } from '../test/test-gateway.ts'
import { dataOf, EventReader } from './event-reader.ts'

const MIB = 2 ** 20
const LINES = ['data\n', 'data:\n', 'data\r', 'data: x\r\n', 'event\n', ':\n', 'x\n', 'data\n:\n']

for (const line of LINES)
  test(`an event of 31 MiB of ${JSON.stringify(line)} is refused before its lines are read`, () => {
    const bytes = Buffer.from(`data: {}\n${line.repeat((31 * MIB) / line.length)}\n\n`)
    const reader = new EventReader(upstream.openStream())
    const said = reader.push(bytes).filter(({ parsed }) => parsed !== null)
    assert.deepEqual(
      said.map(({ parsed }) => parsed!.error?.code),
      ['upstream_invalid'],
    )
    assert.equal(dataOf(said[0]!.bytes), '')
  })

test('an event of many lines is read in the same way as one with few', () => {
  const bytes = Buffer.from(`${': x\n'.repeat(2_000)}${'data: \r\n'.repeat(2_000)}data: {"model":"m"}\n\n`)
  const [part] = new EventReader(upstream.openStream()).push(bytes)
  assert.deepEqual([part!.parsed!.model, part!.parsed!.error], ['m', null])
})

for (const [where, before, code] of [
  ['the first event', '', 'upstream_error'],
  ['a later event', chunk({ content: 'here' }), 'upstream_invalid'],
] as const)
  test(`${where} has five million lines: the call fails, and the next call is answered (FLOW-03)`, async (t) => {
    let calls = 0
    const gateway = await testGateway(t, {
      providers: {
        alpha(response) {
          response.writeHead(200, { 'content-type': 'text/event-stream' })
          if (++calls > 1) response.end(chunk({ content: 'here' }, { finish_reason: 'stop' }) + DONE)
          else response.end(`${before}data: {}\n${'data\n'.repeat(5_000_000)}\n\n${DONE}`)
        },
      },
    })
    const { headers, text } = await gateway.chat(ask('auto', { stream: true }))
    assert.match(text, /"error"/)
    assert.ok(text.length < 2_000, `${text.length} characters`)
    const record = await gateway.record(headers.get('x-gateway-request-id'))
    assert.deepEqual([record.state, record.error_code], ['failed', code])
    assert.equal((await gateway.chat(ask('alpha/model-a', { stream: true }))).status, 200)
  })

test('transcripts contain only the beginning of large events', () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  const before = process.memoryUsage().heapUsed
  const transcripts = Array.from({ length: 8 }, (_, n) => {
    const transcript = new Transcript()
    transcript.add(String(n))
    transcript.add(JSON.parse(`"${'word '.repeat((16 * MIB) / 5)}"`))
    return transcript
  })
  collect()
  const kept = process.memoryUsage().heapUsed - before
  assert.ok(kept < 8 * MIB, `${kept} bytes`)
  for (const { tokens } of transcripts) assert.ok(tokens > 3 * MIB && tokens < 5 * MIB, `${tokens} tokens`)
})
