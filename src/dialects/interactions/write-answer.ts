// Writes interactions for clients, whole and as a stream. Format: Gemini API reference, "Interactions" and "Streaming
// interactions".

import type { Tokens } from '../../core/call.ts'
import type { Losses } from '../../core/losses.ts'
import { chance } from '../../shared/chance.ts'
import { clock } from '../../shared/clock.ts'
import {
  type Answer,
  type Block,
  type BlockWriter,
  type Opaque,
  type Opened,
  packOpaque,
  type SerialEvent,
  type Stop,
} from '../blocks.ts'
import type { Json } from '../json.ts'
import { loseStop } from '../stops.ts'
import { argumentsOf, isReplaced, safeId } from '../tools.ts'

const STATUSES: Readonly<Record<Stop, string>> = {
  end: 'completed',
  length: 'incomplete',
  calls: 'requires_action',
  sequence: 'completed',
  refusal: 'incomplete',
  pause: 'incomplete',
  context: 'incomplete',
}

/** Returns the end of an interaction. No status stands for a refusal, so its error names it. */
function endOf(stop: Stop, losses: Losses): Json {
  loseStop(stop, losses)
  const errors = [{ code: 'content_filter', message: 'The provider refused to answer or to go on.' }]
  return { status: STATUSES[stop], ...(stop === 'refusal' && { errors }) }
}

export function writeAnswer({ id, model, blocks, stop, tokens }: Answer, losses: Losses): Json {
  const steps: Json[] = []
  for (const block of blocks)
    for (const step of stepsFor(block, losses)) {
      const last = steps.at(-1)
      if (step.type === 'model_output' && last?.type === 'model_output')
        (last.content as Json[]).push(...(step.content as Json[]))
      else steps.push(step)
    }
  return {
    ...begun(model, id),
    ...endOf(stop ?? 'end', losses),
    steps,
    ...(tokens && { usage: usageFor(tokens, losses) }),
  }
}

/** Returns a new interaction. Its id is the provider's, if a client may name it. */
function begun(model: string, id: string | null): Json {
  const at = `${new Date(clock.now()).toISOString().slice(0, 19)}Z`
  const own = id ?? `v1_wb_${chance.uuid().replaceAll('-', '')}`
  return { id: own, object: 'interaction', model, status: 'in_progress', created: at, updated: at }
}

function stepsFor(block: Block, losses: Losses): Json[] {
  switch (block.type) {
    case 'text':
      return block.text === ''
        ? []
        : [{ type: 'model_output', content: [{ type: 'text', text: block.text }] }]
    case 'reasoning':
      return [thoughtStep(block.text, block.opaque)]
    case 'call': {
      const args = argumentsOf(block.args)
      if (args === null) losses.add('tool.arguments')
      return [{ ...callStep(block, losses), arguments: args ?? { input: block.args } }]
    }
    case 'image': {
      const content = imageFor(block, losses)
      return content ? [{ type: 'model_output', content: [content] }] : []
    }
    default:
      losses.add(
        block.type === 'unknown' ? block.loss : block.type === 'document' ? 'document' : 'unknown.block',
      )
      return []
  }
}

/** Reasoning of any family travels packed, so that it can be returned to its own family only. */
const thoughtStep = (text: string, opaque: Opaque | null): Json => ({
  type: 'thought',
  signature: packOpaque(opaque ?? { family: '', bytes: '' }),
  ...(text !== '' && { summary: [{ type: 'text', text }] }),
})

function callStep({ id, name }: { readonly id: string; readonly name: string }, losses: Losses): Json {
  if (isReplaced(id)) losses.add('tool.id')
  return { type: 'function_call', id: safeId(id), name, arguments: {} }
}

function imageFor({ source }: Extract<Block, { type: 'image' }>, losses: Losses): Json | null {
  if (source.kind === 'base64') return { type: 'image', data: source.data, mime_type: source.mediaType }
  losses.add('image')
  return null
}

/** Converts token counts; Google counts thoughts beside the output. Omits unknown counts. */
function usageFor({ input, output, cached_input, cache_write, reasoning }: Tokens, losses: Losses): Json {
  // xAI does not include thoughts in its output.
  const beside = (reasoning ?? 0) > (output ?? 0) ? (reasoning ?? 0) : 0
  // Google does not count tokens written to a cache.
  if (cache_write || beside > 0) losses.add('usage')
  return {
    ...(input !== null && { total_input_tokens: input }),
    ...(cached_input !== null && { total_cached_tokens: cached_input }),
    ...(output !== null && { total_output_tokens: output + beside - (reasoning ?? 0) }),
    ...(reasoning !== null && { total_thought_tokens: reasoning }),
    ...(input !== null && output !== null && { total_tokens: input + output + beside }),
  }
}

export class InteractionsWriter implements BlockWriter {
  readonly #losses: Losses
  #interaction: Json = {}
  #seal: Opaque | null = null

  constructor(losses: Losses) {
    this.#losses = losses
  }

  write(said: SerialEvent): string {
    switch (said.type) {
      case 'start': {
        this.#interaction = begun(said.model, said.id)
        const { id, status } = this.#interaction
        return (
          event('interaction.created', { interaction: this.#interaction }) +
          event('interaction.status_update', { interaction_id: id, status })
        )
      }
      case 'open':
        this.#seal = null
        return event('step.start', { index: said.index, step: this.#opened(said.block) })
      case 'delta':
        return this.#delta(said.index, deltaFor(said.block, said.text))
      case 'seal':
        this.#seal = said.opaque
        return ''
      case 'close': {
        const signature = packOpaque(this.#seal ?? { family: '', bytes: '' })
        const seal =
          said.block.type === 'reasoning'
            ? this.#delta(said.index, { type: 'thought_signature', signature })
            : ''
        return seal + event('step.stop', { index: said.index })
      }
      case 'whole':
        return this.#whole(said.index, said.block)
      case 'end': {
        const updated = begun('', '').updated
        const usage = said.tokens ? { usage: usageFor(said.tokens, this.#losses) } : {}
        const interaction = { ...this.#interaction, ...endOf(said.stop, this.#losses), updated, ...usage }
        return `${event('interaction.completed', { interaction })}event: done\ndata: [DONE]\n\n`
      }
    }
  }

  #opened(block: Opened): Json {
    if (block.type === 'text') return { type: 'model_output' }
    return block.type === 'reasoning' ? { type: 'thought' } : callStep(block, this.#losses)
  }

  #delta(index: number, delta: Json): string {
    return event('step.delta', { index, delta })
  }

  #whole(index: number, block: Block): string {
    const [step] = stepsFor(block, this.#losses)
    if (!step) return ''
    const [content] = step.content as Json[]
    return (
      event('step.start', { index, step: { type: 'model_output' } }) +
      this.#delta(index, content!) +
      event('step.stop', { index })
    )
  }
}

const deltaFor = ({ type }: Opened, text: string): Json =>
  type === 'text'
    ? { type, text }
    : type === 'reasoning'
      ? { type: 'thought_summary', content: { type: 'text', text } }
      : { type: 'arguments_delta', arguments: text }

const event = (type: string, more: Json): string =>
  `event: ${type}\ndata: ${JSON.stringify({ ...more, event_type: type })}\n\n`
