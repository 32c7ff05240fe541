// Evidence of a check: everything that its judge may look at, as JSON. Verdicts are functions of this and of
// the target file, so that `judge` can compute them again, anywhere, without the gateway.
// Secrets are never stored: each is replaced by its name, as in `[secret:client-key]`.
import { z } from 'zod'
import type { LedgerEntry } from '../../mocks/ledger.ts'

/**
 * End of an exchange, seen from the client. `left`: the client went away on purpose; `too_long`: it stopped
 * reading, because the answer exceeded the limit.
 */
const END = ['complete', 'cut', 'timed_out', 'left', 'refused', 'too_long'] as const

const details = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).readonly()

const exchange = z.strictObject({
  /** Sequence number within the check, from 1. */
  n: z.int(),
  /** Step of the check that made it, see step.ts. */
  step: z.string(),
  /** Parameters, such as `stream` or the name of a scenario. */
  details,
  nonce: z.string().nullable(),
  request: z.strictObject({
    method: z.string(),
    path: z.string(),
    headers: z.record(z.string(), z.string()),
    body: z.string().nullable(),
  }),
  /** Script of the mock's answers to this call; absent if there was none, or a very long one. */
  script: z.array(z.unknown()).optional(),
  /** Time at which the request left, ms since the epoch, with fractions. */
  at: z.number(),
  /** Time at which the response headers arrived; null if none did. */
  head_at: z.number().nullable(),
  /** Time at which it was over. */
  end_at: z.number(),
  end: z.enum(END),
  /** Connection error, or null. */
  error: z.string().nullable(),
  status: z.int().nullable(),
  /** Lower-case names; a repeated header joined with ", ". */
  headers: z.record(z.string(), z.string()),
  /** Body as far as it arrived; bytes that are no UTF-8 are replaced, and `utf8` is false. */
  body: z.string(),
  utf8: z.boolean(),
  /** Bytes and arrival time of each piece of the body. */
  chunks: z.array(z.tuple([z.int(), z.number()])),
  /** Id of the only new record in the log since the call; set if answers carry no request id. */
  record_id: z.string().optional(),
})

const ledgerEntry = z.custom<LedgerEntry>((value) => typeof (value as LedgerEntry | null)?.n === 'number')

/** Name of a worker's evidence of what the mock saw between its checks and after the last. */
export const REMAINDER = 'remainder'

export const evidenceSchema = z.strictObject({
  check: z.string(),
  started_at: z.number(),
  ended_at: z.number(),
  exchanges: z.array(exchange),
  /** Requests that the mock saw from the start of the check to its end. */
  ledger: z.array(ledgerEntry),
  /** Times named by the exercise, for example the two ends of a window. */
  marks: z.record(z.string(), z.number()),
  /** Further facts that the exercise found and the judge needs. */
  facts: z.record(z.string(), z.unknown()),
  /** Reason why the exercise was impossible although the target declares what it needs, or null. */
  untestable: z.string().nullable(),
  /** Failure of the suite itself, or null. */
  harness_error: z.string().nullable(),
})

export type Details = z.output<typeof details>
export type Exchange = z.output<typeof exchange>
export type Evidence = z.output<typeof evidenceSchema>
