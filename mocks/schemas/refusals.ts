// Providers' messages for a request that they refuse: for an invalid field, in OpenAI's sentences, and Pydantic's, which
// Anthropic and Mistral use; and for a conversation that no provider accepts, with tool results without their call, or
// calls without their result. Each dialect has its own rule and wording.
import { z } from 'zod'

export type Issue = z.core.$ZodIssue

/** Zod's type names -> type names in OpenAI's sentences. */
const OPENAI_TYPES: Readonly<Record<string, string>> = {
  number: 'a decimal',
  int: 'an integer',
  string: 'a string',
  boolean: 'a boolean',
  array: 'an array',
  object: 'an object',
  record: 'an object',
}

/** Returns OpenAI's sentence. `field` is written as `messages[0].role`; empty for the body. */
export function openAiFieldError(field: string, issue: Issue): string {
  const got = typeName(issue.input)
  switch (issue.code) {
    case 'invalid_type': {
      if (issue.input === undefined) return `Missing required parameter: '${field}'.`
      const expected = OPENAI_TYPES[issue.expected] ?? `one of ${issue.expected}`
      return `Invalid type for '${field}': expected ${expected}, but got ${OPENAI_TYPES[got] ?? got} instead.`
    }
    case 'too_big':
    case 'too_small': {
      const big = issue.code === 'too_big'
      const limit = limitOf(issue)
      const [side, sign] = big ? ['above maximum', '<='] : ['below minimum', '>=']
      if (issue.origin === 'array' || issue.origin === 'string') {
        const size = (issue.input as string | unknown[] | undefined)?.length ?? 0
        const word = issue.origin === 'array' ? 'array' : 'string'
        const [fault, bound] = big
          ? ['too long', 'maximum']
          : size === 0
            ? [null, 'minimum']
            : ['too short', 'minimum']
        return `Invalid '${field}': ${fault ? `${word} ${fault}` : `empty ${word}`}. Expected ${OPENAI_TYPES[word]} with ${bound} length ${limit}, but got ${size === 0 ? `an empty ${word}` : `${OPENAI_TYPES[word]} with length ${size}`} instead.`
      }
      const kind = Number.isInteger(issue.input) && Number.isInteger(limit) ? 'integer' : 'decimal'
      return `Invalid '${field}': ${kind} ${side} value. Expected a value ${sign} ${limit}, but got ${String(issue.input)} instead.`
    }
    case 'invalid_value':
      return `Invalid value: '${String(issue.input)}'. Supported values are: ${listed(issue.values, 'and')}.`
    case 'invalid_union': {
      const { options, input, path } = issue as typeof issue & { readonly options?: readonly unknown[] }
      const given = (input as Readonly<Record<string, unknown>> | undefined)?.[String(path.at(-1))]
      if (options)
        return `Invalid value: '${String(given)}'. Supported values are: ${listed(options, 'and')}.`
      return `Invalid type for '${field}': ${issue.message}.`
    }
    case 'invalid_format':
      return `Invalid '${field}': string does not match pattern. Expected a string that matches the pattern '${patternOf(issue)}'.`
    default:
      return `Invalid value for '${field}': ${issue.message}.`
  }
}

/** Returns Pydantic's sentence, without the field. */
export function pydanticFieldError(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'Field required'
      return `Input should be a valid ${{ array: 'list', object: 'dictionary', record: 'dictionary', int: 'integer' }[issue.expected as string] ?? issue.expected}`
    case 'too_big':
    case 'too_small': {
      const big = issue.code === 'too_big'
      const limit = limitOf(issue)
      if (issue.origin !== 'array' && issue.origin !== 'string')
        return `Input should be ${big ? 'less' : 'greater'} than or equal to ${limit}`
      const [kind, unit] = issue.origin === 'array' ? ['List', 'item'] : ['String', 'character']
      const size = (issue.input as string | unknown[] | undefined)?.length ?? 0
      return `${kind} should have at ${big ? 'most' : 'least'} ${limit} ${unit}${limit === 1 ? '' : 's'}${issue.origin === 'array' ? ` after validation, not ${size}` : ''}`
    }
    case 'invalid_value':
      return `Input should be ${listed(issue.values, 'or')}`
    case 'invalid_format':
      return `String should match pattern '${patternOf(issue)}'`
    default:
      return issue.message
  }
}

/** Returns the nearest allowed value; for a decimal bound, returns the bound itself. */
function limitOf(issue: Extract<Issue, { code: 'too_big' | 'too_small' }>): number {
  const limit = Number(issue.code === 'too_big' ? issue.maximum : issue.minimum)
  if (issue.inclusive !== false || !Number.isInteger(issue.input)) return limit
  return issue.code === 'too_big' ? limit - 1 : limit + 1
}

const typeName = (input: unknown): string =>
  input === null ? 'null' : Array.isArray(input) ? 'array' : Number.isInteger(input) ? 'int' : typeof input

/**
 * Formats a list: `'a'`, `'a' or 'b'`, `'a', 'b' or 'c'`; OpenAI puts a comma before "and" in lists of three
 * or more.
 */
function listed(values: readonly unknown[], word: 'and' | 'or'): string {
  const quoted = values.map((value) => `'${String(value)}'`)
  if (quoted.length < 2) return quoted.join('')
  const comma = word === 'and' && quoted.length > 2 ? ',' : ''
  return `${quoted.slice(0, -1).join(', ')}${comma} ${word} ${quoted.at(-1)}`
}

const patternOf = (issue: Issue): string =>
  ('pattern' in issue ? String(issue.pattern) : '').replace(/^\/|\/[a-z]*$/g, '')

/**
 * Validates an object by the schema for its `type`; other types are accepted. `unnamed` is the type of an
 * object without a `type`. A discriminated union would reject other types, and a plain union would not name
 * the invalid field.
 */
export const byType = (kinds: Readonly<Record<string, z.ZodObject>>, unnamed?: string) =>
  z
    .looseObject({ type: unnamed === undefined ? z.string() : z.string().nullish() })
    .superRefine((value, context) => {
      const type = value.type ?? unnamed ?? ''
      const kind = Object.hasOwn(kinds, type) ? kinds[type] : undefined
      for (const issue of kind?.safeParse(value, { reportInput: true }).error?.issues ?? [])
        context.addIssue({ ...issue } as z.core.$ZodSuperRefineIssue)
    })

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
