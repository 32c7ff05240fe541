// Expectations of a case: each kind is a field, and a function that returns the expected and the actual
// value. Pure.
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import type { LedgerEntry } from '../../mocks/ledger.ts'
import type { Reading } from '../dialects/dialect.ts'
import { askedModel, refs, requestsOf, saysWhen, servedBy, where } from '../dialects/lookup.ts'
import { dialectOf, isCrossed, providerDialectOf, readAnswer, readSent } from '../dialects/registry.ts'
import type { Exchange } from '../evidence/evidence.ts'
import { type AnyJson, at, jsonOf, jsonValue } from '../evidence/reading.ts'
import { stepText } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { doubt, type Finding, finding, type Judging } from '../runner/check.ts'
import { endSeen, isVisible, type Meaning, meaningOf, readable, sameAnswer } from './flow/parts.ts'
import { headersName } from './tell.ts'
import { countsIn, usageIn } from './use/parts.ts'

const WENT = [
  'to a target of the model',
  'nowhere but to the model',
  'nowhere but to targets of the model',
  'to one model only',
] as const

export const expectation = z.strictObject({
  finding: z.string(),
  /** Steps with exchanges to compare; default: all. */
  of: z.array(z.string()).optional(),
  /** Status that the client receives. `error`: 400 or more. */
  status: z.union([z.int(), z.enum(['4xx', '5xx', 'error'])]).optional(),
  /** Text that the client's body contains. */
  holds: z.string().optional(),
  /** Header that the client must receive, and header that it must not receive. */
  header: z.string().optional(),
  no_header: z.string().optional(),
  /** Seconds of the provider's `Retry-After`. */
  retry_after: z.number().optional(),
  /** Applies to Waybill only. */
  waybill: z.boolean().optional(),
  /** True for a part of a MUST that is a SHOULD for gateways other than Waybill. */
  advice: z.literal(true).optional(),
  /** Part of the client's answer that must equal the provider's. */
  same: z.enum(['answer', 'content', 'tools', 'end', 'usage']).optional(),
  /** True if a client must be able to parse the answer. */
  readable: z.literal(true).optional(),
  /** Request that the provider receives. */
  request: z
    .union([
      z.strictObject({ at: z.string(), equals: z.unknown() }),
      /** Members of the request; extra members are allowed. */
      z.strictObject({ at: z.string(), has: z.unknown() }),
    ])
    .optional(),
  went: z.enum(WENT).optional(),
  headers: z.literal('name the server').optional(),
  /** Requires that the client can see that the answer is incomplete, and that no end mark contradicts this. */
  ends: z.literal('in an error').optional(),
})
export type Expectation = z.output<typeof expectation>

export function meets(expected: Expectation, exchange: Exchange, judging: Judging): Finding {
  const { finding: id, same, request, went, headers, ends } = expected
  if (expected.readable) return readable(judging.evidence, exchange)
  if (same === 'answer') return sameAnswer(judging.evidence, exchange)
  if (headers) return headersName(judging.evidence, judging.target, exchange)
  if (same) return sameAs(id, same, exchange, judging)
  if (request) return requestHolds(id, request, exchange, judging)
  if (went) return wentTo(id, went, expected, exchange, judging)
  if (ends) return endsInError(id, exchange, judging)
  if (expected.retry_after !== undefined) return retryAfter(id, expected.retry_after, exchange, judging)
  return answersWith(id, expected, exchange, judging)
}

const isStatus = (status: number | null, expected: Expectation['status']): boolean =>
  expected === undefined ||
  (expected === '4xx' || expected === '5xx'
    ? status !== null && Math.floor(status / 100) === Number(expected[0])
    : expected === 'error'
      ? status !== null && status >= 400
      : status === expected)

/** Returns JSON without needless escapes (some write `>` as `\\u003e`), also within texts that are JSON. */
function unescaped(body: string): string {
  const json = jsonOf(body)
  if (json === undefined) return body
  const inner = Object.values(json ?? {})
    .flatMap(textsIn)
    .filter((text) => text.includes('\\'))
  return [JSON.stringify(json), ...inner.map(unescaped)].join('\n')
}

const textsIn = (value: unknown): string[] =>
  typeof value === 'string'
    ? [value]
    : typeof value === 'object' && value !== null
      ? Object.values(value).flatMap(textsIn)
      : []

function answersWith(
  id: string,
  { status, holds, header, no_header: without }: Expectation,
  exchange: Exchange,
  { evidence }: Judging,
): Finding {
  const { body, headers } = exchange
  const ok =
    isStatus(exchange.status, status) &&
    (holds === undefined || unescaped(body).includes(holds)) &&
    (header === undefined || headers[header] !== undefined) &&
    (without === undefined || headers[without] === undefined)
  const expected = [
    ...(status === undefined ? [] : [`status ${status}`]),
    ...(holds === undefined ? [] : [`"${holds}" in the body`]),
    ...(header === undefined ? [] : [`a header ${header}`]),
    ...(without === undefined ? [] : [`no header ${without}`]),
  ]
  const actual = [
    endText(exchange),
    ...(header === undefined ? [] : [headers[header] ?? `no header ${header}`]),
    ...(without === undefined ? [] : [headers[without] ?? 'none']),
    ...(holds === undefined ? [] : [body.slice(0, 160) || 'no body']),
  ]
  return finding(
    id,
    ok,
    `the answer to "${stepText(exchange)}"`,
    { expected: expected.join(', '), actual: actual.join(', ') },
    refs(exchange, requestsOf(evidence, exchange).at(-1)),
  )
}

function retryAfter(id: string, wanted: number, exchange: Exchange, { evidence, target }: Judging): Finding {
  return finding(
    id,
    exchange.status === 429 && saysWhen(wanted, exchange, target),
    `Retry-After in the answer to "${stepText(exchange)}"`,
    {
      expected: `429, and ${wanted} s as the provider said`,
      actual: `${endText(exchange)}, ${exchange.headers['retry-after'] ?? 'none'}`,
    },
    refs(exchange, requestsOf(evidence, exchange).at(-1)),
  )
}

/** Part of an answer: its value for comparison, its presence, and its name in findings. */
interface Part {
  readonly value: unknown
  readonly is: boolean
  readonly said: string
}

const PARTS: Readonly<
  Record<'content' | 'tools' | 'end' | 'usage', (reading: Meaning, end: string) => Part>
> = {
  content: ({ content }) => ({
    value: content,
    is: content !== '',
    said: `${content.length} characters, ending in "${content.slice(-60)}"`,
  }),
  tools({ tools }) {
    const said = tools.map((each) => `${each.index} ${each.name} ${written(each.arguments)}`)
    return { value: tools, is: tools.length > 0, said: said.join('; ') || 'no tool call' }
  },
  end({ finish, done, afterDone }, end) {
    const reasons = finish.map(({ reason }) => reason).join(', ') || 'none'
    return {
      value: [finish, done, afterDone],
      is: done === 1 && !afterDone,
      said: `finish reasons ${reasons}, ${done} ${end}${afterDone ? ', and something after it' : ''}`,
    }
  },
  usage(reading) {
    const usage = usageIn(reading)
    const counts = countsIn(usage)
    return { value: counts, is: usage !== null, said: usage === null ? 'no usage' : counts.join(' / ') }
  },
}

const written = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** Returns true if the gateway asked the provider for usage. */
const asksForUsage = (entry: LedgerEntry): boolean =>
  providerDialectOf(entry).name !== 'chat' ||
  at(entry.body, '/stream') !== true ||
  at(entry.body, '/stream_options/include_usage') === true

/** Checks that a part of the client's answer has the same meaning as the provider's. */
export function sameAs(
  id: string,
  part: keyof typeof PARTS,
  exchange: Exchange,
  { evidence }: Pick<Judging, 'evidence'>,
): Finding {
  const entry = servedBy(evidence, exchange)
  // The FLOW checks judge an answer without an end.
  if (exchange.end === 'timed_out')
    return doubt(
      id,
      `the ${part} of "${stepText(exchange)}" cannot be compared: ${exchange.error}`,
      refs(exchange, entry),
    )
  // In a dialect that requires usage in each answer, a gateway may report its own usage if it did not request
  // the provider's usage.
  const meant = (reading: Reading) => meaningOf(reading, entry !== null && isCrossed(exchange, entry))
  const [got, sent] = [readAnswer(exchange), readSent(entry)].map((reading) =>
    PARTS[part](meant(reading), dialectOf(exchange).end),
  ) as [Part, Part]
  const isCrossedUsage = part === 'usage' && entry !== null && isCrossed(exchange, entry)
  // Some dialects did not always report reasoning tokens; the output tokens include them anyway.
  const counted = ({ value }: Part): unknown =>
    isCrossedUsage && (got.value as number[]).at(-1) === 0 ? (value as number[]).slice(0, -1) : value
  // A stream without requested usage has no usage to compare; USE-03 covers it.
  const wasNotAsked =
    part === 'usage' && entry !== null && !asksForUsage(entry) && isDeepStrictEqual(got.value, sent.value)
  return finding(
    id,
    sent.is ? isDeepStrictEqual(counted(got), counted(sent)) : isCrossedUsage || wasNotAsked,
    `the ${part} that the client read in "${stepText(exchange)}"`,
    { expected: `as the provider sent it: ${sent.said}`, actual: got.said },
    refs(exchange, entry),
  )
}

/**
 * Returns true if the first value contains the second. Compares lists item by item and arguments (a text) by
 * meaning; objects may have extra members.
 */
function isWithin(got: unknown, wanted: unknown, name = ''): boolean {
  if (name === 'arguments' && typeof got === 'string' && typeof wanted === 'string')
    return isDeepStrictEqual(jsonValue(got), jsonValue(wanted))
  if (typeof wanted !== 'object' || wanted === null) return isDeepStrictEqual(got, wanted)
  if (typeof got !== 'object' || got === null || Array.isArray(got) !== Array.isArray(wanted)) return false
  if (Array.isArray(wanted) && (got as unknown[]).length !== wanted.length) return false
  return Object.entries(wanted).every(([name, each]) => isWithin((got as AnyJson)[name], each, name))
}

function requestHolds(
  id: string,
  request: NonNullable<Expectation['request']>,
  exchange: Exchange,
  { evidence }: Judging,
): Finding {
  const entry = servedBy(evidence, exchange)
  const got = at(entry?.body, request.at)
  const wanted = 'has' in request ? request.has : request.equals
  const ok = 'has' in request ? isWithin(got, wanted) : isDeepStrictEqual(got, wanted)
  return finding(
    id,
    ok,
    `${request.at} of the provider's request in "${stepText(exchange)}"`,
    { expected: JSON.stringify(wanted), actual: JSON.stringify(got) ?? 'nothing' },
    refs(exchange, entry),
  )
}

function wentTo(
  id: string,
  went: (typeof WENT)[number],
  { status }: Expectation,
  exchange: Exchange,
  { evidence, target }: Judging,
): Finding {
  const model = askedModel(exchange)
  const { logical, direct } = target.models
  const targets = (
    logical.find(({ id }) => id === model)?.targets ?? direct.filter(({ id }) => id === model)
  ).map(where)
  const requests = requestsOf(evidence, exchange)
  const served = servedBy(evidence, exchange)
  const entries = went === 'to a target of the model' ? (served ? [served] : []) : requests
  const isThere = (entry: LedgerEntry) =>
    went === 'to one model only' ? entry.model === entries[0]!.model : targets.includes(where(entry))
  return finding(
    id,
    entries.length > 0 && entries.every(isThere) && isStatus(exchange.status, status),
    `where "${stepText(exchange)}" went`,
    {
      expected: `${went === 'to one model only' ? 'one model' : targets.join(' or ')}${status === undefined ? '' : `, and for the client ${status === 'error' ? 'an error' : status}`}`,
      actual: `${entries.map(where).join(', ') || 'nowhere'}${status === undefined ? '' : `, and for the client ${endText(exchange)}`}`,
    },
    refs(exchange, ...entries),
  )
}

function endsInError(id: string, exchange: Exchange, { evidence }: Judging): Finding {
  const { done } = readAnswer(exchange)
  const { end } = dialectOf(exchange)
  const entry = servedBy(evidence, exchange)
  return finding(
    id,
    entry !== null && isVisible(exchange) && done === 0,
    `how "${stepText(exchange)}" ended for the client`,
    {
      expected: `an error, and no ${end}`,
      actual:
        entry === null
          ? 'no provider was asked'
          : `${endSeen(exchange)}, and ${done === 0 ? 'no' : done} ${end}`,
    },
    refs(exchange, entry),
  )
}
