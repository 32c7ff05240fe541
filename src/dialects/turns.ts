// Puts the turns of a conversation into a sequence that every provider accepts: each call has one result, each result
// has its call, and results come directly after their calls. Independent of the particular dialects.
import type { Losses } from '../core/losses.ts'
import { type Block, type CallBlock, type ResultBlock, type Turn, textOfBlocks } from './blocks.ts'

/** Text in place of a result that the client does not send. */
const NO_RESULT = 'No result was returned.'

/** Text of a turn that must come before the assistant's first. */
const BEGIN = '(The conversation continues.)'

const isCall = (block: Block): block is CallBlock => block.type === 'call'
const isResult = (block: Block): block is ResultBlock => block.type === 'result'

interface Run {
  readonly isAssistant: boolean
  readonly turns: Turn[]
}

/**
 * Returns the turns with a result for each call, directly after it, and without results that have no call. Such a
 * result becomes a text. Reports `turns` if something is moved, added or changed.
 */
export function withPairedCalls(turns: readonly Turn[], losses: Losses): readonly Turn[] {
  if (!turns.some(({ blocks }) => blocks.some((block) => isCall(block) || isResult(block)))) return turns
  const runs: Run[] = []
  for (const turn of turns) {
    const isAssistant = turn.role === 'assistant'
    const last = runs.at(-1)
    if (last?.isAssistant === isAssistant) last.turns.push(turn)
    else runs.push({ isAssistant, turns: [turn] })
  }
  const late = lateResults(runs)
  return runs.flatMap((run, at) => {
    if (run.isAssistant) return run.turns
    const before = runs[at - 1]
    return completed(run, before ? callsOf(before) : [], late, losses)
  })
}

const callsOf = ({ turns }: Run): readonly CallBlock[] => turns.flatMap(({ blocks }) => blocks.filter(isCall))

interface Late {
  /** Results that come after another answer of the assistant, by the id of their call. */
  readonly results: ReadonlyMap<string, ResultBlock>
  /** Those that were moved to their calls. */
  readonly moved: Set<ResultBlock>
}

function lateResults(runs: readonly Run[]): Late {
  const results = new Map<string, ResultBlock>()
  for (const [at, run] of runs.entries()) {
    const before = runs[at - 1]
    const own = new Set(before && callsOf(before).map(({ id }) => id))
    for (const { blocks } of run.isAssistant ? [] : run.turns)
      for (const block of blocks) if (isResult(block) && !own.has(block.id)) results.set(block.id, block)
  }
  return { results, moved: new Set() }
}

/** Returns the turns after an answer with calls, with one result for each of them. */
function completed({ turns }: Run, calls: readonly CallBlock[], late: Late, losses: Losses): readonly Turn[] {
  const open = new Set(calls.map(({ id }) => id))
  const out = turns.map((turn) => ({
    ...turn,
    blocks: turn.blocks.flatMap((block): Block[] => {
      if (!isResult(block) || open.delete(block.id)) return [block]
      const [first] = open
      if (block.id === '' && first !== undefined) {
        open.delete(first)
        return [{ ...block, id: first }]
      }
      losses.add('turns')
      if (late.moved.has(block)) return []
      const others = block.blocks.filter(({ type }) => type !== 'text')
      if (others.length > 0) losses.add('tool_result.media')
      return [...textOf(block), ...others]
    }),
  }))
  if (open.size === 0) return out
  losses.add('turns')
  const results = [...open].map((id): Block => {
    const found = late.results.get(id)
    if (!found || late.moved.has(found))
      return { type: 'result', id, blocks: [{ type: 'text', text: NO_RESULT }], error: false }
    late.moved.add(found)
    return found
  })
  return [{ role: 'user', blocks: results }, ...out]
}

function textOf({ id, blocks }: ResultBlock): Block[] {
  const text = textOfBlocks(blocks)
  return text.trim() === '' ? [] : [{ type: 'text', text: `Result of the tool call ${id}:\n\n${text}` }]
}

/** Returns the turns with a user's turn at the beginning, which some providers require. */
export function beginningWithUser(turns: readonly Turn[], losses: Losses): readonly Turn[] {
  if (turns[0]?.role !== 'assistant') return turns
  losses.add('turns')
  return [{ role: 'user', blocks: [{ type: 'text', text: BEGIN }] }, ...turns]
}

/** Returns the turns without texts of only white space, and without turns that consist of them. */
export function withoutBlankTexts(turns: readonly Turn[]): readonly Turn[] {
  const isBlank = (block: Block) => block.type === 'text' && block.text.trim() === ''
  return turns
    .map((turn) => ({ ...turn, blocks: turn.blocks.filter((block) => !isBlank(block)) }))
    .filter(({ blocks }) => blocks.length > 0)
}
