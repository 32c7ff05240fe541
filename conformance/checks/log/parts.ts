// Parts that checks of calls on record share: streams that break off, records with their usage, and Waybill's own interface.

import { isDeepStrictEqual } from 'node:util'
import type { ScriptStep } from '../../../mocks/server/script.ts'
import { delta, END, type Reading } from '../../dialects/dialect.ts'
import {
  listRequest,
  readAnswer,
  readSent,
  recordIn,
  refs,
  requestIdOf,
  servedBy,
} from '../../dialects/lookup.ts'
import {
  type DetailedStep,
  type Evidence,
  type Exchange,
  recordExchange,
  type Step,
  stepText,
} from '../../evidence/evidence.ts'
import { type AnyJson, at, jsonOf } from '../../evidence/reading.ts'
import type { Target } from '../../target/schema.ts'
import { each, finding } from '../check.ts'
import type { ChatOptions, CheckContext } from '../context.ts'

/** Maximum time until a gateway on a busy machine notices that its client has left, ms. */
const NOTICE_TIMEOUT_MS = 2_000

/** Makes a stream that the client leaves after its first event. */
export async function leaveStream(session: CheckContext, step: Step): Promise<Exchange> {
  const gate = session.nonce()
  const script = [{ events: [delta('one'), { gate }, END] }]
  const call = await session.openChat(step, { stream: true, script })
  await call.says('one')
  call.leave()
  const exchange = await call.done
  // A gateway may read the rest of the stream, because it is paid for. The stream must therefore have a rest.
  // The mock holds the rest back until the gateway has noticed the disconnect, or has had plenty of time to
  // notice it.
  const noticed = async () =>
    (await session.soFar()).ledger.some(({ nonce, peer_left_at }) => nonce === call.nonce && peer_left_at)
  for (let waited = 0; waited < NOTICE_TIMEOUT_MS && !(await noticed()); waited += 50) await session.wait(50)
  await session.mock.release(gate)
  return exchange
}

/**
 * Makes a stream that the provider breaks off once the client has its first event: before that, a gateway may
 * close the connection without an answer, and the call then has no id.
 */
export async function breakStream(
  session: CheckContext,
  step: Step,
  { ending, ...options }: ChatOptions & { readonly ending: ScriptStep },
): Promise<{ exchange: Exchange; started: boolean }> {
  const gate = session.nonce()
  const script = [{ events: [delta('one'), { gate }, ending] }]
  const call = await session.openChat(step, { ...options, stream: true, script })
  const started = await call.says('one')
  await session.mock.release(gate)
  return { exchange: await call.done, started }
}

/** Returns true if the record has an error: its call did not complete, even if its state says otherwise. */
export const hasError = ({ observability: { log } }: Target, record: unknown): boolean =>
  log?.fields.error !== undefined && ![undefined, null, ''].includes(at(record, log.fields.error) as string)

/**
 * Makes a call that must be recorded. Repeats the call if the gateway refuses it with 503, as a gateway
 * should while a busy machine prevents recording.
 */
export async function onRecord(session: CheckContext, step: Step, options: ChatOptions): Promise<void> {
  for (let tries = 0; tries < 20; tries++) {
    const { status } = await session.chat(step, options)
    if (status !== 503) return
    await session.wait(250)
  }
}

/** Returns the calls that were not refused. */
export const acceptedCalls = <E extends Exchange>(calls: readonly E[]): E[] =>
  calls.filter(({ status }) => status !== 503)

export function readLog(session: CheckContext, step: Step): Promise<Exchange> {
  const { path, ...request } = listRequest(session.target.observability.log!)
  return session.ask(step, path, { ...request, key: session.running.keys.reader })
}

export const LOG = '/api/usage/request-logs'

/** Reads a path as the operator. */
export const readAll = (session: CheckContext, step: Step, path: string): Promise<Exchange> =>
  session.ask(step, path, { key: session.running.keys.reader })

/** Returns the items of a list; an empty list if the answer has none. */
export const rowsIn = (exchange: Exchange | undefined): AnyJson[] =>
  (at(jsonOf(exchange?.body ?? ''), '/data') ?? []) as AnyJson[]

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
