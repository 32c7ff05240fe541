// What a check leaves behind: everything that its judge may look at, as JSON. Verdicts are functions of this and of
// the target file, so that `judge` can compute them again, anywhere, without the gateway.
// Secrets never get this far: where one was seen, its name replaces it, as in `[secret:client-key]`.
import { z } from 'zod'
import type { LedgerEntry } from '../mocks/ledger.ts'

/** How an exchange came to its end, seen from the client. `left`: the client went away on purpose. */
const END = ['complete', 'cut', 'timed_out', 'left', 'refused'] as const

const details = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).readonly()

const exchange = z.strictObject({
  /** 1, 2, 3 … within the check. */
  n: z.int(),
  /** What the exercise did here: one of the steps of its check, see step.ts. */
  step: z.string(),
  /** With what, such as `stream` or the name of a scenario. */
  details,
  nonce: z.string().nullable(),
  request: z.strictObject({
    method: z.string(),
    path: z.string(),
    headers: z.record(z.string(), z.string()),
    body: z.string().nullable(),
  }),
  /** How the witness was told to answer this call's requests; absent where it was told nothing, or very much. */
  script: z.array(z.unknown()).optional(),
  /** Milliseconds since the epoch, with fractions: when the request left. */
  at: z.number(),
  /** When the response headers came; null when none did. */
  head_at: z.number().nullable(),
  /** When it was over. */
  end_at: z.number(),
  end: z.enum(END),
  /** What went wrong with the connection; null when nothing did. */
  error: z.string().nullable(),
  status: z.int().nullable(),
  /** Lower-case names; a repeated header joined with ", ". */
  headers: z.record(z.string(), z.string()),
  /** The body as far as it came; bytes that are no UTF-8 are replaced, and `utf8` is false. */
  body: z.string(),
  utf8: z.boolean(),
  /** Bytes and arrival of each piece of the body. */
  chunks: z.array(z.tuple([z.int(), z.number()])),
  /** The id of the only record that the log has got since the call; where answers tell no request id. */
  record_id: z.string().optional(),
})

const ledgerEntry = z.custom<LedgerEntry>((value) => typeof (value as LedgerEntry | null)?.n === 'number')

/** What the evidence of a worker is called that holds what the witness saw between its checks and after the last. */
export const REMAINDER = 'remainder'

/** The evidence of one check. */
export const evidenceSchema = z.strictObject({
  check: z.string(),
  started_at: z.number(),
  ended_at: z.number(),
  exchanges: z.array(exchange),
  /** What the witness saw from the start of the check to its end. */
  ledger: z.array(ledgerEntry),
  /** Times that the exercise named, for example the two ends of a window. */
  marks: z.record(z.string(), z.number()),
  /** Whatever else the judge needs and the exercise found out. */
  facts: z.record(z.string(), z.unknown()),
  /** Why the exercise could not be carried out, though the target declares what it needs; null when it could. */
  untestable: z.string().nullable(),
  /** The suite's own failure; null when there was none. */
  harness_error: z.string().nullable(),
})

export type Details = z.output<typeof details>
export type Exchange = z.output<typeof exchange>
export type Evidence = z.output<typeof evidenceSchema>
