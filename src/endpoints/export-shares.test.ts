// Exports that do not end: each key has its own share of them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exported } from './export.ts'

test('a key whose exports do not end is refused a third one, and another key is not', async () => {
  const lists: { fail(): void }[] = []
  const calls = {
    list: () => new Promise((_, reject) => lists.push({ fail: () => reject(new Error('the test is over')) })),
  }
  const context = { calls, instanceCalls: calls, config: { resilience: { idle: 1_000 } } }
  const ask = (name: string) =>
    exported.handle({ caller: { name, role: 'client' }, query: '' } as never, {} as never, context as never)
  const running = [ask('slow'), ask('slow')]
  await assert.rejects(async () => ask('slow'), /Two exports of this key are already running/)
  running.push(ask('other'))
  assert.equal(lists.length, 3)
  for (const { fail } of lists) fail()
  await Promise.allSettled(running)
  const next = ask('slow')
  lists.at(-1)!.fail()
  await assert.rejects(async () => next, /the test is over/)
})
