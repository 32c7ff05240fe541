import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { clock } from '../../src/shared/clock.ts'
import type { Recording } from './format.ts'
import { replay } from './test-replay.ts'

const stream = (bytes: Uint8Array, chunks: [number, number][]) =>
  ({
    bytes,
    response: { status: 200, headers: { 'content-type': 'text/event-stream' }, body: 'a.sse', chunks },
  }) as Partial<Recording> as Recording

test('replay returns the recorded bytes and chunk boundaries (REC-03)', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.uint8Array({ minLength: 1, maxLength: 40 }), { minLength: 1 }),
      async (pieces) => {
        const recording = stream(
          Buffer.concat(pieces),
          pieces.map((piece) => [piece.length, 1000]),
        )
        const response = await replay(recording, 'none')
        const received: number[][] = []
        for await (const chunk of response.body!) received.push([...chunk])
        assert.deepEqual(
          received,
          pieces.map((piece) => [...piece]),
        )
      },
    ),
    { numRuns: 50 },
  )
})

test('replay keeps the recorded pace, and sends no response headers before the first chunk is due (REC-03)', async () => {
  const started = clock.monotonic()
  const response = await replay(
    stream(Buffer.from('aabbcc'), [
      [2, 60],
      [2, 40],
      [2, 40],
    ]),
    'recorded',
  )
  const times = [clock.monotonic() - started]
  for await (const _ of response.body!) times.push(clock.monotonic() - started)
  for (const [i, least] of [60, 60, 100, 140].entries()) assert.ok(times[i]! >= least - 2, `${times}`)
})

test('cancelling a replayed answer ends the wait for its next chunk', async () => {
  const response = await replay(
    stream(Buffer.from('ab'), [
      [1, 0],
      [1, 60_000],
    ]),
    'recorded',
  )
  const reader = response.body!.getReader()
  await reader.read()
  await reader.cancel() // a timer of a minute would keep the test running
})

test('replay keeps the status, the headers and the end of the body (REC-03)', async () => {
  const one = await replay(stream(Buffer.from('ab'), [[2, 0]]), 'none')
  assert.deepEqual(Object.fromEntries(one.headers), {
    'content-type': 'text/event-stream',
    'content-length': '2',
  })
  const two = await replay(
    stream(Buffer.from('ab'), [
      [1, 0],
      [1, 0],
    ]),
    'none',
  )
  assert.equal(two.headers.get('transfer-encoding'), 'chunked')
})
