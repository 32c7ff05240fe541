// Conditions on the content of a call, for handwritten answers. Pure; uses a conversation and a model,
// independent of scripts and recordings.
import { z } from 'zod'
import type { Part } from './conversation.ts'

const isPattern = (source: string): boolean => {
  try {
    return Boolean(new RegExp(source))
  } catch {
    return false
  }
}

const textSchema = z
  .union(
    [
      z.string().min(1),
      z.strictObject({ pattern: z.string().refine(isPattern, 'is no regular expression') }),
    ],
    'takes a text, or {"pattern": "a regular expression"}',
  )
  .describe('A piece of the text; or a pattern.')

/** Condition; all of its members must hold. */
export const predicateSchema = z
  .strictObject({
    user: textSchema.optional().describe('In the last text of the user.'),
    system: textSchema.optional().describe('In any of the instructions.'),
    tool_result: textSchema.optional().describe('In the last result of a tool, which nothing follows.'),
    turn: z.int().positive().optional().describe('Number of the turn: 1 before the model said anything.'),
    model: textSchema.optional().describe('In the model id.'),
  })
  .refine((members) => Object.keys(members).length > 0, 'needs one of user, system, tool_result, turn, model')

export type Predicate = z.infer<typeof predicateSchema>

/** Parts of a call that a predicate examines. */
export interface Spoken {
  readonly model: string | null
  readonly parts: readonly Part[]
}

/** Returns true if every member of the predicate holds. */
export function holds(predicate: Predicate, { model, parts }: Spoken): boolean {
  const { user, system, tool_result, turn } = predicate
  const last = parts.at(-1)
  const spoken = parts.findLast(({ role, kind }) => role === 'user' && kind === 'text')
  return (
    fits(user, spoken?.text) &&
    (system === undefined || parts.some((part) => part.role === 'system' && fits(system, part.text))) &&
    fits(tool_result, last?.kind === 'result' ? last.text : undefined) &&
    (turn === undefined || turn === turnOf(parts)) &&
    fits(predicate.model, model ?? undefined)
  )
}

function fits(wanted: Predicate['user'], text: string | undefined): boolean {
  if (wanted === undefined) return true
  if (text === undefined) return false
  return typeof wanted === 'string' ? text.includes(wanted) : new RegExp(wanted.pattern).test(text)
}

/** Counts the model's turns, including the turn that is requested now. */
function turnOf(parts: readonly Part[]): number {
  const spoke = parts.filter(({ role }, i) => role === 'assistant' && parts[i - 1]?.role !== 'assistant')
  return spoke.length + 1
}
