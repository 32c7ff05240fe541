// Every answer can be judged: no change of one member makes a reader fail.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { dialects } from '../dialects/lookup.ts'
import { contradictions } from './agreement.ts'

const FOLDER = join(import.meta.dirname, '../../recordings')
const ANSWERS = [
  ['chat', 'openai/chat-'],
  ['messages', 'anthropic/messages-'],
  ['responses', 'openai/responses-'],
  ['gemini', 'gemini/generate-'],
  ['interactions', 'gemini/interactions-'],
] as const

/** Returns variants of a value in which one member, at any depth, is missing or another value. */
function* variants(value: unknown): Generator<unknown> {
  if (typeof value !== 'object' || value === null) return
  const set = (key: string, to: unknown) =>
    Object.assign(Array.isArray(value) ? [...value] : { ...value }, { [key]: to })
  for (const [key, inner] of Object.entries(value)) {
    for (const other of [undefined, null, 7, 'text', [], [null], {}]) yield set(key, other)
    for (const changed of variants(inner)) yield set(key, changed)
  }
}

/** Returns the variants of an answer, whole or a stream. */
function* answersLike(body: string): Generator<string> {
  if (body.startsWith('{')) {
    for (const changed of variants(JSON.parse(body))) yield JSON.stringify(changed)
    return
  }
  const events = body.split('\n\n')
  for (const [at, event] of events.entries()) {
    const [head = '', data] = event.split('data: ')
    if (!data?.startsWith('{')) continue
    for (const changed of variants(JSON.parse(data)))
      yield events.with(at, `${head}data: ${JSON.stringify(changed)}`).join('\n\n')
  }
}

for (const [dialect, prefix] of ANSWERS)
  test(`an answer of ${dialect} can be read and judged with any member missing or changed`, () => {
    const files = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter(
      (file) => file.startsWith(prefix) && /tools(-stream\.sse|\.body\.json)$/.test(file),
    )
    const failed = new Map<string, string>()
    let judged = 0
    for (const file of files)
      for (const body of answersLike(readFileSync(join(FOLDER, file), 'utf8'))) {
        judged++
        try {
          dialects[dialect].read(body)
          dialects[dialect].isError(body)
          contradictions(dialect, body)
        } catch (error) {
          const [, at = ''] = (error as Error).stack!.split('\n')
          failed.set(at, `${file}: ${(error as Error).message}`)
        }
      }
    assert.deepEqual(Object.fromEntries(failed), {})
    assert.ok(judged > 200, `only ${judged} were judged`)
  })

test('an item that ends without itself is a contradiction (DIAL-12)', () => {
  const added = { type: 'response.output_item.added', output_index: 0, item: { id: 'm1', type: 'message' } }
  const done = { type: 'response.output_item.done', output_index: 0 }
  const body = [added, done].map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
  assert.deepEqual(contradictions('responses', body).ids, ['response.output_item.done of item 0 has no item'])
})
