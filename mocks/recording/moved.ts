// Differences in shape between a recording and newer answers of its kind: fields, events, headers, status; never
// words. Pure.
import type { Recording } from './format.ts'
import { kindOf, type RecordedAnswer, shapeOf } from './structure.ts'

/** Differences of a recording from newer answers. All empty: nothing moved. */
export interface Moved {
  /** Facts that no newer answer has. */
  readonly gone: readonly string[]
  /** Facts that every newer answer has, and the recording lacks. */
  readonly came: readonly string[]
}

/** Facts that change with the words: which event follows which, and what keeps a stream open. */
const WORDS = /, then |^comment |^event name ping$|^ping /

/**
 * Returns what moved, or null if no newer answer is of the recording's kind: a text is not compared with a
 * call of a tool, nor a stream with a whole answer.
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

/** Words what moved, a line each. */
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
