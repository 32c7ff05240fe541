// Converts a Responses request to blocks. Format: OpenAI API reference, "Responses"; tools as Codex offers
// them. Reports the losses that occur in every dialect. Never throws for an unknown format.
import type { Loss, Losses } from '../../core/losses.ts'
import {
  type Conversation,
  type Extra,
  extrasOf,
  type Format,
  NO_SAMPLING,
  type Tool,
  type ToolChoice,
  type Turn,
} from '../blocks.ts'
import { isObject, type Json, listOrEmpty, member, numberOf, textOf } from '../json.ts'
import { addedTools, partOfItem, SEARCH } from './blocks-items.ts'

export const FAMILY = 'openai'

const READ = new Set(
  'model stream stream_options instructions input max_output_tokens temperature top_p tools tool_choice parallel_tool_calls reasoning text user include'.split(
    ' ',
  ),
)
const FIELDS: Readonly<Record<string, Loss>> = {
  metadata: 'metadata',
  client_metadata: 'metadata',
  service_tier: 'service_tier',
  store: 'store',
  background: 'store',
  conversation: 'store',
  previous_response_id: 'store',
  prompt: 'store',
  prompt_cache_key: 'prompt_cache',
  prompt_cache_retention: 'prompt_cache',
  prompt_cache_options: 'prompt_cache',
  safety_identifier: 'safety_identifier',
  moderation: 'safeguards',
  top_logprobs: 'logprobs',
  truncation: 'context_management',
  context_management: 'context_management',
  max_tool_calls: 'tool.server',
}

export function parseRequest(json: Json, _request: unknown, losses: Losses): Conversation {
  const { instructions, input, tools, tool_choice: choice, reasoning, text } = json
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : listOrEmpty(input)
  const added = items.map(addedTools)
  const prompt: Turn[] =
    typeof instructions === 'string' && instructions !== ''
      ? [{ role: 'system', blocks: [{ type: 'text', text: instructions }] }]
      : []
  const effort = member(reasoning, 'effort')
  nameIncluded(json.include, losses)
  if (saysMore(reasoning)) losses.add('thinking.context')
  return {
    turns: [
      ...prompt,
      ...joined(items.filter((_, at) => !added[at]).map((item) => partOfItem(item, losses, FAMILY))),
    ],
    // Tools that an item adds or a search finds can be called in all later turns.
    tools: named([...listOrEmpty(tools), ...items.flatMap((item, at) => added[at] ?? foundBy(item))], losses),
    choice: choiceOf(choice, losses),
    parallel: typeof json.parallel_tool_calls === 'boolean' ? json.parallel_tool_calls : null,
    maxTokens: numberOf(json.max_output_tokens),
    stop: [],
    sampling: { ...NO_SAMPLING, temperature: numberOf(json.temperature), topP: numberOf(json.top_p) },
    reasoning: {
      effort: typeof effort === 'string' ? effort : null,
      budget: null,
      on: wishesToSee(reasoning),
    },
    format: formatOf(member(text, 'format'), losses),
    user: typeof json.user === 'string' ? json.user : null,
    extras: [...extrasOf(json, FAMILY, READ, FIELDS).filter(isSaying), ...verbosityOf(text)],
  }
}

/** Returns true if a request asks to show reasoning but names no effort. Such a request needs some reasoning. */
const wishesToSee = (reasoning: unknown): true | null =>
  member(reasoning, 'effort') == null && member(reasoning, 'summary') != null ? true : null

/** Returns true if the request selects the reasoning that the model sees, or the mode of reasoning. */
const saysMore = (reasoning: unknown): boolean =>
  ![undefined, null, 'auto'].includes(member(reasoning, 'context') as string) ||
  ![undefined, null, 'standard'].includes(member(reasoning, 'mode') as string)

/** Returns false for a setting without effect. Omitting it is no loss. */
const isSaying = ({ name, value }: Extra): boolean =>
  !(['store', 'background'].includes(name) && value === false) &&
  !(name === 'truncation' && value === 'disabled')

const verbosityOf = (text: unknown): Extra[] => {
  const value = member(text, 'verbosity')
  return value == null ? [] : [{ owner: FAMILY, name: 'verbosity', value, loss: 'verbosity' }]
}

/** Reports losses of `include`. Encrypted reasoning is always included. */
function nameIncluded(include: unknown, losses: Losses): void {
  for (const each of listOrEmpty(include))
    if (/logprobs/.test(String(each))) losses.add('logprobs')
    else if (each !== 'reasoning.encrypted_content') losses.add('tool.server')
}

/** Joins the assistant's successive items into one turn, and successive tool results into another. */
function joined(parts: readonly Turn[]): Turn[] {
  const turns: { role: Turn['role']; blocks: Turn['blocks'][number][]; isJoined: boolean }[] = []
  for (const { role, blocks } of parts) {
    const isJoined = role === 'assistant' || blocks.every(({ type }) => type === 'result')
    const last = turns.at(-1)
    if (last?.role === role && last.isJoined && isJoined) last.blocks.push(...blocks)
    else turns.push({ role, blocks: [...blocks], isJoined })
  }
  return turns.map(({ role, blocks }) => ({ role, blocks }))
}

const foundBy = (item: unknown): readonly unknown[] =>
  member(item, 'type') === 'tool_search_output' ? listOrEmpty(member(item, 'tools')) : []

/** Returns each tool once, since a repeated search finds the same tools again. */
function named(tools: readonly unknown[], losses: Losses): Tool[] {
  const byName = new Map<string, Tool>()
  for (const tool of tools.flatMap((each) => toolsOf(each, losses)))
    byName.set(JSON.stringify([tool.namespace, tool.name]), tool)
  return [...byName.values()]
}

function toolsOf(tool: unknown, losses: Losses): Tool[] {
  if (!isObject(tool)) return lost(losses, 'unknown.tool')
  const { type, name, description, tools } = tool
  if (type !== 'namespace') return toolOf(tool, null, null, losses)
  // A group's settings apply to each of its tools.
  return listOrEmpty(tools).flatMap((each) =>
    isObject(each)
      ? toolOf(each, textOf(name), textOf(description) || null, losses)
      : lost(losses, 'unknown.tool'),
  )
}

function toolOf(
  { type, name, description, parameters, strict, format, defer_loading: defer, execution }: Json,
  namespace: string | null,
  ofGroup: string | null,
  losses: Losses,
): Tool[] {
  const own = typeof description === 'string' ? description : null
  const described = ofGroup === null ? own : [ofGroup, own].filter((each) => each !== null).join('\n\n')
  const base = { name: textOf(name), namespace, description: described, strict: null }
  const schema = isObject(parameters) ? parameters : {}
  if (defer === true) losses.add('tool.search')
  if (type === 'function')
    // Tools in other dialects are not strict by default.
    return [{ ...base, kind: 'function', schema, strict: strict === true ? true : null }]
  if (type === 'custom') {
    const grammar = format == null || member(format, 'type') === 'text' ? {} : { grammar: format }
    return [{ ...base, kind: 'custom', schema: null, ...grammar }]
  }
  if (type === 'tool_search' && execution !== 'server')
    return [{ ...base, kind: 'search', name: SEARCH, schema }]
  return lost(losses, kindOf(textOf(type)))
}

/**
 * Returns the loss for a tool. Only OpenAI's models know client tools by their type; the provider runs all
 * other typed tools.
 */
const kindOf = (type: string): Loss =>
  /^tool_search/.test(type)
    ? 'tool.search'
    : /^(local_shell|shell|apply_patch|computer)/.test(type)
      ? 'tool.builtin'
      : /search|code_interpreter|image_generation|mcp|programmatic/.test(type)
        ? 'tool.server'
        : 'unknown.tool'

function lost(losses: Losses, word: Loss): [] {
  losses.add(word)
  return []
}

function choiceOf(choice: unknown, losses: Losses): ToolChoice | null {
  if (choice == null) return null
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { type: choice }
  const { type, name, namespace, mode } = isObject(choice) ? choice : {}
  if ((type === 'function' || type === 'custom') && typeof name === 'string')
    return { type: 'tool', name, namespace: typeof namespace === 'string' ? namespace : null }
  losses.add('tool_choice')
  return mode === 'required' ? { type: 'required' } : null
}

function formatOf(format: unknown, losses: Losses): Format | null {
  const type = member(format, 'type')
  if (format == null || type === 'text') return null
  if (type === 'json_object') return { type: 'json' }
  const { name, schema, strict } = format as Json
  if (type === 'json_schema' && isObject(schema))
    return {
      type: 'schema',
      name: typeof name === 'string' ? name : null,
      schema,
      strict: typeof strict === 'boolean' ? strict : null,
    }
  losses.add('format')
  return null
}
