// Evidence of a check: the JSON that its judge may read. Verdicts are functions of the evidence and the
// target file, so that `judge` can compute them again anywhere, without the gateway. Secrets are never
// stored: each is replaced by its name, as in `[secret:client-key]`.
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
  /** Step of the check that made the exchange, see step.ts. */
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
