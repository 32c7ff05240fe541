// Compares the parts of a conversation or an answer on both sides of a translation, by kind. Maps each kind
// of difference to the losses that explain it. For tests.
import { isDeepStrictEqual } from 'node:util'
import { NO_TOKENS, type Tokens } from '../core/call.ts'
import type { Loss } from '../core/losses.ts'
import type { Block, CallBlock, Conversation, Turn } from './blocks.ts'
import type { Read } from './test-crossing.ts'
import { argumentsOf } from './tools.ts'

export type Kind =
  | 'text'
  | 'calls'
  | 'arguments'
  | 'results'
  | 'media'
  | 'reasoning'
  | 'sealed'
  | 'tools'
  | 'choice'
  | 'limits'
  | 'sampling'
  | 'effort'
  | 'format'
  | 'fields'
  | 'stop'
  | 'usage'

const ACCOUNTS: Readonly<Record<Kind, readonly Loss[]>> = {
  text: [
    'attribution',
    'system.place',
    'document',
    'tool_result.error',
    'tool_result.media',
    'order',
    'refusal',
    'role.developer',
    'citations',
    'name',
  ],
  calls: ['tool.server', 'tool.id', 'unknown.block'],
  arguments: ['tool.server', 'tool.arguments', 'unknown.block'],
  results: [
    'turns',
    'tool_result.error',
    'tool_result.media',
    'document',
    'tool.server',
    'tool.search',
    'unknown.block',
  ],
  media: ['tool_result.media', 'document', 'document.title', 'image', 'image.detail', 'file', 'audio'],
  reasoning: ['thinking.late', 'thinking.text', 'order'],
  sealed: ['thinking.late', 'thinking.signature'],
  tools: [
    'tool.server',
    'tool.builtin',
    'tool.options',
    'schema',
    'tool.search',
    'tool.custom.grammar',
    'unknown.tool',
  ],
  choice: ['tool_choice'],
  limits: ['stop', 'max_tokens'],
  sampling: ['sampling.temperature', 'sampling.top_k', 'sampling.seed', 'sampling.penalties'],
  effort: ['effort', 'thinking.budget', 'thinking.off'],
  format: ['format', 'format.name', 'schema'],
  fields: [],
  stop: ['stop_reason', 'stop_sequence'],
  usage: ['usage'],
}

export interface Finding {
  readonly kind: Kind
  readonly result: 'equal' | 'named' | 'silent'
  readonly before: unknown
  readonly after: unknown
}

type Facts = Partial<Record<Kind, unknown>>

function judged(before: Facts, after: Facts, losses: readonly Loss[]): Finding[] {
  return (Object.keys(before) as Kind[])
    .filter((kind) => !isEmpty(before[kind]))
    .map((kind) => {
      const [was, is] = [before[kind], after[kind]]
      const isNamed = ACCOUNTS[kind].some((word) => losses.includes(word))
      const result = isDeepStrictEqual(was, is) ? 'equal' : isNamed ? 'named' : 'silent'
      return { kind, result, before: was, after: is }
    })
}

const isEmpty = (fact: unknown): boolean =>
  fact === null || fact === undefined || (Array.isArray(fact) && fact.every(isEmpty)) || fact === ''

/** Compares a request before and after a translation. */
export function compareRequests(
  before: Conversation,
  after: Conversation,
  losses: readonly Loss[],
): Finding[] {
  const findings = judged(factsOf(before), factsOf(after), losses)
  for (const { owner, name, value, loss } of before.extras) {
    const there = after.extras.find((each) => each.owner === owner && each.name === name)
    const result = isDeepStrictEqual(there?.value, value)
      ? 'equal'
      : losses.includes(loss)
        ? 'named'
        : 'silent'
    findings.push({ kind: 'fields', result, before: name, after: there?.value })
  }
  return findings
}

function factsOf({
  turns,
  tools,
  choice,
  parallel,
  maxTokens,
  stop,
  sampling,
  reasoning,
  format,
}: Conversation): Facts {
  const blocks = turns.flatMap((turn) => turn.blocks)
  const { topK, temperature, ...others } = sampling
  return {
    text: textsOf(turns),
    ...factsOfBlocks(blocks),
    results: blocks.flatMap((block) =>
      block.type === 'result' ? [[block.id, textIn(block.blocks), block.error]] : [],
    ),
    tools: tools.map(({ kind, name, description, schema, strict }) => [
      kind,
      name,
      description,
      schema && { type: 'object', ...schema },
      strict ?? false,
    ]),
    choice: tools.length > 0 ? [choice ?? { type: 'auto' }, choice?.type === 'none' ? null : parallel] : null,
    limits: [maxTokens, [...stop]],
    // Every provider's default is 1.
    sampling: [topK, temperature === 1 ? null : temperature, ...Object.values(others)],
    effort: [reasoning.effort, reasoning.budget, reasoning.on],
    format,
  }
}

/** Returns texts by role. Consecutive turns with the same role are joined. */
function textsOf(turns: readonly Turn[]): string[] {
  const texts: { role: string; text: string }[] = []
  for (const { role, blocks } of turns) {
    const text = textIn(blocks)
    if (text === '') continue
    const last = texts.at(-1)
    if (last?.role === role) last.text += `\n\n${text}`
    else texts.push({ role, text })
  }
  return texts.map(({ role, text }) => `${role}: ${text}`)
}

const textIn = (blocks: readonly Block[]): string =>
  blocks.flatMap((block) => (block.type === 'text' && block.text !== '' ? [block.text] : [])).join('\n\n')

function factsOfBlocks(all: readonly Block[]): Facts {
  const blocks = all.flatMap((block) => (block.type === 'result' ? [block, ...block.blocks] : [block]))
  const calls = blocks.filter((block): block is CallBlock => block.type === 'call')
  const reasoning = blocks.flatMap((block) => (block.type === 'reasoning' ? [block] : []))
  return {
    calls: calls.map(({ id, name, namespace, kind }) => [
      MADE_UP.test(id) ? 'made up' : id,
      name,
      namespace,
      kind,
    ]),
    arguments: calls.map(({ kind, args }) => (kind === 'custom' ? args : JSON.stringify(argumentsOf(args)))),
    media: blocks.flatMap((block) =>
      block.type === 'image' || block.type === 'document' ? [block.source] : [],
    ),
    reasoning: reasoning.flatMap(({ text }) => (text === '' ? [] : [text])).join('\n\n'),
    sealed: reasoning.flatMap(({ opaque }) => (opaque && opaque.bytes !== '' ? [opaque] : [])),
  }
}

/** Generated id for a call without an id (`newCallId`). The id differs at each reading. */
const MADE_UP = /^call_[0-9a-f]{24}$/

/**
 * Returns the usage to compare. Some providers report more cached tokens than input tokens. A missing count equals zero,
 * because clients need a number. `served` exists only in the record.
 */
function usageOf({ served, source, ...tokens }: Tokens): object {
  const counts = Object.entries(tokens).map(([name, count]) => [name, count || 0])
  const usage = { cache_write_1h: 0, ...Object.fromEntries(counts) }
  return { ...usage, cached_input: Math.min(usage.cached_input, usage.input || usage.cached_input) }
}

/** Compares an answer before and after a translation. */
export function compareAnswers(before: Read, after: Read, losses: readonly Loss[]): Finding[] {
  const facts = ({ blocks, stop, sequence, tokens }: Read): Facts => ({
    text: blocks.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join(''),
    ...factsOfBlocks(blocks),
    stop: [stop, sequence],
    usage: usageOf(tokens ?? NO_TOKENS),
  })
  return judged(facts(before), facts(after), losses)
}
