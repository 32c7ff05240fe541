// Exports and estimates that do not end: each key has its own share of them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exported } from './export.ts'
import { whatIf } from './routes.ts'

const ID = '019ac000-0000-7000-8000-000000000000'

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

test('a key whose estimate does not end is refused a second one, and another key is not', async () => {
  const reads: { fail(): void }[] = []
  const past = () =>
    new Promise((_, reject) => reads.push({ fail: () => reject(new Error('the test is over')) }))
  const context = { whatIf: () => ({}), instanceCalls: { past } }
  const query = { route: 'r', direct: 'false', since: 0, until: 1 }
  const ask = (name: string) =>
    whatIf.answer(
      query as never,
      { caller: { name, role: 'client' }, request: {}, requestId: ID } as never,
      context as never,
    )
  const running = [ask('slow')]
  await assert.rejects(ask('slow'), /An estimate of this key is already running/)
  running.push(ask('other'))
  assert.equal(reads.length, 2)
  for (const { fail } of reads) fail()
  await Promise.allSettled(running)
  const next = ask('slow')
  reads.at(-1)!.fail()
  await assert.rejects(next, /the test is over/)
})
