// The vectors of conformance/vectors/: the code of this project meets each of them, and each expectation can fail.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { createAdapter } from './adapter.ts'
import { vectorFiles } from './make.ts'
import { judgeResult, type Vector, type VectorCheck } from './vector.ts'

const FILES = vectorFiles()
const ALL = Object.values(FILES).flatMap(({ kind, vectors, answers }) =>
  vectors.map((vector) => ({
    kind,
    vector,
    given: answers ? { ...vector.given, answer: answers[vector.given.answer as string] } : vector.given,
  })),
)

/** Returns a check that no result of the other one meets. */
const opposite = ([kind, path, value]: VectorCheck): VectorCheck =>
  kind === 'absent'
    ? ['is', path, { never: true }]
    : kind === 'has'
      ? ['has', path, `${value}, never`]
      : ['is', path, { never: value }]

suite('vectors', () => {
  const adapter = createAdapter()
  after(() => adapter.close())

  test('there are at least 1,500 vectors with 300 rules, and each has an id of its own', () => {
    const rules = new Set(ALL.map(({ kind, vector }) => `${kind} ${vector.rule}`))
    assert.ok(ALL.length >= 1_500, `${ALL.length} vectors`)
    assert.ok(rules.size >= 300, `${rules.size} rules`)
    assert.equal(new Set(ALL.map(({ kind, vector }) => `${kind} ${vector.id}`)).size, ALL.length)
    const named = Object.values(FILES).reduce((sum, file) => sum + Object.keys(file.rules).length, 0)
    assert.equal(rules.size, named, 'each rule has a vector')
  })

  test('this project meets each vector, and no vector holds after one of its checks is reversed', async () => {
    const failed: string[] = []
    const blunt: string[] = []
    for (const { kind, vector, given } of ALL) {
      const result = await adapter.answer(kind, given)
      const outcome = judgeResult(result, vector)
      if (outcome.verdict !== 'pass')
        failed.push(`${kind} ${vector.id}: ${outcome.verdict === 'fail' ? outcome.why : 'untold'}`)
      const places = Math.max(...vector.expect.map((all) => all.length))
      for (let n = 0; n < places; n++) {
        const expect = vector.expect.map((all) =>
          all.map((each, at) => (at === Math.min(n, all.length - 1) ? opposite(each) : each)),
        )
        if (judgeResult(result, { expect } as Vector).verdict === 'pass')
          blunt.push(`${kind} ${vector.id}, check ${n + 1}`)
      }
    }
    assert.deepEqual(failed, [])
    assert.deepEqual(blunt, [])
  })
})
