// Parts that the USE checks and the checks of usage in other dialects share.
import { isDeepStrictEqual } from 'node:util'
import type { Reading } from '../../dialects/dialect.ts'
import { recordIn, refs, requestIdOf, servedBy } from '../../dialects/lookup.ts'
import { readAnswer, readSent } from '../../dialects/registry.ts'
import type { Evidence, Exchange } from '../../evidence/evidence.ts'
import { at, jsonOf } from '../../evidence/reading.ts'
import { type DetailedStep, recordExchange, type Step, stepText } from '../../evidence/step.ts'
import { finding } from '../check.ts'
import type { ChatOptions, CheckContext } from '../context.ts'
import { each } from '../family.ts'

export const recordAfter = async (
  session: CheckContext,
  step: Step,
  options: ChatOptions,
): Promise<Exchange> => {
  const exchange = await session.chat(step, options)
  await session.record(exchange)
  return exchange
}

/** Pairs calls with their records. */
export const pairs = <E extends Exchange>(evidence: Evidence, calls: readonly E[]) =>
  calls.map((exchange) => {
    const reading = recordExchange(evidence, exchange)
    return { exchange, reading, record: jsonOf(reading?.body ?? '') }
  })

export const CACHED = '/prompt_tokens_details/cached_tokens'
/** Kinds of tokens that are priced separately. */
const KINDS = [CACHED, '/completion_tokens_details/reasoning_tokens'] as const

const COUNTS = ['prompt_tokens', 'completion_tokens', 'total_tokens'] as const

/** Returns the final usage of an answer, or null. */
export const usageIn = ({ usage }: Pick<Reading, 'usage'>): unknown => usage.at(-1) ?? null

/**
 * Returns the three counts, and the counts by kind that are above 0, because 0 means the same as unreported
 * here.
 */
export const countsIn = (usage: unknown) => [
  ...COUNTS.map((name) => at(usage, `/${name}`)),
  ...KINDS.map((pointer) => at(usage, pointer) || 0),
]

const COUNT_NAMES = ['input', 'output', 'total', 'cached', 'reasoning']

/** Writes counts with their names: `input 14, output 22, total 36, cached 0, reasoning 0`. */
export const countsText = (counts: readonly unknown[]): string =>
  counts.map((count, at) => `${COUNT_NAMES[at]} ${count ?? 'none'}`).join(', ')

/** Checks that the record has these tokens in Waybill's own fields. */
export function tokensOnRecord(
  id: string,
  evidence: Evidence,
  exchange: Exchange,
  expected: Readonly<Record<string, number | null>>,
) {
  const reading = recordExchange(evidence, exchange)
  const tokens = at(jsonOf(reading?.body ?? ''), '/tokens')
  const got = Object.fromEntries(Object.keys(expected).map((name) => [name, at(tokens, `/${name}`)]))
  return finding(
    id,
    isDeepStrictEqual(got, expected),
    `the tokens on record of "${stepText(exchange)}"`,
    { expected: JSON.stringify(expected), actual: JSON.stringify(got) },
    refs(exchange, reading, servedBy(evidence, exchange)),
  )
}

export const INCLUDE = { stream_options: { include_usage: true } }

/** Returns the usage in an exchange and in the provider's answer. */
export function sides(evidence: Evidence, exchange: Exchange) {
  const entry = servedBy(evidence, exchange)
  return { entry, got: usageIn(readAnswer(exchange)), sent: usageIn(readSent(entry)) }
}

/** Requires these tokens, by kind, on record after each of the calls. */
export const judgeKinds = (
  calls: DetailedStep<{ stream: boolean }>,
  expected: Readonly<Record<string, number>>,
) =>
  each(calls, ({ exchange, entry, quoted, evidence, target }) => {
    const reading = recordExchange(evidence, exchange)
    const record = recordIn(target, reading, requestIdOf(target, exchange) ?? '')
    const kept = Object.keys(expected).map((kind) => [kind, at(record, `/tokens/${kind}`)] as const)
    return {
      'kinds-are-kept-apart': [
        kept.every(([kind, tokens]) => tokens === expected[kind]),
        `tokens on record after ${quoted}`,
        JSON.stringify(expected),
        JSON.stringify(Object.fromEntries(kept)),
        refs(exchange, reading, entry),
      ],
    }
  })
