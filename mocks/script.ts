// How a call that carries a nonce is to be answered: the words of `PUT /script/{nonce}`. Knows no server.
import { z } from 'zod'

/** One step of a stream that is spelt out. */
const step = z.union([
  z
    .strictObject({ data: z.unknown() })
    .describe('One event, `data: …` and a blank line; text as it is, else as JSON.'),
  z.strictObject({ raw: z.string() }).describe('Bytes as they are, UTF-8.'),
  z
    .strictObject({ base64: z.string() })
    .describe('Bytes as they are; one write, so that a boundary can be put anywhere.'),
  z.strictObject({ gate: z.string().min(1) }).describe('Held here until `POST /release/{gate}`.'),
  z.strictObject({ wait: z.number().nonnegative() }).describe('A pause in ms.'),
  z
    .strictObject({ end: z.enum(['cut', 'reset']) })
    .describe('Ends the connection: in the middle of the body, or with RST.'),
])

export const answerSchema = z.strictObject({
  /** Answers only requests to this provider, or for this model; others take the next answer that fits. */
  provider: z.string().optional(),
  model: z.string().optional(),
  /** A scenario by name; `plain` where nothing else is said. */
  scenario: z.string().optional(),
  /** Spelt out instead: a whole answer (text as it is, else JSON) … */
  status: z.int().min(200).max(599).optional(),
  headers: z.record(z.string(), z.string()).optional(),
  body: z.unknown().optional(),
  /** … or a stream. */
  events: z.array(step).optional(),
  /** How many requests it answers before the next takes over; the last one answers for ever. */
  times: z.int().positive().default(1),
})

/** Answers for the requests of one call, in their order: the first attempt gets the first, and so on. */
export const scriptSchema = z.array(answerSchema).min(1)

export type Step = z.input<typeof step>
export type ScriptedAnswer = z.input<typeof answerSchema>
