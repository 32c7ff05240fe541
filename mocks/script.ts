// How a call that carries a nonce is to be answered: the words of `PUT /script/{nonce}`, and whose turn it is.
// Knows no server.
import { z } from 'zod'
import type { RequestKind } from './ledger.ts'

/** One step of a stream that is spelt out. */
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

/** What the model says; a turn that calls tools ends with them. */
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

export const answerSchema = z.strictObject({
  /** Answers only requests to this provider, or for this model; others take the next answer that fits. */
  provider: z.string().optional(),
  model: z.string().optional(),
  /** Answers requests of this kind, and no others. */
  kind: z.enum(['inference', 'token_count']).default('inference'),
  /** A scenario by name; `plain` where nothing else is said. */
  scenario: z.string().optional(),
  /** Whether top-level fields that the provider does not know are refused as it would, or only noted. */
  strict: z.boolean().default(false),
  /** Said instead, whole or streamed, in the dialect of whoever asks. */
  say: said.optional(),
  /** Spelt out instead: a whole answer (text as it is, else JSON) … */
  status: z.int().min(200).max(599).optional(),
  headers: z
    .record(z.string().regex(/^[\w!#$%&'*+.^`|~-]+$/), z.string().regex(/^[\t\x20-\x7e\x80-\xff]*$/))
    .optional(),
  body: z.unknown().optional(),
  /** What a refusal says, in the shape that this provider gives its errors; in the place of `body`. */
  refusal: z.string().optional(),
  /** … or a stream. */
  events: z.array(step).optional(),
  /** How many requests it answers before the next takes over; the last one answers for ever. */
  times: z.int().positive().default(1),
  /** Keeps to the provider and model of the request that it answered first: it answers every further one of these, and none of others. */
  same_target: z.boolean().default(false),
})

/** Answers for the requests of one call, in their order: the first attempt gets the first, and so on. */
export const scriptSchema = z.array(answerSchema).min(1)

export type Step = z.input<typeof step>
export type ScriptedAnswer = z.input<typeof answerSchema>
export type ParsedAnswer = z.output<typeof answerSchema>

export interface Scripts {
  /** Replaces what was there for this nonce. Throws a ZodError when it is no script. */
  put(nonce: string, script: unknown): void
  /** The answer whose turn it is, which is used up by that; null where nothing is written for such a request. */
  next(
    nonce: string,
    asked: { readonly provider: string; readonly model: string | null; readonly kind: RequestKind },
  ): ParsedAnswer | null
  clear(): void
}

/** An answer, and what became of it so far. */
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
