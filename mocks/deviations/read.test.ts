import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answerText, type Deviation, readDeviations, streamBytes } from './read.ts'

const all = readDeviations()
const nameOf = ({ dialect, class: file, id }: Deviation) => `${dialect}/${file} ${id}`

test('the deviations cover all dialects, with at least 150 entries and 80 causes', () => {
  assert.ok(all.length >= 150, `${all.length} entries`)
  assert.ok(new Set(all.map(({ cause }) => cause)).size >= 80)
  assert.deepEqual(
    [...new Set(all.map(({ dialect }) => dialect))],
    ['chat', 'messages', 'responses', 'gemini', 'interactions'],
  )
})

test('an id is unique within its dialect', () => {
  const ids = all.map(({ dialect, id }) => `${dialect} ${id}`)
  assert.equal(new Set(ids).size, ids.length)
})

test('the content of events and answers is JSON, except where the deviation says so', () => {
  const unlike = [
    'error-not-json',
    'answer-empty-body',
    'form-mixed',
    'error-status-in-text',
    'sse-comment-as-data',
  ]
  for (const each of all) {
    if (unlike.includes(each.cause)) continue
    const text = answerText(each)
    if (text !== null) assert.doesNotThrow(() => JSON.parse(text), nameOf(each))
    for (const data of dataOf(each))
      if (!/^\[?DONE\]?$/.test(data)) assert.doesNotThrow(() => JSON.parse(data), `${nameOf(each)}: ${data}`)
  }
})

test('events of messages and responses have their names, unless the bytes are written out', () => {
  for (const each of all)
    if (each.stream && ['messages', 'responses', 'interactions'].includes(each.dialect))
      assert.match(streamBytes(each)!.toString(), /^(:[^\n]*\n\n)?event: \S+\ndata: \{/, nameOf(each))
})

test('what an entry concludes does not contradict itself', () => {
  for (const each of all) {
    const { end, calls, stop_sequence, usage, error } = each.concludes
    const name = nameOf(each)
    assert.equal(end === 'calls', calls.length > 0, name)
    assert.equal(end === 'stop_sequence', stop_sequence !== undefined, name)
    if (error || each.status >= 400) assert.equal(end, 'failed', name)
    if (error?.not_repeated) assert.equal(error.whose, 'client', name)
    if (usage === undefined || usage === 'none') continue
    const { input, output, cached = 0, cache_write = 0, reasoning = 0 } = usage
    if (input !== undefined) assert.ok(cached + cache_write <= input, name)
    if (output !== undefined) assert.ok(reasoning <= output, name)
  }
})

/** Returns the values of the data lines that are not empty. */
const dataOf = (each: Deviation): string[] =>
  (streamBytes(each)?.toString() ?? '')
    .split(/\r\n|\r|\n/)
    .flatMap((line) => /^\ufeff?data: ?(.+)$/.exec(line.trimEnd())?.[1] ?? [])
