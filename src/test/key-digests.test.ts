// A digest copied under a second name would give one key two owners.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseConfig } from '../config/load.ts'
import { ConfigError } from '../core/errors.ts'

const A = `sha256:${'a'.repeat(64)}`
const B = `sha256:${'b'.repeat(64)}`

const problems = (text: string, env = {}): readonly string[] => {
  try {
    parseConfig(text, 'waybill.yaml', { env })
    return []
  } catch (error) {
    assert.ok(error instanceof ConfigError)
    return error.problems
  }
}

test('one digest under two names is refused, and the error contains both names', () => {
  const [problem, ...more] = problems(
    `keys:\n  - { name: guest, digest: "${A}" }\n  - { name: other, digest: "${B}" }\n  - { name: boss, role: admin, digest: "${A}" }`,
  )
  assert.deepEqual(more, [])
  assert.match(problem!, /^waybill\.yaml:4:\d+ keys\.2\.digest: /)
  assert.match(problem!, /"guest"/)
  assert.match(problem!, /"boss"/)
})

test('one digest under two names is refused even if it comes from the environment', () => {
  const found = problems('{}', { WAYBILL_KEY_DIGESTS: `guest=${A},boss:admin=${A}` })
  assert.equal(found.length, 1)
  assert.match(found[0]!, /"guest".*"boss"|"boss".*"guest"/)
})

test('two digests under two names are accepted', () => {
  assert.deepEqual(problems(`keys: [ { name: a, digest: "${A}" }, { name: b, digest: "${B}" } ]`), [])
})
