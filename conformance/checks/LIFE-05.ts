// LIFE-05: A second process on the same data directory is refused with one clear line.

import { refs } from '../dialects/lookup.ts'
import { step } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'

const steps = {
  afterwards: step('afterwards'),
}

export const secondProcess = {
  id: 'LIFE-05',
  needs: ['restart'],
  timeout: 60_000,
  async exercise(session) {
    const running = await session.another(null)
    session.note('said', await running.second({ WAYBILL_PORT: '0' }))
    await session.chat(steps.afterwards)
  },
  judge({ evidence }) {
    const said = evidence.facts.said as string | null
    const lines = (said ?? '')
      .trim()
      .split('\n')
      .filter((line) => !line.startsWith('{') || /in use/.test(line))
    const [after] = steps.afterwards.in(evidence)
    return [
      finding(
        'refused-in-one-line',
        said !== null && /in use/.test(said) && lines.length === 1 && !/\n\s+at /.test(said),
        'what a second process said',
        { expected: 'one line that says what is in use', actual: said?.trim() ?? 'nothing, it came up' },
      ),
      finding(
        'first-goes-on',
        after!.status === 200,
        'a call to the first one',
        { expected: '200', actual: endText(after!) },
        refs(after),
      ),
    ]
  },
} satisfies Check
