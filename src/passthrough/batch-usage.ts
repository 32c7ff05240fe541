// Usage and cost of a batch: from the batch itself if OpenAI reports them there, otherwise from the lines of its
// results. Each request of a batch is priced separately, because some prices depend on a request's length.
import type { Target, Tokens } from '../core/call.ts'
import { addCosts, type KnownCost } from '../core/record.ts'
import { isObject, type Json, member, textOf, tokenCount } from '../dialects/json.ts'
import { tokensOf as messageTokens, usageOf } from '../dialects/messages/usage.ts'
import type { Pricer } from '../pricing/pricing.ts'
import { holdsMoreValues } from '../shared/bounded.ts'
import { BytePieces } from '../shared/byte-pieces.ts'
import { isOtherModel } from '../shared/model-names.ts'
import { answerTokens, reportedTokens } from './answer-facts.ts'

/** Maximum bytes of a result line that is read. */
const MAX_LINE_BYTES = 8 * 2 ** 20
/** Maximum JSON values of a result line that is read. */
const MAX_VALUES = 1_000_000

export interface BatchUsage {
  readonly model: string | null
  readonly tokens: Tokens | null
  readonly cost: KnownCost
}

/** Returns the cost of one request of a batch. */
type PriceOne = (model: string, tokens: Tokens) => KnownCost

/** Returns the price of a batch's requests at its provider. */
export const priceOfOne =
  (target: Pick<Target, 'provider' | 'model'>, price: Pricer, at: number): PriceOne =>
  (model, tokens) =>
    price(isOtherModel(target.model, model) ? { ...target, model } : target, tokens, at, model)

const FREE: BatchUsage = { model: null, tokens: null, cost: { usd: 0, missing: [] } }
const UNKNOWN: BatchUsage = { model: null, tokens: null, cost: { usd: null, missing: ['usage'] } }

/**
 * Returns the usage that OpenAI reports for a batch; null while the batch is running, or if only its output has the
 * usage.
 */
export function usageOfBatch(json: Json, priceOne: PriceOne): BatchUsage | null {
  if (!/^(completed|failed|expired|cancelled)$/.test(textOf(json.status))) return null
  const requests = tokenCount(member(json.request_counts, 'completed'))
  const ofPictures = textOf(json.endpoint).startsWith('/v1/images/')
  const sum = isObject(json.usage) ? reportedTokens(json.usage, ofPictures) : null
  if (requests === 0 || json.status === 'failed') return FREE
  if (!sum || !requests) return textOf(json.output_file_id) === '' ? UNKNOWN : null
  const tokens = inBatch(sum)
  const share = (count: number | null) => count && count / requests
  const { input, output, cached_input } = tokens
  const one = { input: share(input), output: share(output), cached_input: share(cached_input) }
  const { usd, missing } = priceOne(textOf(json.model), { ...tokens, ...one })
  return { model: textOf(json.model), tokens, cost: { usd: usd && usd * requests, missing } }
}

/** Adds up the usage in passing result lines. */
export class ResultLines {
  readonly #priceOne: PriceOne
  #model: string | null = null
  #tokens: Tokens | null = null
  #cost: KnownCost = FREE.cost
  readonly #line = new BytePieces()
  #bytes = 0
  /** Requests that were answered. */
  answered = 0

  constructor(priceOne: PriceOne) {
    this.#priceOne = priceOne
  }

  add(piece: Buffer): void {
    let from = 0
    for (let end = piece.indexOf(0x0a); end >= 0; end = piece.indexOf(0x0a, from)) {
      this.#keep(piece.subarray(from, end))
      this.#read()
      from = end + 1
    }
    this.#keep(piece.subarray(from))
  }

  /** Bytes that are kept. */
  get held(): number {
    return Math.min(this.#bytes, MAX_LINE_BYTES)
  }

  /** Returns the sums after the last line. */
  usage(): BatchUsage {
    this.#read()
    return { model: this.#model, tokens: this.#tokens, cost: this.#cost }
  }

  #keep(part: Buffer): void {
    this.#bytes += part.length
    if (this.#bytes <= MAX_LINE_BYTES) this.#line.add(part)
    else this.#line.clear()
  }

  #read(): void {
    if (this.#bytes > MAX_LINE_BYTES) this.#add(UNKNOWN.cost)
    else if (this.#bytes > 0) this.#count(this.#line.joined())
    this.#line.clear()
    this.#bytes = 0
  }

  #add(cost: KnownCost): void {
    this.#cost = addCosts(this.#cost, cost)
  }

  #count(bytes: Buffer): void {
    const line = bytes.toString('utf8')
    let json: unknown
    try {
      json = holdsMoreValues(bytes, MAX_VALUES) ? null : JSON.parse(line)
    } catch {
      json = null
    }
    if (json === null) {
      if (line.trim() !== '') this.#add(UNKNOWN.cost)
      return
    }
    const answer = answerIn(json)
    if (!answer) return // failed, cancelled or expired: not charged
    this.answered++
    const tokens = answer.tokens && inBatch(answer.tokens)
    if (!tokens) {
      this.#add(UNKNOWN.cost)
      return
    }
    this.#model ??= answer.model
    this.#tokens = this.#tokens ? sumOf(this.#tokens, tokens) : tokens
    this.#add(this.#priceOne(answer.model, tokens))
  }
}

/** Returns the model and the tokens in a result line of Anthropic's or OpenAI's; null without an answer. */
function answerIn(json: unknown): { readonly model: string; readonly tokens: Tokens | null } | null {
  const message = member(member(json, 'result'), 'message')
  if (isObject(message)) {
    const { model, usage, stop_reason } = message
    return {
      model: textOf(model),
      tokens: isObject(usage) ? messageTokens(usageOf(usage), stop_reason) : null,
    }
  }
  const response = member(json, 'response')
  const body = member(response, 'body')
  if (member(response, 'status_code') !== 200 || !isObject(body)) return null
  return { model: textOf(body.model), tokens: answerTokens(body) }
}

const inBatch = (tokens: Tokens): Tokens => ({
  ...tokens,
  served: { ...tokens.served, service_tier: 'batch' },
})

function sumOf(a: Tokens, b: Tokens): Tokens {
  const add = (x: number | null, y: number | null) => (x === null && y === null ? null : (x ?? 0) + (y ?? 0))
  return {
    source: 'reported',
    input: add(a.input, b.input),
    output: add(a.output, b.output),
    cached_input: add(a.cached_input, b.cached_input),
    cache_write: add(a.cache_write, b.cache_write),
    reasoning: add(a.reasoning, b.reasoning),
    served: { service_tier: 'batch' },
  }
}
