// What a case may expect of an exchange: each kind is a field of the expectation and a function that says what was
// expected and what was seen. Pure.
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import type { LedgerEntry } from '../mocks/ledger.ts'
import { type Finding, finding, type Judging } from './check.ts'
import { isVisible, meaningOf, sameAnswer } from './checks/flow.ts'
import { headersName } from './checks/tell.ts'
import { countsIn, usageIn } from './checks/use.ts'
import type { Exchange } from './evidence.ts'
import { refs, requestsOf, servedBy, where } from './lookup.ts'
import { at, type Json, jsonOf } from './reading.ts'
import { inWords } from './step.ts'
import type { Reading } from './surface.ts'
import { dialectOf, isCrossed, readAnswer, readSent, surfaceOf } from './surfaces.ts'
import { ended } from './words.ts'

const WENT = [
  'to a target of the model',
  'nowhere but to the model',
  'nowhere but to targets of the model',
  'to one model only',
] as const

export const expectation = z.strictObject({
  finding: z.string(),
  /** The steps whose exchanges it is about; all where none is named. */
  of: z.array(z.string()).optional(),
  /** The status that the client gets. `error`: 400 or more. */
  status: z.union([z.int(), z.enum(['4xx', 'error'])]).optional(),
  /** What the client's body holds. */
  holds: z.string().optional(),
  /** A header that the client gets, and one that it does not get. */
  header: z.string().optional(),
  no_header: z.string().optional(),
  /** Only Waybill is held to it. */
  waybill: z.boolean().optional(),
  /** What the client reads equals what the provider sent. */
  same: z.enum(['answer', 'content', 'tools', 'end', 'usage']).optional(),
  /** What the provider gets. */
  request: z
    .union([
      z.strictObject({ at: z.string(), equals: z.unknown() }),
      /** There may be more members than these. */
      z.strictObject({ at: z.string(), has: z.unknown() }),
    ])
    .optional(),
  went: z.enum(WENT).optional(),
  headers: z.literal('name the server').optional(),
  /** The client can see that the answer is not whole, and no end mark says otherwise. */
  ends: z.literal('in an error').optional(),
})
export type Expectation = z.output<typeof expectation>

export function meets(expected: Expectation, exchange: Exchange, judging: Judging): Finding {
  const { finding: id, same, request, went, headers, ends } = expected
  if (same === 'answer') return sameAnswer(judging.evidence, exchange)
  if (headers) return headersName(judging.evidence, judging.target, exchange)
  if (same) return sameAs(id, same, exchange, judging)
  if (request) return requestHolds(id, request, exchange, judging)
  if (went) return wentTo(id, went, expected, exchange, judging)
  if (ends) return endsInError(id, exchange, judging)
  return answersWith(id, expected, exchange, judging)
}

const isStatus = (status: number | null, expected: Expectation['status']): boolean =>
  expected === undefined ||
  (expected === '4xx'
    ? status !== null && status >= 400 && status < 500
    : expected === 'error'
      ? status !== null && status >= 400
      : status === expected)

/** What is JSON, without escapes that need not be: some write `>` as `\\u003e`. */
function unescaped(body: string): string {
  const json = jsonOf(body)
  return json === undefined ? body : JSON.stringify(json)
}

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
    ended(exchange),
    ...(header === undefined ? [] : [headers[header] ?? `no header ${header}`]),
    ...(without === undefined ? [] : [headers[without] ?? 'none']),
    ...(holds === undefined ? [] : [body.slice(0, 160) || 'no body']),
  ]
  return finding(
    id,
    ok,
    `the answer to "${inWords(exchange)}"`,
    { expected: expected.join(', '), actual: actual.join(', ') },
    refs(exchange, requestsOf(evidence, exchange).at(-1)),
  )
}

/** A part of an answer: its value for comparison, whether there is any, and how it is said. */
interface Part {
  readonly value: unknown
  readonly is: boolean
  readonly said: string
}

const PARTS: Readonly<
  Record<'content' | 'tools' | 'end' | 'usage', (reading: Reading, end: string) => Part>
> = {
  content: ({ content }) => ({
    value: content,
    is: content !== '',
    said: `${content.length} characters, ending in "${content.slice(-60)}"`,
  }),
  tools({ tools }) {
    const said = tools.map((each) => `${each.index} ${each.id} ${each.name} ${each.arguments}`)
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

/** Whether the provider was asked so that it tells what the call used. */
const asksForUsage = (entry: LedgerEntry): boolean =>
  dialectOf(entry).name !== 'chat' ||
  at(entry.body, '/stream') !== true ||
  at(entry.body, '/stream_options/include_usage') === true

function sameAs(id: string, part: keyof typeof PARTS, exchange: Exchange, { evidence }: Judging): Finding {
  const entry = servedBy(evidence, exchange)
  // Within a dialect each byte of the arguments counts, across dialects their meaning. Where a dialect wants a usage in each
  // answer, one of the gateway's own stands for that of a provider which was not asked for it.
  const meant = (reading: Reading) =>
    entry && isCrossed(exchange, entry) ? meaningOf(reading, true) : reading
  const [got, sent] = [readAnswer(exchange), readSent(entry)].map((reading) =>
    PARTS[part](meant(reading), surfaceOf(exchange).end),
  ) as [Part, Part]
  const isCrossedUsage = part === 'usage' && entry !== null && isCrossed(exchange, entry)
  // Not every dialect has always had a place for tokens of thinking; they are counted among the others all the same.
  const counted = ({ value }: Part): unknown =>
    isCrossedUsage && (got.value as number[]).at(-1) === 0 ? (value as number[]).slice(0, -1) : value
  // A stream whose provider was not asked for usage has none to be compared; that is a matter of USE-03.
  const wasNotAsked =
    part === 'usage' && entry !== null && !asksForUsage(entry) && isDeepStrictEqual(got.value, sent.value)
  return finding(
    id,
    sent.is ? isDeepStrictEqual(counted(got), counted(sent)) : isCrossedUsage || wasNotAsked,
    `the ${part} that the client read in "${inWords(exchange)}"`,
    { expected: `as the provider sent it: ${sent.said}`, actual: got.said },
    refs(exchange, entry),
  )
}

/** Whether the first value contains all of the second: lists item by item, objects with more members or not. */
function isWithin(got: unknown, wanted: unknown): boolean {
  if (typeof wanted !== 'object' || wanted === null) return isDeepStrictEqual(got, wanted)
  if (typeof got !== 'object' || got === null || Array.isArray(got) !== Array.isArray(wanted)) return false
  if (Array.isArray(wanted) && (got as unknown[]).length !== wanted.length) return false
  return Object.entries(wanted).every(([name, each]) => isWithin((got as Json)[name], each))
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
    `${request.at} of the provider's request in "${inWords(exchange)}"`,
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
  const model = at(jsonOf(exchange.request.body ?? ''), '/model')
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
    `where "${inWords(exchange)}" went`,
    {
      expected: `${went === 'to one model only' ? 'one model' : targets.join(' or ')}${status === undefined ? '' : `, and for the client ${status === 'error' ? 'an error' : status}`}`,
      actual: `${entries.map(where).join(', ') || 'nowhere'}${status === undefined ? '' : `, and for the client ${ended(exchange)}`}`,
    },
    refs(exchange, ...entries),
  )
}

function endsInError(id: string, exchange: Exchange, { evidence }: Judging): Finding {
  const { done } = readAnswer(exchange)
  const { end } = surfaceOf(exchange)
  const entry = servedBy(evidence, exchange)
  const seen = isVisible(exchange) ? 'an error' : `an ordinary end (${exchange.end})`
  return finding(
    id,
    entry !== null && isVisible(exchange) && done === 0,
    `how "${inWords(exchange)}" ended for the client`,
    {
      expected: `an error, and no ${end}`,
      actual: entry === null ? 'no provider was asked' : `${seen}, and ${done === 0 ? 'no' : done} ${end}`,
    },
    refs(exchange, entry),
  )
}
