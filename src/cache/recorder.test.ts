import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EMPTY_EVENT } from '../core/call.ts'
import { Recorder } from './response-cache.ts'

const END = { ...EMPTY_EVENT, finished: true }
const USAGE = { ...EMPTY_EVENT, usageOnly: true }

test('a stream is stored in its own memory, in a few parts, with its usage in a separate part', () => {
  const recorder = new Recorder(100, { left: 1_000 })
  const network = Buffer.from('one two three four')
  recorder.add(network.subarray(0, 4), EMPTY_EVENT)
  recorder.add(network.subarray(4, 8), END)
  recorder.add(network.subarray(8, 14), USAGE)
  recorder.add(network.subarray(14), EMPTY_EVENT)
  const parts = recorder.parts()!
  network.fill(0)
  assert.deepEqual(
    parts.map(({ bytes, usageOnly }) => [bytes.toString(), usageOnly]),
    [
      ['one two ', false],
      ['three ', true],
      ['four', false],
    ],
  )
})

test('a stream that grows too large is dropped immediately and stays dropped', () => {
  const recorder = new Recorder(10, { left: 1_000 })
  recorder.add(Buffer.from('123456'), EMPTY_EVENT)
  recorder.add(Buffer.from('7890'), END)
  assert.equal(recorder.parts()?.length, 1)
  recorder.add(Buffer.from('1'), EMPTY_EVENT)
  assert.equal(recorder.parts(), null)
  recorder.add(Buffer.from(''), END)
  assert.equal(recorder.parts(), null)
})

test('simultaneous streams share the available bytes and release them', () => {
  const room = { left: 10 }
  const [first, second] = [new Recorder(8, room), new Recorder(8, room)]
  first.add(Buffer.from('123456'), END)
  second.add(Buffer.from('123456'), END)
  assert.equal(second.parts(), null, 'there is room for one')
  assert.equal(first.parts()?.length, 1)
  second.close()
  first.close()
  assert.equal(room.left, 10)
  const third = new Recorder(8, room)
  third.add(Buffer.from('123456'), END)
  assert.equal(third.parts()?.length, 1)
})
