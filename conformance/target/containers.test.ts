// Tests the messages of a run that needs a container engine and finds none. Tests on a real engine are in
// image.docker-test.ts.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openContainers } from './containers.ts'
import { StartError } from './instance.ts'

const CASES: readonly [what: string, code: string | undefined, says: RegExp][] = [
  ['no engine', undefined, /^the target is an image, but no container engine answers; start one [^\n]+$/],
  [
    'no testcontainers',
    'ERR_MODULE_NOT_FOUND',
    /^a target that is an image needs [^\n]+: npm install [^\n]+$/,
  ],
]
for (const [what, code, says] of CASES)
  test(`a failed start (${what}) is reported in one sentence with a remedy`, async () => {
    const missing = Object.assign(new Error('from below'), { code })
    await assert.rejects(
      openContainers(true, () => Promise.reject(missing)),
      (thrown: Error) => {
        assert.ok(thrown instanceof StartError)
        assert.match(thrown.message, says)
        assert.equal(thrown.cause, missing)
        return true
      },
    )
  })
