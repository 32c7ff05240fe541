// Comparisons that checks of several families share: an answer with a status, the provider's answer, the
// provider's request, and where a call went. Pure.
import { isDeepStrictEqual } from 'node:util'
import type { LedgerEntry } from '../../mocks/ledger.ts'
import type { Reading } from '../dialects/dialect.ts'
import {
  askedModel,
  dialectOf,
  isCrossed,
  providerDialectOf,
  readAnswer,
  readSent,
  refs,
  requestsOf,
  saysWhen,
  servedBy,
  where,
} from '../dialects/lookup.ts'
import { type Exchange, endText, stepText } from '../evidence/evidence.ts'
import { type AnyJson, at, jsonOf, jsonValue } from '../evidence/reading.ts'
import { doubt, type Finding, finding, type Judging } from './check.ts'
import { endSeen, isVisible, type Meaning, meaningOf } from './flow/parts.ts'
import { countsIn, countsText, usageIn } from './log/parts.ts'

/** Exchange that is compared, with the evidence around it. */
interface Looked extends Pick<Judging, 'evidence' | 'target'> {
  readonly exchange: Exchange
}

/** Status that the client receives. `error`: 400 or more. */
type Status = number | '4xx' | '5xx' | 'error'

/** Answer that the client should get: its status, a text in its body, a header, and a header that is absent. */
interface Expected {
  readonly status?: Status
  readonly holds?: string
  readonly header?: string
  readonly without?: string
}

type Went =
  | 'to a target of the model'
  | 'nowhere but to the model'
  | 'nowhere but to targets of the model'
  | 'to one model only'

const isStatus = (status: number | null, expected: Status | undefined): boolean =>
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

/** Checks what the client receives. */
export function answersWith(
  id: string,
  { status, holds, header, without }: Expected,
  { exchange, evidence }: Looked,
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

/** Checks that a 429 has the provider's seconds. */
export function retryAfter(id: string, wanted: number, { exchange, evidence, target }: Looked): Finding {
  const said = exchange.headers['retry-after']
  return finding(
    id,
    exchange.status === 429 && saysWhen(wanted, exchange, target),
    `Retry-After in the answer to "${stepText(exchange)}"`,
    {
      expected: `429, and ${wanted} s as the provider said`,
      actual: `${endText(exchange)}, and ${said === undefined ? 'no such header' : `${said} s`}`,
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
    return { value: counts, is: usage !== null, said: usage === null ? 'no usage' : countsText(counts) }
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
  { exchange, evidence }: Pick<Looked, 'exchange' | 'evidence'>,
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

/** Checks a place in the provider's request. With `has`, extra members are allowed. */
export function requestHolds(
  id: string,
  pointer: string,
  expected: { readonly equals: unknown } | { readonly has: unknown },
  { exchange, evidence }: Looked,
): Finding {
  const entry = servedBy(evidence, exchange)
  const got = at(entry?.body, pointer)
  const wanted = 'has' in expected ? expected.has : expected.equals
  const ok = 'has' in expected ? isWithin(got, wanted) : isDeepStrictEqual(got, wanted)
  return finding(
    id,
    ok,
    `${pointer} of the provider's request in "${stepText(exchange)}"`,
    { expected: JSON.stringify(wanted), actual: JSON.stringify(got) ?? 'nothing' },
    refs(exchange, entry),
  )
}

/** Checks where a call went, and its status if one is given. */
export function wentTo(
  id: string,
  went: Went,
  { exchange, evidence, target }: Looked,
  status?: Status,
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

/** Checks that the client can see that the answer is incomplete, and that no end mark contradicts this. */
export function endsInError(id: string, { exchange, evidence }: Looked): Finding {
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
