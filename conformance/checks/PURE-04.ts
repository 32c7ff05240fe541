// PURE-04: Resolving or explaining a route causes no inference and does not change the router's state.

import { ref } from '../dialects/lookup.ts'
import { at, jsonOf } from '../evidence/reading.ts'
import { step } from '../evidence/step.ts'
import { type Check, finding } from '../runner/check.ts'
import { readStep, readsSpentNothing } from './pure.ts'
import { measuredWindow } from './window.ts'

const resolved = step<{ id: string }>('resolve')

/** Number of times a route is resolved in a row, without a call in between. */
const RESOLVES_IN_A_ROW = 54

/** Longest cycle that is detected: weights 7 and 3 give ten steps. Longer cycles are missed. */
const MAX_CYCLE = 10

/**
 * Returns true if the answers are consecutive steps of a cycle. Random answers look like a cycle in fewer
 * than one of two million rows of this length, whatever their weights (the worst are about 9 to 1). A
 * constant answer is not a cycle.
 */
function areTurns(answers: readonly string[]): boolean {
  if (answers.length < RESOLVES_IN_A_ROW || new Set(answers).size === 1) return false
  const lengths = Array.from({ length: MAX_CYCLE - 1 }, (_, index) => index + 2)
  return lengths.some((length) =>
    answers.every((answer, index) => index < length || answer === answers[index - length]),
  )
}

export const resolvingMovesNothing = {
  id: 'PURE-04',
  needs: ['resolve', 'logical'],
  timeout: 180_000,
  async exercise(session) {
    const { resolve } = session.target.capabilities
    const pathOf = (id: string) => resolve!.path.replace('{model}', encodeURIComponent(id))
    await measuredWindow(session, async () => {
      for (const { id } of session.target.models.logical)
        for (let times = 0; times < 3; times++)
          await session.ask(readStep, pathOf(id), { key: session.running.keys.reader })
    })
    for (const { id } of session.target.models.logical)
      for (let times = 0; times < RESOLVES_IN_A_ROW; times++)
        await session.ask(resolved.with({ id }), pathOf(id), { key: session.running.keys.reader })
  },
  judge({ evidence, target }) {
    const findings = readsSpentNothing(evidence, 'resolving')
    const ofId = resolved.in(evidence)
    for (const { id } of target.models.logical) {
      const answers = ofId.filter(({ details }) => details.id === id)
      const { provider, model } = target.capabilities.resolve!
      const told = answers.map(({ body }) => {
        const json = jsonOf(body)
        return JSON.stringify([at(json, provider), at(json, model)])
      })
      const named = answers.every(({ body }) => typeof at(jsonOf(body), model) === 'string')
      const ok = named && told.length === RESOLVES_IN_A_ROW && !areTurns(told)
      const kinds = [...new Set(told)].join(' and ')
      findings.push(
        finding(
          'resolve-does-not-move-on',
          ok,
          `"${id}", resolved ${answers.length} times in a row`,
          {
            expected: 'a provider and model each time, and not in turns',
            actual: `${kinds}${areTurns(told) ? ', in turns: asking moves it on' : ''}`,
          },
          answers.slice(0, MAX_CYCLE + 1).map(ref),
        ),
      )
    }
    return findings
  },
} satisfies Check
