// Evidence of a check: the JSON that its judge may read. Verdicts are functions of the evidence and the
// target file, so that `judge` can compute them again anywhere, without the gateway. Secrets are never
// stored: each is replaced by its name, as in `[secret:client-key]`.
// Steps are the named actions of an exercise, with details, by which the judge finds exchanges without parsing labels. Each
// check declares its steps once. Also the wording of findings.
import { z } from 'zod'
import type { LedgerEntry } from '../../mocks/ledger.ts'

/**
 * End of an exchange, as seen by the client. `left`: the client left on purpose; `too_long`: the client
 * stopped reading because the answer exceeded the limit.
 */
const END = ['complete', 'cut', 'timed_out', 'left', 'refused', 'too_long'] as const

const details = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).readonly()

const exchange = z.strictObject({
  /** Sequence number within the check, from 1. */
  n: z.int(),
  /** Step of the check that made the exchange. */
  step: z.string(),
  /** Parameters of the step, such as `stream` or the name of a scenario. */
  details,
  nonce: z.string().nullable(),
  request: z.strictObject({
    method: z.string(),
    path: z.string(),
    headers: z.record(z.string(), z.string()),
    body: z.string().nullable(),
  }),
  /** Script of the mock's answers to this call; absent without a script, or if it is very long. */
  script: z.array(z.unknown()).optional(),
  /** Time at which the request was sent, ms since the epoch, with fractions. */
  at: z.number(),
  /** Time at which the response headers arrived; null if they did not. */
  head_at: z.number().nullable(),
  /** Time at which the exchange ended. */
  end_at: z.number(),
  end: z.enum(END),
  /** Connection error, or null. */
  error: z.string().nullable(),
  status: z.int().nullable(),
  /** Lower-case names; a repeated header joined with ", ". */
  headers: z.record(z.string(), z.string()),
  /** Body as far as it arrived; invalid UTF-8 is replaced, and `utf8` is then false. */
  body: z.string(),
  utf8: z.boolean(),
  /** Bytes and arrival time of each piece of the body. */
  chunks: z.array(z.tuple([z.int(), z.number()])),
  /** Id of the only new record in the log since the call; set if answers carry no request id. */
  record_id: z.string().optional(),
})

/** Fields of the ledger that reports print. Judges look at more, and fail for a value that they cannot read. */
const printed = z.looseObject({
  n: z.int(),
  kind: z.enum(['inference', 'token_count', 'metadata']),
  provider: z.string(),
  model: z.string().nullable(),
  credential: z.enum(['match', 'mismatch', 'absent']),
  problems: z.array(z.string()),
  answer: z.looseObject({
    from: z.string(),
    status: z.int().nullable(),
    bytes: z.number(),
    body: z.string().nullish(),
  }),
})
const ledgerEntry = z.custom<LedgerEntry>((value) => printed.safeParse(value).success)

/**
 * Name of the evidence in which a worker stores the mock's requests between the checks and after the last
 * one.
 */
export const REMAINDER = 'remainder'

export const evidenceSchema = z.strictObject({
  check: z.string(),
  started_at: z.number(),
  ended_at: z.number(),
  exchanges: z.array(exchange),
  /** Requests that the mock received from the start of the check to its end. */
  ledger: z.array(ledgerEntry),
  /** Times named by the exercise, for example the two ends of a window. */
  marks: z.record(z.string(), z.number()),
  /** Additional facts that the exercise records for the judge. */
  facts: z.record(z.string(), z.unknown()),
  /**
   * Reason why the exercise was impossible although the target declares the required capabilities; otherwise
   * null.
   */
  untestable: z.string().nullable(),
  /** Failure of the suite itself, or null. */
  harness_error: z.string().nullable(),
})

export type Details = z.output<typeof details>
export type Exchange = z.output<typeof exchange>
export type Evidence = z.output<typeof evidenceSchema>

/** Step that a request belongs to, as passed to `Session`. */
export interface Step {
  readonly step: string
  readonly details: Details
}

interface Found<D extends Details> {
  /** Returns the exchanges of this step in order, without redirects that were followed. */
  in(evidence: Pick<Evidence, 'exchanges'>): (Exchange & { readonly details: D })[]
}

/** Step without details, used directly. */
export interface PlainStep extends Step, Found<Details> {}

/** Step with details, made once for each call. */
export interface DetailedStep<D extends Details> extends Found<D> {
  with(details: D): Step
}

/** Returns true for a redirect. The suite follows it under the same step if the repeated request cannot spend. */
export const isRedirect = ({ status, headers }: Pick<Exchange, 'status' | 'headers'>): boolean =>
  status !== null && status >= 300 && status < 400 && headers.location !== undefined

/** Returns true for a followed redirect: a later request of the step has its address. */
const wasFollowed = (exchange: Exchange, exchanges: readonly Exchange[]): boolean =>
  isRedirect(exchange) &&
  exchanges.some(
    ({ n, step, request }) =>
      n > exchange.n && step === exchange.step && exchange.headers.location!.endsWith(request.path),
  )

export function step(name: string): PlainStep
export function step<D extends Details>(name: string): DetailedStep<D>
export function step<D extends Details>(name: string): PlainStep & DetailedStep<D> {
  return {
    step: name,
    details: {},
    with: (details) => ({ step: name, details }),
    in: ({ exchanges }) =>
      exchanges.filter((each) => each.step === name && !wasFollowed(each, exchanges)) as (Exchange & {
        details: D
      })[],
  }
}

/** Record of a call, read by `Session.record`. */
const record = step<{ of: number }>('record')
export const recordStep = (of: number): Step => record.with({ of })
export const recordExchange = (evidence: Evidence, { n }: Pick<Exchange, 'n'>): Exchange | undefined =>
  record.in(evidence).find(({ details }) => details.of === n)

/** Formats a step for reports: `call (scenario plain, streamed)`. */
export function stepText({ step: name, details }: Pick<Exchange, 'step' | 'details'>): string {
  const said = Object.entries(details).flatMap(([key, value]) =>
    value === false ? [] : [value === true ? (key === 'stream' ? 'streamed' : key) : `${key} ${value}`],
  )
  return said.length > 0 ? `${name} (${said.join(', ')})` : name
}

/** Formats a number of bytes: `64.8 MiB`. */
export function size(bytes: number): string {
  if (bytes < 2 ** 10) return `${bytes} bytes`
  const [unit, name] = bytes < 2 ** 20 ? [2 ** 10, 'KiB'] : [2 ** 20, 'MiB']
  return `${Number((bytes / unit).toFixed(1))} ${name}`
}

const OWNERS: Readonly<Record<string, string>> = {
  'key.client': "the client's key",
  'key.other': "another client's key",
  'key.admin': 'the admin key',
  'key-in-query': 'the key that was sent in the query',
}

/** Formats names of secrets: `mock.openai.key` -> `the gateway's key for openai`. */
export const secrets = (names: readonly string[]): string =>
  names
    .map((name) => {
      const provider = /^mock\.(.+)\.key$/.exec(name)?.[1]
      return provider ? `the gateway's key for ${provider}` : (OWNERS[name] ?? `the secret ${name}`)
    })
    .join(', ')

/** Formats the end of an exchange for the client: its status, or the connection error. */
export const endText = ({ status, error, end }: Pick<Exchange, 'status' | 'error' | 'end'>): string =>
  status === null ? (error ?? end) : end === 'complete' ? String(status) : `${status}, ${end}`

/** Characters around the place where two texts begin to differ. */
const SHOWN_LENGTH = 40

/** Says where two texts begin to differ, with both: `"b…" instead of "a…" from character 7 on`. */
export function difference(actual: string, expected: string): string {
  let at = 0
  while (at < expected.length && actual[at] === expected[at]) at++
  const shown = (text: string) =>
    at < text.length ? JSON.stringify(text.slice(at, at + SHOWN_LENGTH)) : 'the end'
  return `${shown(actual)} instead of ${shown(expected)} from character ${at} on`
}

export const listed = (items: readonly string[], none = 'none'): string => items.join(', ') || none
