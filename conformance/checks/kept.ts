// Parts of the checks of stored answers, for every dialect that stores them.
import { refs } from '../dialects/lookup.ts'
import {
  type DetailedStep,
  difference,
  type Evidence,
  type Exchange,
  endText,
  step,
} from '../evidence/evidence.ts'
import { at } from '../evidence/reading.ts'
import { each } from './check.ts'
import type { CheckContext } from './context.ts'

/** The call that makes an answer. */
interface Made extends Readonly<Record<string, string | boolean>> {
  readonly model: string
  readonly stream: boolean
}

/** Steps of reading, deleting and continuing an answer. `made`: the first of them. */
export const keptSteps = (made: string) => ({
  made: step<Made>(made),
  read: step<Made>('it is read'),
  foreignRead: step<Made>('another key reads it'),
  foreignDelete: step<Made>('another key deletes it'),
  readAgain: step<Made>('it is read again'),
  deleted: step<Made>('it is deleted'),
  gone: step<Made>('it is read after that'),
  continued: step<Made>('it is continued after that'),
})

/** Lets another key read and delete an answer, if there is one, then deletes it with its own key and reads it again. */
export async function deleteKept(
  session: CheckContext,
  steps: ReturnType<typeof keptSteps>,
  made: Made,
  path: string,
): Promise<void> {
  const { other } = session.running.keys
  if (other !== null) {
    await session.ask(steps.foreignRead.with(made), path, { key: other })
    await session.ask(steps.foreignDelete.with(made), path, { key: other, method: 'DELETE' })
    await session.ask(steps.readAgain.with(made), path)
  }
  await session.ask(steps.deleted.with(made), path, { method: 'DELETE' })
  await session.ask(steps.gone.with(made), path)
}

/** Says how a stored answer that is read differs from the one that was given, by its id or its words. */
export function unlikeGiven(read: Exchange, [id, content]: Given, [givenId, given]: Given): string {
  if (read.status !== 200) return `${endText(read)}: ${read.body.slice(0, 100)}`
  if (id !== givenId) return `200, with the id ${id ?? 'none'} instead of ${givenId}`
  return `200, ${content === given ? 'the same words' : difference(content, given)}`
}
type Given = readonly [id: string | null, content: string]

/** Judges the option `store` in the provider's requests of native calls. */
export const judgeStore = (calls: DetailedStep<{ store: boolean; stream: boolean }>) =>
  each(calls, ({ details, entry, crossed, quoted }) => {
    if (crossed) return []
    const got = at(entry?.body, '/store')
    return {
      'store-is-passed-on': [
        got === details.store,
        `/store of the provider's request in ${quoted}`,
        String(details.store),
        JSON.stringify(got) ?? 'nothing',
      ],
    }
  })

/** Returns the inferences that belong to no call. */
export const anonymousIn = ({ ledger }: Evidence) =>
  ledger.filter(({ kind, nonce }) => kind === 'inference' && nonce === null)

/** Requires that there is no inference that belongs to no call. */
export function nothingSpent(evidence: Evidence) {
  const anonymous = anonymousIn(evidence)
  return {
    'reads-cost-nothing': [
      anonymous.length === 0,
      'inferences that belong to no call',
      'none',
      String(anonymous.length),
      refs(...anonymous),
    ] as const,
  }
}
