// Steps and comparisons that the checks of model servers and of refused requests share.
import { dialectOf, readAnswer, ref, refs, servedBy } from '../../dialects/lookup.ts'
import { type Evidence, type Exchange, endText, type Step } from '../../evidence/evidence.ts'
import { type AnyJson, jsonOf } from '../../evidence/reading.ts'
import { absent, type Finding, finding } from '../check.ts'
import type { CheckContext } from '../context.ts'

/** Tokens that an ordinary answer may have; OpenAI's responses allow no fewer. */
export const FEW_TOKENS = 16
/** Tokens for an answer of a given form, enough for a small model to complete it. */
export const FORM_TOKENS = 96
/** Maximum time for an answer from a model on a slow machine, ms. */
export const ANSWER_TIMEOUT_MS = 20_000

/**
 * Returns the body's members for a call of `tokens`; requests usage for chat streams, which send it only on
 * request.
 */
export const small = (session: CheckContext, stream: boolean, tokens = FEW_TOKENS): object => ({
  ...session.limit(tokens),
  ...(stream && session.dialect.name === 'chat' && { stream_options: { include_usage: true } }),
})

/**
 * Returns true if an answer says, in the dialect's error format, that the server does not offer a feature.
 */
export const isNotOffered = (exchange: Exchange): boolean =>
  exchange.status !== null &&
  ((exchange.status >= 400 && exchange.status < 500) || exchange.status === 501) &&
  exchange.status !== 401 &&
  exchange.status !== 429

/** Returns an absent finding if the server refused the feature. */
export const notOffered = (exchange: Exchange, what: string): Finding =>
  absent('is-offered', `the server refuses ${what}: ${endText(exchange)} ${exchange.body.slice(0, 200)}`, [
    ref(exchange),
  ])

/** Checks that a call was answered with 200 and ended properly. */
export const answered = (exchange: Exchange, what: string): Finding =>
  finding(
    'is-answered',
    exchange.status === 200 && exchange.end === 'complete',
    what,
    { expected: '200', actual: endText(exchange) },
    [ref(exchange)],
  )

/** Returns an absent finding if the token limit ended an answer of a given form early; otherwise null. */
export const cutByLimit = (exchange: Exchange, name: string, what: string): Finding | null =>
  readAnswer(exchange).finish.at(-1)?.reason === 'length'
    ? absent(name, `the limit of ${FORM_TOKENS} tokens came before the end of ${what}`, [ref(exchange)])
    : null

/** Token counts of an answer, with chat's names. */
interface Counts {
  readonly prompt_tokens?: unknown
  readonly completion_tokens?: unknown
  readonly total_tokens?: unknown
}

/** Returns the last usage of an answer; null if it has none. */
export const usageCounts = (exchange: Exchange): Counts | null =>
  (readAnswer(exchange).usage.at(-1) as Counts | undefined) ?? null

export const isTokenCount = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) >= 0

/** Type of each member that an answer must have, by dialect: JSON pointer -> test. */
export const jsonIn = (exchange: Exchange): AnyJson => {
  const json = jsonOf(exchange.body)
  return typeof json === 'object' && json !== null ? (json as AnyJson) : {}
}

/** Returns the name of a stream's end mark. */
export const endMark = (exchange: Exchange): string => dialectOf(exchange).end

/** Schema with one valid answer of few tokens. */
export const FORM = {
  type: 'object',
  properties: { city: { type: 'string', enum: ['Oslo', 'Lima'] }, days: { type: 'integer', enum: [1, 2] } },
  required: ['city', 'days'],
  additionalProperties: false,
} as const

/** Returns true for a value that the schema allows. */
export function fitsForm(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { city, days, ...more } = value as AnyJson
  const { properties } = FORM
  return (
    properties.city.enum.includes(city) &&
    properties.days.enum.includes(days) &&
    Object.keys(more).length === 0
  )
}

/** Bodies that are not valid requests: in any dialect, and in the dialect under test. */
export const malformed = ({ dialect }: CheckContext): Readonly<Record<string, string>> => ({
  empty: '',
  'no JSON': 'Where do you go?',
  'cut JSON': '{"model":"x","messages":[',
  'an array': '[]',
  'a string': '"auto"',
  ...dialect.malformed,
})

export const post = (session: CheckContext, step: Step, body: string) =>
  session.ask(step, session.dialect.path, {
    method: 'POST',
    headers: session.callHeaders,
    body: body.replace('MODEL', session.model),
  })

/** Checks a proper call after the hostile requests. */
export function isStillThere(evidence: Evidence, exchange: Exchange) {
  const { status, end } = exchange
  const { gone } = evidence.facts
  return finding(
    'works-afterwards',
    status === 200 && end === 'complete' && gone === undefined,
    'a proper call afterwards',
    {
      expected: '200',
      actual: `${endText(exchange)}${gone === undefined ? '' : `; the gateway is gone: ${gone}`}`,
    },
    refs(exchange, servedBy(evidence, exchange)),
  )
}
