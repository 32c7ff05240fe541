// LIFE-03: the number of waiting artifacts is bounded, and those that remain are eventually written.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ArtifactBuffer } from './artifact-buffer.ts'

test('artifacts that cannot be written wait for a retry, up to the maximum number of stored artifacts (LIFE-03)', async () => {
  const written: string[] = []
  let failing = true
  const waiting = new ArtifactBuffer({ keep: 30, bytes: 2 ** 20 }, async (artifacts) => {
    if (failing) throw new Error('the writer thread ended')
    written.push(...artifacts.map(({ callId }) => callId))
  })
  const ids = Array.from({ length: 40 }, (_, n) => `call-${n}`)
  for (const id of ids) waiting.add(id, 1, () => `"${id}"`)
  await waiting.flush()
  assert.deepEqual([waiting.find('call-9'), waiting.find('call-10')], [null, '"call-10"'])
  failing = false
  await waiting.drain()
  assert.deepEqual([written, waiting.find('call-10')], [ids.slice(10), null])
})
