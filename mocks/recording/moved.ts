// Finds differences in structure between a recording and newer answers of its kind: fields, events, headers
// and status, but not words. Pure.
import type { Recording } from './format.ts'
import { kindOf, type RecordedAnswer, shapeOf } from './structure.ts'

/** Differences of a recording from newer answers. All lists are empty if nothing changed. */
interface Moved {
  /** Facts that no newer answer has. */
  readonly gone: readonly string[]
  /** Facts that every newer answer has, but the recording lacks. */
  readonly came: readonly string[]
}

/** Facts that vary with the words: the order of events, and keepalives. */
const WORDS = /, then |^comment |^event name ping$|^ping /

/**
 * Returns the differences, or null if no newer answer is of the recording's kind. Compares texts only with
 * texts, and streams only with streams.
 */
export function movedIn(recording: Recording, newer: readonly Recording[]): Moved | null {
  const before = answerOf(recording)
  const kind = kindOf(before)
  const fresh = newer.map(answerOf).filter((answer) => kindOf(answer) === kind)
  if (fresh.length === 0) return null
  const old = factsOf(before)
  const shapes = fresh.map(factsOf)
  return {
    gone: [...old].filter((fact) => !shapes.some((shape) => shape.has(fact))).sort(),
    came: [...shapes[0]!].filter((fact) => !old.has(fact) && shapes.every((shape) => shape.has(fact))).sort(),
  }
}

/** Returns the kind of a recording's answer: `stream + tools`. */
export const kindOfRecording = (recording: Recording): string => kindOf(answerOf(recording))

export const hasMoved = ({ gone, came }: Moved): boolean => gone.length + came.length > 0

/** Describes the differences, one on each line. */
export const wordMoved = ({ gone, came }: Moved): string[] => [
  ...gone.map((fact) => `gone  ${fact}`),
  ...came.map((fact) => `new   ${fact}`),
]

const answerOf = ({ response: { status, headers }, bytes }: Recording): RecordedAnswer => ({
  status,
  headers,
  body: Buffer.from(bytes).toString(),
})

const factsOf = (answer: RecordedAnswer): Set<string> =>
  new Set([...shapeOf(answer)].filter((fact) => !WORDS.test(fact)))
