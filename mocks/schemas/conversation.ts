// Finds conversations that no provider accepts: tool results without their call, and calls without their
// result. Each dialect has its own rule and wording. Reads only what the rule needs; the schemas check the
// rest.
import type { z } from 'zod'

type Json = Readonly<Record<string, unknown>>

interface Problem {
  readonly path: readonly (string | number)[]
  /** Provider's whole sentence. */
  readonly message: string
}

/**
 * Makes a refinement of a request body from a dialect's rule. An issue with `sentence` has the provider's own
 * message.
 */
export const conversation =
  (rule: (body: Json) => Problem | null) =>
  (body: Json, context: z.RefinementCtx): void => {
    const problem = rule(body)
    if (problem)
      context.addIssue({
        code: 'custom',
        path: [...problem.path],
        message: problem.message,
        params: { sentence: true },
      })
  }

const list = (value: unknown): readonly Json[] => (Array.isArray(value) ? value : [])
const text = (value: unknown): string => (typeof value === 'string' ? value : '')

/**
 * Checks a chat conversation: `tool` messages answer all of an assistant's calls before any other message.
 */
export function chatConversation({ messages }: Json): Problem | null {
  let open = new Set<string>()
  let answerable = new Set<string>()
  for (const [index, message] of list(messages).entries()) {
    const at = ['messages', index, 'role']
    if (message.role === 'tool') {
      if (!answerable.has(text(message.tool_call_id)))
        return {
          path: at,
          message:
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
        }
      open.delete(text(message.tool_call_id))
      continue
    }
    if (open.size > 0) return { path: at, message: unansweredChat(open) }
    answerable = new Set(list(message.tool_calls).map(({ id }) => text(id)))
    open = new Set(answerable)
  }
  return open.size > 0
    ? { path: ['messages', list(messages).length - 1, 'role'], message: unansweredChat(open) }
    : null
}

const unansweredChat = (ids: ReadonlySet<string>): string =>
  `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...ids].join(', ')}`

/**
 * Checks a Responses conversation: each output has a call among the items, and each call has an output, in
 * any order. If the provider stores the start of the conversation, the call may be in the stored part.
 */
export function responsesConversation({ input, previous_response_id, conversation }: Json): Problem | null {
  const items = list(input)
  const ids = (type: RegExp) =>
    new Set(
      items.filter((item) => type.test(text(item.type)) && item.call_id).map(({ call_id }) => text(call_id)),
    )
  const calls = ids(/^(function|custom_tool)_call$/)
  const outputs = ids(/^(function|custom_tool)_call_output$/)
  const keptElsewhere =
    Boolean(previous_response_id ?? conversation) || items.some(({ type }) => type === 'item_reference')
  const withoutCall = keptElsewhere ? undefined : [...outputs].find((id) => !calls.has(id))
  if (withoutCall !== undefined)
    return {
      path: ['input'],
      message: `No tool call found for function call output with call_id ${withoutCall}.`,
    }
  const withoutOutput = [...calls].find((id) => !outputs.has(id))
  return withoutOutput === undefined
    ? null
    : { path: ['input'], message: `No tool output found for function call ${withoutOutput}.` }
}

/**
 * Checks a Messages conversation: the next turn answers the calls of a turn. Consecutive messages of one role
 * are one turn.
 */
export function messagesConversation({ messages, thread }: Json): Problem | null {
  const turns = turnsOf(list(messages))
  const continues = (thread as Json | null | undefined)?.type === 'continue'
  for (const [index, turn] of turns.entries()) {
    const before = turns[index - 1]
    const asked = before?.role === 'assistant' ? before.calls : new Set<string>()
    const stray = continues && index === 0 ? undefined : turn.results.find(({ id }) => !asked.has(id))
    if (stray) {
      const { path, id } = stray
      return {
        path,
        message: `${path.join('.')}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
      }
    }
    const answered = new Set(turns[index + 1]?.results.map(({ id }) => id))
    const open = [...turn.calls].filter((id) => !answered.has(id))
    if (turn.role === 'assistant' && open.length > 0)
      return {
        path: ['messages', turn.last],
        message: `messages.${turn.last}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
      }
  }
  return null
}

interface Turn {
  readonly role: string
  readonly calls: Set<string>
  readonly results: { readonly id: string; readonly path: readonly (string | number)[] }[]
  /** Index of the turn's last message. */
  last: number
}

function turnsOf(messages: readonly Json[]): Turn[] {
  const turns: Turn[] = []
  for (const [index, { role, content }] of messages.entries()) {
    if (role === 'system') continue // instructions between turns belong to no turn
    const last = turns.at(-1)
    const turn: Turn =
      last !== undefined && last.role === role
        ? last
        : { role: text(role), calls: new Set(), results: [], last: index }
    if (turn !== last) turns.push(turn)
    turn.last = index
    for (const [part, block] of list(content).entries()) {
      if (block.type === 'tool_use') turn.calls.add(text(block.id))
      if (block.type === 'tool_result')
        turn.results.push({ id: text(block.tool_use_id), path: ['messages', index, 'content', part] })
    }
  }
  return turns
}

/**
 * Checks a Gemini conversation: a turn with calls is followed by a turn with equally many responses, and
 * responses occur only after calls. Neighbouring contents of one role are one turn.
 */
export function geminiConversation({ contents }: Json): Problem | null {
  const turns = geminiTurns(list(contents))
  const count = (index: number, ...names: string[]): number =>
    (turns[index]?.parts ?? []).filter((part) => names.some((name) => name in part)).length
  for (const [index, { first }] of turns.entries()) {
    const responses = count(index, 'functionResponse', 'function_response')
    const calls = index === 0 ? 0 : count(index - 1, 'functionCall', 'function_call')
    if (responses === calls) continue
    return {
      path: ['contents', first],
      message:
        calls === 0
          ? 'Please ensure that function response turn comes immediately after a function call turn.'
          : 'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
    }
  }
  return null
}

/** A turn of a Gemini conversation; `first`: index of its first content. */
interface GeminiTurn {
  readonly first: number
  readonly parts: readonly Json[]
}

/** Joins neighbouring contents of one role to turns. Every role except `model` is the user's. */
export function geminiTurns(contents: readonly Json[]): GeminiTurn[] {
  const turns: { isModel: boolean; first: number; parts: Json[] }[] = []
  for (const [first, { role, parts }] of contents.entries()) {
    const isModel = role === 'model'
    const last = turns.at(-1)
    if (last?.isModel === isModel) last.parts.push(...list(parts))
    else turns.push({ isModel, first, parts: [...list(parts)] })
  }
  return turns
}
