// What the checks of USE share.
import type { Evidence, Exchange } from '../evidence.ts'
import { servedBy } from '../lookup.ts'
import { at, jsonOf } from '../reading.ts'
import type { ChatOptions, Session } from '../session.ts'
import { recordOf, type Step } from '../step.ts'
import type { Reading } from '../surface.ts'
import { readAnswer, readSent } from '../surfaces.ts'

export const recordAfter = async (session: Session, step: Step, options: ChatOptions): Promise<Exchange> => {
  const exchange = await session.chat(step, options)
  await session.record(exchange)
  return exchange
}

/** Calls, each with its record. */
export const pairs = <E extends Exchange>(evidence: Evidence, calls: readonly E[]) =>
  calls.map((exchange) => {
    const reading = recordOf(evidence, exchange)
    return { exchange, reading, record: jsonOf(reading?.body ?? '') }
  })

/** Kinds of tokens that are priced apart. */
const KINDS = ['/prompt_tokens_details/cached_tokens', '/completion_tokens_details/reasoning_tokens'] as const

export const COUNTS = ['prompt_tokens', 'completion_tokens', 'total_tokens'] as const

/** The usage that an answer ends with; null where it has none. */
export const usageIn = ({ usage }: Reading): unknown => usage.at(-1) ?? null

/** The three counts, and of their kinds those that were reported above 0: not reported and 0 are the same here. */
export const countsIn = (usage: unknown) => [
  ...COUNTS.map((name) => at(usage, `/${name}`)),
  ...KINDS.map((pointer) => at(usage, pointer) || 0),
]

export const INCLUDE = { stream_options: { include_usage: true } }

/** The usage of an exchange beside that of the provider's answer. */
export function sides(evidence: Evidence, exchange: Exchange) {
  const entry = servedBy(evidence, exchange)
  return { entry, got: usageIn(readAnswer(exchange)), sent: usageIn(readSent(entry)) }
}
