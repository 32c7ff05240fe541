// Tests the program's folder in recorded answers: the recording does not contain its name, wherever the
// stream splits it, and replay inserts the current folder.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Recording } from './format.ts'
import { answerFrom, hideFolder, showFolder } from './replay.ts'

const HOME = '/home/ann/project'

const events = (...pieces: string[]): string =>
  pieces
    .map(
      (partial_json) => `data: ${JSON.stringify({ delta: { type: 'input_json_delta', partial_json } })}\n\n`,
    )
    .join('')

/** Returns the answer of a replay in `folder`, from chunks of 40 bytes. */
function replayed(body: Buffer, length: number, folder: string): string {
  const chunks = Array.from({ length: Math.ceil(body.length / 40) }, (_, i) => [
    Math.min(40, body.length - i * 40),
    0,
  ])
  const recording = {
    name: 'x',
    response: { status: 200, headers: {}, chunks },
    bytes: body,
    redaction: { folder: length },
  }
  const { parts } = answerFrom(recording as unknown as Recording, 'none', undefined, folder)
  return Buffer.concat(parts as Uint8Array[]).toString()
}

const joined = (text: string): string =>
  [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data!).delta.partial_json).join('')

test('a recording omits the program’s folder, and replay inserts the new folder, even if a stream splits the path into three pieces', () => {
  const stream = events('{"file_path":"/home/a', 'nn/pro', 'ject/a.ts","cwd":"/home/ann/project","é":1}')
  const { body, found } = hideFolder(Buffer.from(stream), HOME)
  assert.equal(found, 2)
  assert.equal(body.length, Buffer.byteLength(stream))
  assert.doesNotMatch(joined(body.toString()), /ann|project/)
  for (const folder of ['/w', '/a/much/longer/name/of/a/folder/é', HOME]) {
    const back = joined(replayed(body, HOME.length, folder))
    assert.deepEqual(JSON.parse(back), { file_path: `${folder}/a.ts`, cwd: folder, é: 1 })
  }
})

test('replay also replaces the folder in a whole answer, but not in longer names that begin with the same text', () => {
  const whole = JSON.stringify({
    input: { path: HOME, other: `${HOME}-2/x`, deep: JSON.stringify({ at: `${HOME}/y` }) },
  })
  const { body, found } = hideFolder(Buffer.from(whole), HOME)
  assert.equal(found, 2)
  const { input } = JSON.parse(replayed(body, HOME.length, '/srv/job'))
  assert.deepEqual(input, { path: '/srv/job', other: `${HOME}-2/x`, deep: '{"at":"/srv/job/y"}' })
})

test('a folder with a short name, or with characters that JSON escapes, is not replaced', () => {
  for (const folder of ['/app', 'C:\\Users\\ann', '/home/"ann"/x'])
    assert.equal(hideFolder(Buffer.from(JSON.stringify({ folder })), folder).found, 0)
  assert.deepEqual(showFolder(Buffer.from('{"a":"/_folder____"}'), 12, 'C:\\job'), [])
})
