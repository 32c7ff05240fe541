import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import test from 'node:test'
import { type Recording, readRecordings } from '../mocks/recording.ts'
import { capturesDir, compareAll, hasDrifted, readCaptures } from './shape-drift.ts'

const skip = existsSync(capturesDir) ? false : `no optional captures in ${capturesDir}; see WAYBILL_CASSETTES`

test('no recording has drifted from real answers, and a changed one would be found', { skip }, (t) => {
  const captures = readCaptures(capturesDir)
  const recordings = readRecordings()
  const rows = compareAll(recordings, captures)
  const compared = rows.filter(({ drift }) => drift !== null)
  t.diagnostic(`${rows.length} recordings, ${compared.length} compared with captures of their kind`)
  assert.ok(compared.length >= 90)
  assert.deepEqual(
    rows.filter(hasDrifted).map(({ name, drift }) => ({ name, ...drift })),
    [],
  )

  const changed = recordings.filter(({ name }) => ALTERED.test(name)).map(renameField)
  assert.equal(changed.length, 12)
  for (const row of compareAll(changed, captures)) {
    assert.ok(
      row.drift?.unknown.some((fact) => fact.includes('tokenz')),
      row.name,
    )
    assert.ok(row.drift.missing.length > 0 || row.name === 'openai/chat-stream', row.name)
  }
})

/** Two of each dialect, and of several providers. */
const ALTERED =
  /^((openai|groq|deepseek)\/chat|openai\/responses|anthropic\/messages|gemini\/generate)-(plain|stream)$/

function renameField(recording: Recording): Recording {
  const text = Buffer.from(recording.bytes)
    .toString()
    .replaceAll(/"(prompt_tokens|output_tokens|promptTokenCount)"/g, '"tokenz"')
  return { ...recording, bytes: Buffer.from(text) }
}
