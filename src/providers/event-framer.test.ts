import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { EventFramer } from './event-framer.ts'

/** Frames a text that arrives in pieces of the given lengths. */
function frame(text: string, lengths: readonly number[] = []): string[] {
  const framer = new EventFramer()
  const bytes = Buffer.from(text)
  const events: Buffer[] = []
  let at = 0
  for (const length of [...lengths, bytes.length]) {
    // A copy: nothing may rely on the chunk outliving the call.
    events.push(...framer.push(Buffer.from(bytes.subarray(at, at + length))))
    at += length
  }
  const texts: string[] = []
  for (const event of [...events, framer.rest() ?? Buffer.alloc(0)]) {
    const text = event.toString('utf8')
    // A chunk that ends between CR and LF leaves the LF behind; it belongs to the event before.
    if (text === '\n') texts.push(texts.pop() + text)
    else texts.push(text)
  }
  return texts
}

test('whatever the chunk boundaries, the same events come out and no byte is lost (FLOW-02)', () => {
  const line = fc.constantFrom('data: {"a":1}', 'data: ü👋', ': comment', 'event: ping', 'data:')
  const end = fc.constantFrom('\n', '\r\n')
  const block = fc
    .tuple(fc.array(line, { minLength: 1, maxLength: 3 }), end)
    .map(([lines, end]) => lines.map((text) => text + end).join('') + end)
  fc.assert(
    fc.property(fc.array(block), fc.array(fc.integer({ min: 1, max: 9 })), (blocks, lengths) => {
      assert.deepEqual(frame(blocks.join(''), lengths), [...blocks, ''])
    }),
    { numRuns: 500 },
  )
})

test('each event is given out as soon as its blank line is there', () => {
  const framer = new EventFramer()
  assert.equal(framer.push(Buffer.from('data: 1\n')).length, 0)
  assert.equal(framer.push(Buffer.from('\nda')).length, 1)
  assert.equal(framer.push(Buffer.from('ta: 2\r\n\r')).length, 1)
  assert.equal(framer.push(Buffer.from('\ndata: 3\r\r')).length, 2, 'the LF that was missing, and an event')
})

test('a stream that ends early leaves its rest', () => {
  assert.deepEqual(frame('data: 1\n\ndata: 2'), ['data: 1\n\n', 'data: 2'])
})

test('an event of 8 MB in chunks of 1 kB takes time in proportion to its size', () => {
  const framer = new EventFramer()
  const line = Buffer.alloc(1024, 'x')
  const before = performance.now()
  for (let i = 0; i < 8 * 1024; i++) assert.equal(framer.push(line).length, 0)
  const [event] = framer.push(Buffer.from('\n\n'))
  assert.equal(event!.length, 8 * 2 ** 20 + 2)
  const ms = performance.now() - before
  assert.ok(ms < 2_000, `${ms} ms; quadratic, it took 8 seconds`)
})
