// LIFE-05: A second process on the same data directory is refused in one clear line.
import { type Check, finding } from '../check.ts'
import { labelled, refs } from '../lookup.ts'

export const secondProcess = {
  id: 'LIFE-05',
  needs: ['restart'],
  timeout: 60_000,
  async exercise(session) {
    const running = await session.another(null)
    session.note('said', await running.second({ WAYBILL_PORT: '0' }))
    await session.chat('afterwards')
  },
  judge({ evidence }) {
    const said = evidence.facts.said as string | null
    const lines = (said ?? '')
      .trim()
      .split('\n')
      .filter((line) => !line.startsWith('{') || /in use/.test(line))
    const [after] = labelled(evidence, 'afterwards')
    return [
      finding(
        'refused-in-one-line',
        said !== null && /in use/.test(said) && lines.length === 1 && !/\n\s+at /.test(said),
        `a second process said: ${said?.trim() ?? 'nothing, it came up'}`,
      ),
      finding('first-goes-on', after!.status === 200, `the first one goes on: ${after!.status}`, refs(after)),
    ]
  },
} satisfies Check
