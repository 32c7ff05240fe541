import assert from 'node:assert/strict'
import test from 'node:test'
import { withoutCaptures } from '../../mocks/import/test-captures.ts'
import { type Recording, readRecordings } from '../../mocks/recording/format.ts'
import { capturesDir, compareAll, hasDrifted, readCaptures } from './drift.ts'

test('no recording has drifted from real answers, and a changed recording would be detected', {
  skip: withoutCaptures,
}, (t) => {
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
  const found = compareAll(changed, captures)
  for (const { name, drift } of found)
    assert.ok(
      drift?.unknown.some((fact) => fact.includes('tokenz')),
      name,
    )
  // The old name is reported as missing if all captures have it. Some captures have no usage at all.
  assert.ok(found.filter(({ drift }) => drift!.missing.length > 0).length >= 10)
})

/** Pattern of the altered recordings: two of each dialect, from several providers. */
const ALTERED =
  /^((openai|groq|deepseek)\/chat|openai\/responses|anthropic\/messages|gemini\/generate)-(plain|stream)$/

function renameField(recording: Recording): Recording {
  const text = Buffer.from(recording.bytes)
    .toString()
    .replaceAll(/"(prompt_tokens|output_tokens|promptTokenCount)"/g, '"tokenz"')
  return { ...recording, bytes: Buffer.from(text) }
}
