import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { processorMs } from '../test/test-processor-time.ts'
import { EventFramer } from './event-reader.ts'

interface Framed {
  /** Texts of the parts with data. If the LF after a CR arrived in the next chunk, it is included. */
  readonly events: string[]
  /** All returned bytes, in order. */
  readonly all: string
  readonly parts: number
}

/** Frames a text that arrives in pieces with the given lengths. */
function frame(text: string, lengths: readonly number[] = []): Framed {
  const framer = new EventFramer()
  const bytes = Buffer.from(text)
  const events: string[] = []
  const all: Buffer[] = []
  let at = 0
  for (const length of [...lengths, bytes.length]) {
    // A copy, because nothing may rely on the chunk after the call returns.
    for (const part of framer.push(Buffer.from(bytes.subarray(at, at + length)))) {
      if (part.hasData) events.push(part.bytes.toString('utf8'))
      else if (part.bytes[0] === 0x0a && events.at(-1)?.endsWith('\r')) events.push(`${events.pop()}\n`)
      all.push(part.bytes)
    }
    at += length
  }
  const rest = framer.rest()
  if (rest) all.push(rest)
  return { events, all: Buffer.concat(all).toString('utf8'), parts: all.length }
}

test('all chunk boundaries give the same events, and no byte is lost (FLOW-02)', () => {
  const line = fc.constantFrom('data: {"a":1}', 'data: ü👋', ': comment', 'event: ping', 'data:', 'id: 7')
  const end = fc.constantFrom('\n', '\r\n')
  const block = fc
    .tuple(fc.array(line, { maxLength: 3 }), end)
    .map(([lines, end]) => lines.map((text) => text + end).join('') + end)
  fc.assert(
    fc.property(fc.array(block), fc.array(fc.integer({ min: 1, max: 9 })), (blocks, lengths) => {
      const { events, all } = frame(blocks.join(''), lengths)
      assert.deepEqual(
        events,
        blocks.filter((each) => each.includes('data')),
      )
      assert.equal(all, blocks.join(''))
    }),
    { numRuns: 500 },
  )
})

test('each event is passed on as soon as its blank line arrives, and comments immediately (FLOW-03, FLOW-04)', () => {
  const framer = new EventFramer()
  assert.equal(framer.push(Buffer.from('data: 1\n')).length, 0)
  assert.equal(framer.push(Buffer.from('\nda')).length, 1)
  assert.equal(framer.push(Buffer.from('ta: 2\r\n\r')).length, 1)
  assert.equal(framer.push(Buffer.from('\ndata: 3\r\r')).length, 2, 'the LF that was missing, and an event')
  assert.equal(framer.push(Buffer.from(': ping\n\n: pi')).length, 1)
  assert.equal(framer.push(Buffer.from('ng\n\n')).length, 1)
})

test('any number of successive comments and blank lines form one part, and are read quickly', () => {
  for (const filler of ['\n', '\r\n', ':\n\n', ': x\r\r', 'id: 7\n\n']) {
    const text = filler.repeat(2_000_000)
    const before = processorMs()
    assert.equal(frame(`${text}data: 1\n\n${text}`).parts, 3, JSON.stringify(filler))
    const ms = processorMs() - before
    assert.ok(ms < 2_000, `${JSON.stringify(filler)}: ${ms} ms`)
  }
})

test('when a stream ends early, its unfinished rest is returned', () => {
  const { events, all } = frame('data: 1\n\ndata: 2')
  assert.deepEqual([events, all], [['data: 1\n\n'], 'data: 1\n\ndata: 2'])
})

test('reading an 8 MB event in 1 kB chunks takes time proportional to its size', () => {
  const framer = new EventFramer()
  const line = Buffer.alloc(1024, 'd')
  const before = processorMs()
  for (let i = 0; i < 8 * 1024; i++) assert.equal(framer.push(line).length, 0)
  const [event] = framer.push(Buffer.from('\n\n'))
  assert.equal(event!.bytes.length, 8 * 2 ** 20 + 2)
  const ms = processorMs() - before
  assert.ok(ms < 2_000, `${ms} ms; quadratic, it took 8 seconds`)
})
