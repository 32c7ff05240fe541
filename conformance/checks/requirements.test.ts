// Tests that the rows of requirements.yaml match the checks.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Capability } from '../target/schema.ts'
import type { Check } from './check.ts'
import { checks } from './registry.ts'
import { readRequirements, withoutDialect } from './requirements.ts'

const { requirements, specification } = readRequirements()
const ids = requirements.map(({ id }) => id)

test('each current or earlier slug belongs to one requirement', () => {
  const slugs = requirements.flatMap(({ slug, was = [] }) => [slug, ...[was].flat()])
  assert.equal(new Set(slugs).size, slugs.length)
})

test('every sentence in the specification names existing requirements or the reason why it has none', () => {
  assert.ok(specification.length > 0)
  assert.equal(new Set(specification.map(({ id }) => id)).size, specification.length)
  for (const { id, requirements: named = [] } of specification)
    for (const each of named) assert.ok(ids.includes(each), `${id} names ${each}`)
})

test('every check that a row names exists, and every check has a row', () => {
  const named = requirements.flatMap(({ check }) => check ?? [])
  const own = [...checks.keys()].filter((id) => withoutDialect(id) === id)
  assert.deepEqual([...named].sort(), own.sort())
  for (const { id, check } of requirements) if (check) assert.equal(check, id)
  for (const [id, check] of checks as ReadonlyMap<string, Check>) {
    const sources = [check.exercise, check.shares, check.overRun].filter((each) => each !== undefined)
    assert.equal(sources.length, 1, `${id}: an exercise, or shares, or overRun`)
    if (check.shares) assert.ok(checks.get(check.shares)?.exercise, `${id} shares ${check.shares}`)
  }
})

/** Terms of the contract, and the declarations in a target file to which they refer. */
const CAPABILITIES: Readonly<Record<string, Capability>> = {
  'read paths': 'read_paths',
  'logical ids': 'logical',
  'direct ids': 'direct',
  'fallback statuses': 'fallback',
  fallback: 'fallback',
  resolve: 'resolve',
  headers: 'headers',
  'request id': 'request_id',
  log: 'log',
  'log lag': 'log',
  list: 'list',
  state: 'state',
  attempts: 'attempts',
  tokens: 'tokens',
  cache: 'cache',
  'gateway keys': 'gateway_keys',
  'time-outs': 'time_outs',
  catalog: 'catalog',
  messages: 'messages',
  counts: 'counts',
  responses: 'responses',
  gemini: 'gemini',
  websocket: 'websocket',
  continuation: 'continuation',
  'kept responses': 'kept_responses',
  interactions: 'interactions',
  'continued interactions': 'continued_interactions',
  'kept interactions': 'kept_interactions',
  'background interactions': 'background_interactions',
  restart: 'restart',
  embeddings: 'embeddings',
  images: 'images',
  window: 'window',
  cost: 'cost',
  budget: 'budget',
  learning: 'learns_refusals',
  'credentials of callers': 'caller_credentials',
  'several keys': 'key_pool',
  'relayed endpoints': 'passthrough',
  sessions: 'session',
}

test('a check and its row in the contract need the same parts of the target file', () => {
  for (const { id, needs, check } of requirements.filter((each) => each.needs && each.check))
    for (const need of needs!.split(', ')) {
      const capability = CAPABILITIES[need]
      assert.ok(capability, `${id} needs "${need}", which no capability stands for`)
      assert.ok(checks.get(check!)!.needs?.includes(capability), `${id} needs ${capability}`)
    }
})

test('a check written for chat also runs in other dialects, unless its row gives a reason', () => {
  for (const { id, check, dialects, only } of requirements.filter((each) => each.check)) {
    const isForChat = (checks.get(check!) as Check).dialect === undefined
    assert.equal(isForChat && dialects.length === 0, only !== undefined, id)
  }
})
