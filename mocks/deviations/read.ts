// Reads `deviations/`: ways in which real providers deviate from the documents of their wire formats. Its
// README describes the format.
import { readdirSync, readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { z } from 'zod'
import { packageFile } from '../../src/shared/package-root.ts'

const FOLDER = packageFile('deviations')

/** Form of ids and causes. */
const NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/

const dialects = ['chat', 'messages', 'responses', 'gemini', 'interactions'] as const
export type DeviatingDialect = (typeof dialects)[number]

const count = z.int().nonnegative()

const usage = z.strictObject({
  input: count.optional(),
  output: count.optional(),
  cached: count.optional(),
  cache_write: count.optional(),
  reasoning: count.optional(),
})

const conclusion = z.strictObject({
  text: z.string().default(''),
  reasoning: z.string().default(''),
  calls: z.array(z.strictObject({ name: z.string(), arguments: z.record(z.string(), z.json()) })).default([]),
  end: z.enum(['stop', 'calls', 'length', 'filter', 'refusal', 'stop_sequence', 'failed']),
  stop_sequence: z.string().optional(),
  usage: z.union([usage, z.literal('none')]).optional(),
  doubt: z.boolean().default(false),
  error: z
    .strictObject({
      whose: z.enum(['operator', 'client', 'provider']).optional(),
      retry_after_ms: count.optional(),
      not_repeated: z.boolean().optional(),
    })
    .optional(),
  id: z.string().optional(),
})

const members = z.strictObject({
  cause: z.string().regex(NAME),
  what: z.string().min(1),
  by: z.array(z.string().min(1)).min(1),
  source: z
    .array(z.strictObject({ url: z.url({ protocol: /^https$/ }), date: z.iso.date().optional() }))
    .min(1),
  stream: z.array(z.json()).optional(),
  stream_raw: z.string().optional(),
  stream_base64: z.base64().optional(),
  cut: z.boolean().default(false),
  answer: z.json().optional(),
  answer_raw: z.string().optional(),
  status: z.int().default(200),
  headers: z.record(z.string(), z.string().nullable()).default({}),
  ask: z.enum(['stream', 'whole']).optional(),
  request: z.record(z.string(), z.json()).default({}),
  concludes: conclusion,
})

interface Entry extends z.infer<typeof members> {}

/** What a right reader concludes from an answer. */
export interface Conclusion extends z.infer<typeof conclusion> {}

const given = (...forms: unknown[]): number => forms.filter((form) => form !== undefined).length
const streams = (all: Entry) => given(all.stream, all.stream_raw, all.stream_base64)
const answers = (all: Entry) => given(all.answer, all.answer_raw)

const entry = members
  .refine((all) => streams(all) <= 1, { message: 'has more than one stream' })
  .refine((all) => answers(all) <= 1, { message: 'has more than one answer' })
  .refine((all) => streams(all) + answers(all) > 0, { message: 'has neither a stream nor an answer' })

/** One way in which a provider deviates. */
export interface Deviation extends Entry {
  readonly dialect: DeviatingDialect
  /** Name of its file, such as `calls`. */
  readonly class: string
  /** Unique within its dialect. */
  readonly id: string
}

let known: readonly Deviation[] | undefined

/** Returns all deviations. Reads the files once. Throws with file and id if an entry is wrong. */
export function readDeviations(): readonly Deviation[] {
  known ??= dialects.flatMap(readDialect)
  return known
}

function readDialect(dialect: DeviatingDialect): Deviation[] {
  const files = readdirSync(`${FOLDER}/${dialect}`).filter((name) => name.endsWith('.yaml'))
  const places = new Map<string, string>()
  return files.sort().flatMap((name) => {
    const file = `deviations/${dialect}/${name}`
    return Object.entries(readFile(`${FOLDER}/${dialect}/${name}`, file)).map(([id, value]) => {
      const before = places.get(id)
      if (before !== undefined) throw new Error(`${file}: ${id}: this id is also in ${before}`)
      places.set(id, file)
      const { data, error } = entry.safeParse(value)
      if (error) throw new Error(`${file}: ${id}: ${z.prettifyError(error)}`)
      return { ...data, dialect, class: name.replace(/\.yaml$/, ''), id }
    })
  })
}

function readFile(path: string, file: string): Record<string, unknown> {
  try {
    return z.record(z.string().regex(NAME), z.unknown()).parse(parse(readFileSync(path, 'utf8')))
  } catch (error) {
    throw new Error(
      `${file}: ${error instanceof z.ZodError ? z.prettifyError(error) : (error as Error).message}`,
    )
  }
}

/** Returns the bytes of a deviation's stream, or null if it has none. */
export function streamBytes(deviation: Deviation): Buffer | null {
  const parts = streamParts(deviation)
  return parts && Buffer.concat(parts)
}

/** Returns the bytes of each event of a deviation's stream, or of all if they are written out; null without a stream. */
export function streamParts(deviation: Deviation): Buffer[] | null {
  const { stream, stream_raw, stream_base64, dialect } = deviation
  if (stream_base64 !== undefined) return [Buffer.from(stream_base64, 'base64')]
  if (stream_raw !== undefined) return [Buffer.from(stream_raw)]
  return stream ? stream.map((event) => Buffer.from(eventText(event, dialect))) : null
}

/** Returns the text of a deviation's whole answer, or null if it has none. */
export const answerText = ({ answer, answer_raw }: Deviation): string | null =>
  answer_raw ?? (answer === undefined ? null : JSON.stringify(answer))

function eventText(event: z.infer<ReturnType<typeof z.json>>, dialect: DeviatingDialect): string {
  if (typeof event === 'string') return `data: ${event}\n\n`
  const members = typeof event === 'object' && event !== null && !Array.isArray(event) ? event : {}
  if (typeof members.raw === 'string' && Object.keys(members).length === 1) return members.raw
  const name = dialect === 'interactions' ? members.event_type : members.type
  const isNamed = ['messages', 'responses', 'interactions'].includes(dialect) && typeof name === 'string'
  return `${isNamed ? `event: ${name}\n` : ''}data: ${JSON.stringify(event)}\n\n`
}
