// The scoreboard accuses nobody of what nobody has looked at, and its evidence is there and small.
import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { readNotes, readOutcomes, scoreboardPage } from './scoreboard.ts'

const docs = fileURLToPath(new URL('../docs/', import.meta.url))
const bad = ['fail', 'warn', 'untestable', 'harness-error']
const outcomes = readOutcomes()
const notes = readNotes()

test('every published failure has been looked at, and every note is about one', () => {
  assert.ok(outcomes.length >= 5)
  for (const { name, verdicts } of outcomes) {
    const ids = verdicts.filter(({ outcome }) => bad.includes(outcome)).map(({ id }) => id)
    assert.deepEqual(Object.keys(notes[name]?.looked_at ?? {}).sort(), ids.sort(), name)
  }
  assert.doesNotMatch(scoreboardPage(outcomes, notes), /not looked at yet/)
})

test('every published failure has its evidence, without a path of the machine that ran it', () => {
  for (const { name, verdicts } of outcomes)
    for (const { id } of verdicts.filter(({ outcome }) => bad.includes(outcome))) {
      const file = `${docs}scoreboard/evidence/${name}/${id}.json`
      assert.ok(existsSync(file), file)
      assert.ok(statSync(file).size < 30 * 1024, `${file} is small enough to be read`)
      assert.doesNotMatch(readFileSync(file, 'utf8'), /\/(tmp|home|root|work)\/\w/, file)
    }
})

test('a failure without a note says that it is not to be quoted', () => {
  const [first] = outcomes.filter(({ verdicts }) => verdicts.some(({ outcome }) => bad.includes(outcome)))
  assert.match(scoreboardPage([first!], {}), /not looked at yet, not to be quoted/)
})
