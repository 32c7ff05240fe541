// The rows of requirements.yaml against the contract that they are taken from, and against the checks.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { packageFile } from '../../src/shared/package-root.ts'
import { checks } from '../checks/registry.ts'
import type { Check } from '../runner/check.ts'
import type { Capability } from '../target/schema.ts'
import { ON, ONLY_THERE, withoutDialect } from './applicability.ts'
import { readRequirements } from './requirements.ts'

const read = (path: string): string => readFileSync(packageFile(path), 'utf8')
const { requirements, sets, specification } = readRequirements()
const ids = requirements.map(({ id }) => id)

/** The rows of part 2 of the contract. */
function contractRows() {
  const part = read('docs/contract.md').split(/^# Part /m)[2]!
  const rows = [...part.matchAll(/^\| ([A-Z]+-\d\d) \|(.*)\|$/gm)]
  return rows.map(([, id, rest]) => {
    const cells = rest!.split('|').map((cell) => cell.trim())
    const [level, scope, needs, text] =
      cells.length === 2 ? [cells[0]!, 'Waybill', '', cells[1]!] : (cells as [string, string, string, string])
    return { id: id!, level, scope, needs, text }
  })
}

test('requirements.yaml holds every requirement of the contract, word for word, and no other', () => {
  const rows = contractRows()
  assert.ok(rows.length > 70, `${rows.length} rows`)
  assert.deepEqual(
    requirements.map(({ id, scope, needs = '', text }) => ({ id, scope, needs, text })),
    rows.map(({ id, scope, needs, text }) => ({ id, scope, needs, text })),
  )
  for (const [index, { id, level, level_waybill }] of requirements.entries()) {
    const said = rows[index]!.level
    assert.equal(level, /^(MUST|SHOULD)/.exec(said)![0], id)
    assert.equal(level_waybill, /, (MUST|SHOULD)(?: within 1 s)? for Waybill/.exec(said)?.[1], id)
  }
})

test('an id keeps its slug and its set for ever', () => {
  const frozen = read('conformance/requirements/frozen-ids.txt')
    .split('\n')
    .filter((line) => /^[\d-]/.test(line))
    .map((line) => line.split(' ') as [set: string, id: string, slug: string])
  const slugs = new Map(requirements.map(({ id, slug }) => [id, slug]))
  for (const [, id, slug] of frozen)
    assert.equal(slugs.get(id), slug, `${id} was given to "${slug}" and cannot be taken back`)
  for (const id of ids)
    assert.ok(
      frozen.some(([, known]) => known === id),
      `add ${id} to conformance/requirements/frozen-ids.txt`,
    )
  assert.equal(new Set(slugs.values()).size, slugs.size, 'a slug stands for one requirement')
  for (const [set, members] of Object.entries(sets))
    assert.deepEqual(
      [...members].sort(),
      frozen
        .filter(([version]) => version === set)
        .map(([, id]) => id)
        .sort(),
      `set ${set} is frozen`,
    )
})

test('every sentence of the specification leads to requirements that exist, or says why not', () => {
  assert.ok(specification.length > 0)
  assert.equal(new Set(specification.map(({ id }) => id)).size, specification.length)
  for (const { id, requirements: named = [] } of specification)
    for (const each of named) assert.ok(ids.includes(each), `${id} names ${each}`)
})

test('every check that a row names exists, and every check has its row', () => {
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

test('an id leads to a file or to a case, which opens with the sentence', () => {
  const cases = read('conformance/checks/cases.yaml')
  for (const { id, text, check } of requirements.filter((each) => each.check)) {
    const [above] = new RegExp(`^(# .*\\n)+(?=${check}:$)`, 'm').exec(cases) ?? []
    const [opening] = above ? [above] : (/^(\/\/ .*\n)+/.exec(read(`conformance/checks/${check}.ts`)) ?? [''])
    assert.equal(opening.replace(/\n?(?:\/\/|#) /g, ' ').trim(), `${id}: ${text}`)
  }
})

/** The words of the contract, and what a target file declares by them. */
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
  embeddings: 'embeddings',
}

test('what a requirement needs by the contract, its check needs from the target file', () => {
  for (const { id, needs, check } of requirements.filter((each) => each.needs && each.check))
    for (const need of needs!.split(', ')) {
      const capability = CAPABILITIES[need]
      assert.ok(capability, `${id} needs "${need}", which no capability stands for`)
      assert.ok(checks.get(check!)!.needs?.includes(capability), `${id} needs ${capability}`)
    }
})

test('every check runs on further dialects, or a table says why it does not', () => {
  const isOwn = (id: string) => (checks.get(id) as Check).dialect === undefined
  const own = [...checks.keys()].filter(isOwn)
  const excused = ONLY_THERE.flatMap(({ ids }) => ids)
  assert.deepEqual([...new Set([...Object.values(ON).flat(), ...excused])].filter(isOwn).sort(), own.sort())
  assert.equal(new Set(excused).size, excused.length)
  for (const id of excused) assert.ok(!Object.values(ON).flat().includes(id), `${id} is in both tables`)
})
