// Scripts: the answers to a call with a nonce, the format of `PUT /script/{nonce}`, and whose turn it is.
// Knows no server.
import { z } from 'zod'
import type { RequestKind } from '../ledger.ts'

/** Step of an explicit stream. */
const step = z.union(
  [
    z
      .strictObject({ data: z.unknown() })
      .describe('One event, `data: …` and a blank line; text is sent as it is, anything else as JSON.'),
    z.strictObject({ raw: z.string() }).describe('Bytes as they are, UTF-8.'),
    z
      .strictObject({ base64: z.string() })
      .describe('Bytes as they are; one write, so that a boundary can be put anywhere.'),
    z
      .strictObject({ said: z.string().min(1) })
      .describe(
        'A piece of text in the client’s dialect; what begins an answer there is sent before the first piece.',
      ),
    z.strictObject({ ending: z.literal(true) }).describe('What ends an answer in that dialect.'),
    z.strictObject({ failure: z.string() }).describe('An event that reports a failure in that dialect.'),
    z.strictObject({ gate: z.string().min(1) }).describe('Held here until `POST /release/{gate}`.'),
    z.strictObject({ wait: z.number().nonnegative() }).describe('A pause in ms.'),
    z
      .strictObject({ end: z.enum(['cut', 'reset']) })
      .describe('Ends the connection: in the middle of the body, or with RST.'),
  ],
  'expected one of data, raw, base64, said, ending, failure, gate, wait, end',
)

/** Output of the model; a turn that calls tools ends with them. */
const said = z.strictObject({
  reasoning: z.string().optional(),
  text: z.string().optional(),
  calls: z
    .array(
      z.strictObject({
        id: z.string().min(1),
        name: z.string().min(1),
        arguments: z.record(z.string(), z.unknown()),
      }),
    )
    .default([]),
})

const answerSchema = z.strictObject({
  /** Answers only requests to this provider, or for this model; others use the next answer that fits. */
  provider: z.string().optional(),
  model: z.string().optional(),
  /** Answers only requests of this kind. */
  kind: z.enum(['inference', 'token_count']).default('inference'),
  /** Name of a scenario; default `plain`. */
  scenario: z.string().optional(),
  /** True if unknown top-level fields are refused as the provider would, otherwise only noted. */
  strict: z.boolean().default(false),
  /** Output instead of a scenario, whole or streamed, in the dialect of the request. */
  say: said.optional(),
  /** Explicit whole answer (text as it is, else JSON) … */
  status: z.int().min(200).max(599).optional(),
  headers: z
    .record(z.string().regex(/^[\w!#$%&'*+.^`|~-]+$/), z.string().regex(/^[\t\x20-\x7e\x80-\xff]*$/))
    .optional(),
  body: z.unknown().optional(),
  /** Message of an error in this provider's format, instead of `body`. */
  refusal: z.string().optional(),
  /** … or explicit stream. */
  events: z.array(step).optional(),
  /** Number of requests that it answers before the next takes over; the last one has no limit. */
  times: z.int().positive().default(1),
  /**
   * Keeps to the provider and model of the first request that it answered: it answers all further ones of
   * these, and no others.
   */
  same_target: z.boolean().default(false),
})

/** Answers for the requests of one call, in order: the first attempt gets the first, and so on. */
const scriptSchema = z.array(answerSchema).min(1)

export type ScriptStep = z.input<typeof step>
export type ScriptedAnswer = z.input<typeof answerSchema>
export type ParsedAnswer = z.output<typeof answerSchema>

export interface Scripts {
  /** Replaces the script of this nonce. Throws a ZodError if it is invalid. */
  put(nonce: string, script: unknown): void
  /** Returns and uses up the answer whose turn it is; null if no script fits the request. */
  next(
    nonce: string,
    asked: { readonly provider: string; readonly model: string | null; readonly kind: RequestKind },
  ): ParsedAnswer | null
  clear(): void
}

/** Answer with its state so far. */
interface Turn {
  readonly answer: ParsedAnswer
  used: number
  /** Provider and model that it keeps to; null while it is open to all. */
  target: string | null
}

export function createScripts(): Scripts {
  const scripts = new Map<string, Turn[]>()
  return {
    put(nonce, script) {
      scripts.set(
        nonce,
        scriptSchema.parse(script).map((answer) => ({ answer, used: 0, target: null })),
      )
    },
    next(nonce, { provider, model, kind }) {
      const asked = JSON.stringify([provider, model])
      const fitting = (scripts.get(nonce) ?? []).filter(
        ({ answer, target }) =>
          (answer.provider === undefined || answer.provider === provider) &&
          (answer.model === undefined || answer.model === model) &&
          answer.kind === kind &&
          (target === null || target === asked),
      )
      const turn =
        fitting.find(({ answer, used, target }) => target !== null || used < answer.times) ?? fitting.at(-1)
      if (!turn) return null
      turn.used++
      if (turn.answer.same_target) turn.target = asked
      return turn.answer
    },
    clear: () => scripts.clear(),
  }
}
