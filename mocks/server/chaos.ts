// Chaos and pace: decides from settings which calls fail, break off or are delayed, and how fast text is
// sent. The choice depends on the seed and the call's number, so that a run can be repeated. Pure.
import { hash } from 'node:crypto'
import { z } from 'zod'
import type { MockAnswer, Part } from '../answer.ts'

const rate = z.number().min(0).max(1)
const ms = z.number().nonnegative().max(600_000)

export const chaosSchema = z
  .strictObject({
    /** Share of calls that fail with the provider's own error. */
    errors: rate.default(0),
    /** Status of these errors. */
    status: z.int().min(400).max(599).default(503),
    /** Share of calls with an answer that breaks off in the middle. */
    cuts: rate.default(0),
    /** Share of calls that wait before the first byte, and the length of the wait. */
    slow: rate.default(0),
    slow_ms: ms.default(5_000),
    /** Seed: equal seeds make equal choices. */
    seed: z.int().nonnegative().default(1),
    /** Wait before the first part of every answer. */
    first_token_ms: ms.optional(),
    /**
     * Tokens per second, with four bytes of text for each token. Slows down streams, and delays whole
     * answers.
     */
    tokens_per_second: z.number().positive().max(100_000).optional(),
    /** Maximum share of a wait that is added or removed at random. */
    jitter: rate.default(0),
  })
  .refine(({ errors, cuts }) => errors + cuts <= 1, 'errors and cuts together exceed 1')

export type Chaos = z.input<typeof chaosSchema>
export type ParsedChaos = z.output<typeof chaosSchema>

/** Planned outcome of one call. */
export interface Fate {
  /** Status of the call's error, or null. */
  readonly status: number | null
  readonly isCut: boolean
  /** Changes the pace of an answer, and cuts it. */
  apply(answer: MockAnswer): MockAnswer
}

const BYTES_PER_TOKEN = 4

/** Returns the planned outcome of the call with this number, counted from 1. */
function fateOf(chaos: ParsedChaos, call: number): Fate {
  const random = randomFrom(`${chaos.seed} ${call}`)
  const [failing, late] = [random(), random()]
  const status = failing < chaos.errors ? chaos.status : null
  const isCut = status === null && failing < chaos.errors + chaos.cuts
  const around = (wait: number) => wait * (1 + chaos.jitter * (2 * random() - 1))
  const before = around(chaos.first_token_ms ?? 0) + (late < chaos.slow ? around(chaos.slow_ms) : 0)
  return {
    status,
    isCut,
    apply(answer) {
      const paced = status === null ? paceOf(answer, chaos.tokens_per_second, around) : [...answer.parts]
      const waiting: Part[] = before > 0 ? [{ wait: before }, ...paced] : paced
      const { concludes, ...rest } = answer
      return isCut ? { ...rest, parts: cut(waiting) } : { ...answer, parts: waiting }
    },
  }
}

/**
 * Adds a wait after each event of a stream, or before a whole answer, in proportion to the length of the
 * text.
 */
function paceOf(
  { parts, headers }: MockAnswer,
  perSecond: number | undefined,
  around: (wait: number) => number,
): Part[] {
  if (perSecond === undefined) return [...parts]
  const isStream = headers['content-type']?.startsWith('text/event-stream')
  const own = parts.filter((part) => !('wait' in part)) // replaces the recorded pace
  return own.flatMap((part): Part[] => {
    if (!(part instanceof Uint8Array)) return [part]
    const wait = { wait: around((textBytes(part) / BYTES_PER_TOKEN / perSecond) * 1000) }
    return wait.wait === 0 ? [part] : isStream ? [part, wait] : [wait, part]
  })
}

/** Members that hold a model's output, in all dialects. */
const TEXT =
  /"(?:content|text|delta|arguments|partial_json|thinking|reasoning_content)": ?"((?:[^"\\]|\\.)*)"/g

const textBytes = (part: Uint8Array): number =>
  [...Buffer.from(part).toString('latin1').matchAll(TEXT)].reduce((sum, [, text]) => sum + text!.length, 0)

/** Ends an answer after half of its bytes. */
function cut(parts: readonly Part[]): Part[] {
  const isBytes = (part: Part): part is Uint8Array => part instanceof Uint8Array
  let left = Math.floor(parts.filter(isBytes).reduce((sum, { length }) => sum + length, 0) / 2)
  const kept: Part[] = []
  for (const part of parts) {
    if (!isBytes(part)) {
      kept.push(part)
      continue
    }
    kept.push(part.subarray(0, left))
    left -= part.length
    if (left <= 0) break
  }
  return [...kept, { end: 'cut' }]
}

/** Creates a generator of numbers in [0, 1) that follow from a text. */
function randomFrom(text: string): () => number {
  let step = 0
  return () => Number.parseInt(hash('sha256', `${text} ${step++}`).slice(0, 12), 16) / 2 ** 48
}

/** Chaos of one test: its settings, and the count of calls so far. */
interface ChaosCount {
  /** Starts again with these settings, or without chaos. */
  set(numbers: ParsedChaos | null): void
  /** Returns the planned outcome of the next call; null without settings. */
  next(): Fate | null
}

export function createChaos(first: ParsedChaos | null): ChaosCount {
  let [numbers, calls] = [first, 0]
  return {
    set(others) {
      numbers = others
      calls = 0
    },
    next: () => numbers && fateOf(numbers, ++calls),
  }
}
