// Reads a provider's request into one form for all dialects, so that a request and its translation can be
// compared. Pure.
import type { DialectName } from '../../dialects/dialect.ts'
import type { Exchange } from '../../evidence/evidence.ts'
import type { AnyJson } from '../../evidence/reading.ts'

export interface AskedFor {
  /** Instructions: texts before the conversation. */
  readonly instructions: string
  /** Role and text of each turn that has text. */
  readonly turns: readonly string[]
  readonly tools: readonly { readonly name: string; readonly description: string; readonly schema: unknown }[]
  /** `auto`, `any`, `none`, or the name of a tool; null if absent. */
  readonly choice: string | null
  /** True if parallel calls are allowed; null if absent. */
  readonly parallel: boolean | null
  readonly limit: unknown
  readonly temperature: unknown
  readonly top_p: unknown
  readonly stop: readonly unknown[]
  /** Sources of images: URLs, including `data:`. */
  readonly images: readonly string[]
  /** Calls in the history, and results by call id. */
  readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[]
  readonly results: ReadonlyMap<string, string>
}

const listOf = (value: unknown): AnyJson[] =>
  (Array.isArray(value) ? value : []).filter((each) => typeof each === 'object' && each !== null)

/** Returns a text or the joined texts of parts. */
const textOf = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : listOf(content)
        .map((part) => (typeof part.text === 'string' ? part.text : ''))
        .join('')

const turn = (role: string, content: unknown): string[] => {
  const text = textOf(content)
  return text === '' ? [] : [`${role}: ${text}`]
}

const isAbove = (role: unknown): boolean => role === 'system' || role === 'developer'

const settings = ({ temperature, top_p }: AnyJson) => ({ temperature, top_p })

/** Reads the tool choice of chat and Responses. A forced tool is named in `function` or at the top level. */
const choiceOf = (choice: AnyJson | string | undefined): string | null =>
  typeof choice === 'string'
    ? choice === 'required'
      ? 'any'
      : choice
    : (choice?.function?.name ?? choice?.name ?? null)

function ofChat(body: AnyJson): AskedFor {
  const messages = listOf(body.messages)
  const above = messages.filter(({ role }) => isAbove(role))
  const parts = messages.flatMap(({ content }) => listOf(content))
  return {
    instructions: above.map(({ content }) => textOf(content)).join('\n'),
    turns: messages
      .filter(({ role }) => role === 'user' || role === 'assistant')
      .flatMap(({ role, content }) => turn(role, content)),
    tools: listOf(body.tools).flatMap(({ function: tool }) =>
      tool ? [{ name: tool.name, description: tool.description ?? '', schema: tool.parameters }] : [],
    ),
    choice: choiceOf(body.tool_choice),
    parallel: body.parallel_tool_calls ?? null,
    limit: body.max_completion_tokens ?? body.max_tokens,
    ...settings(body),
    stop: [body.stop ?? []].flat(),
    images: parts.flatMap(({ image_url }) => (image_url ? [String(image_url.url ?? image_url)] : [])),
    calls: messages
      .flatMap(({ tool_calls }) => listOf(tool_calls))
      .map(({ id, function: called }) => ({ id, name: called?.name, arguments: called?.arguments })),
    results: new Map(
      messages
        .filter(({ role }) => role === 'tool')
        .map(({ tool_call_id, content }) => [tool_call_id, textOf(content)]),
    ),
  }
}

function ofMessages(body: AnyJson): AskedFor {
  const messages = listOf(body.messages)
  const blocks = messages.flatMap(({ content }) => listOf(content))
  const of = (type: string) => blocks.filter((block) => block.type === type)
  const inner = of('tool_result').flatMap(({ content }) => listOf(content))
  const { type, name, disable_parallel_tool_use } = body.tool_choice ?? {}
  const above = messages.filter(({ role }) => isAbove(role))
  return {
    instructions: [body.system, ...above.map(({ content }) => content)].map(textOf).join('\n'),
    turns: messages.filter(({ role }) => !isAbove(role)).flatMap(({ role, content }) => turn(role, content)),
    tools: listOf(body.tools).map((tool) => ({
      ...{ name: tool.name, description: tool.description ?? '', schema: tool.input_schema },
    })),
    choice: type === 'tool' ? name : (type ?? null),
    parallel: typeof disable_parallel_tool_use === 'boolean' ? !disable_parallel_tool_use : null,
    limit: body.max_tokens,
    ...settings(body),
    stop: [body.stop_sequences ?? []].flat(),
    images: [...of('image'), ...inner.filter((each) => each.type === 'image')].map(({ source }) =>
      source?.type === 'base64' ? `data:${source.media_type};base64,${source.data}` : String(source?.url),
    ),
    calls: of('tool_use').map(({ id, name: called, input }) => ({
      ...{ id, name: called, arguments: JSON.stringify(input) },
    })),
    results: new Map(of('tool_result').map(({ tool_use_id, content }) => [tool_use_id, textOf(content)])),
  }
}

function ofResponses(body: AnyJson): AskedFor {
  const items =
    typeof body.input === 'string' ? [{ role: 'user', content: body.input } as AnyJson] : listOf(body.input)
  const of = (type: string) => items.filter((item) => item.type === type)
  const messages = items.filter(({ type, role }) => type === 'message' || (type === undefined && role))
  const above = messages.filter(({ role }) => isAbove(role))
  const parts = [
    ...messages.map(({ content }) => content),
    ...of('function_call_output').map((each) => each.output),
  ]
  return {
    instructions: [body.instructions, ...above.map(({ content }) => content)].map(textOf).join('\n'),
    turns: messages.filter(({ role }) => !isAbove(role)).flatMap(({ role, content }) => turn(role, content)),
    tools: listOf(body.tools)
      .filter(({ type }) => type === 'function')
      .map(({ name, description, parameters }) => ({
        ...{ name, description: description ?? '', schema: parameters },
      })),
    choice: choiceOf(body.tool_choice),
    parallel: body.parallel_tool_calls ?? null,
    limit: body.max_output_tokens,
    ...settings(body),
    stop: [],
    images: parts
      .flatMap(listOf)
      .flatMap(({ image_url }) => (image_url ? [String(image_url.url ?? image_url)] : [])),
    calls: of('function_call').map(({ call_id, name, arguments: args }) => ({
      ...{ id: call_id, name, arguments: args },
    })),
    results: new Map(of('function_call_output').map(({ call_id, output }) => [call_id, textOf(output)])),
  }
}

const READERS: Readonly<Partial<Record<DialectName, (body: AnyJson) => AskedFor>>> = {
  chat: ofChat,
  messages: ofMessages,
  responses: ofResponses,
}

/** Returns null for an unknown dialect. */
export const askedFor = (dialect: DialectName, body: unknown): AskedFor | null =>
  READERS[dialect]?.((body ?? {}) as AnyJson) ?? null

/** Returns true if a header of the answer names a loss in translation. */
export const namesLoss = ({ headers }: Exchange): boolean =>
  Object.entries(headers).some(([name, value]) => /loss|dropped|warning/.test(name) && value !== '')
