// Sums of a ledger: calls, tokens, cost, problems. Tokens are as reported by the answers; the cost is
// computed with the prices of the day. Has its own reader of usage, so that it does not share a mistake with
// the gateway under test.
import { createRequire } from 'node:module'
import type { calcPrice as CalcPrice } from '@pydantic/genai-prices'
import type { LedgerEntry } from '../ledger.ts'
import { providers } from '../providers/registry.ts'

export interface LedgerSum {
  /** Inferences that arrived, including refused inferences. */
  readonly calls: number
  /** Inferences with an answer that was an error or broke off. */
  readonly failed: number
  readonly input_tokens: number
  readonly output_tokens: number
  /** US dollars. */
  readonly cost: number
  /** Answers without reported tokens or without a known price; the cost excludes them. */
  readonly without_cost: number
  /** Problems that the providers would have reported, each listed once. */
  readonly problems: readonly string[]
  /** Calls without a matching recording. */
  readonly without_recording: number
}

interface Tokens {
  readonly input: number
  readonly output: number
  readonly cached: number
  readonly written: number
}

export function sumOf(entries: readonly LedgerEntry[]): LedgerSum {
  const calls = entries.filter(({ kind }) => kind === 'inference')
  const good = calls.filter(({ answer }) => answer.complete && answer.status !== null && answer.status < 400)
  const tokens = good.map(({ answer }) => tokensOfAnswer(answer.body ?? ''))
  const costs = good.map((entry, i) => costOf(entry, tokens[i]!))
  const sum = (numbers: readonly (number | null | undefined)[]) =>
    numbers.reduce<number>((all, one) => all + (one ?? 0), 0)
  return {
    calls: calls.length,
    failed: calls.length - good.length,
    input_tokens: sum(tokens.map((each) => each?.input)),
    output_tokens: sum(tokens.map((each) => each?.output)),
    cost: Number(sum(costs).toPrecision(12)),
    without_cost: costs.filter((cost) => cost === null).length,
    problems: [...new Set(calls.flatMap(({ problems }) => problems))],
    without_recording: calls.filter(({ answer }) => answer.from === 'no recording').length,
  }
}

/** Loads the price table on demand, because it is large. */
let calcPrice: typeof CalcPrice | undefined

/** Returns the cost of a call, US dollars; null if its tokens or its price are unknown. */
function costOf({ provider, model, at }: LedgerEntry, tokens: Tokens | null): number | null {
  if (!tokens || model === null) return null
  calcPrice ??= (createRequire(import.meta.url)('@pydantic/genai-prices') as { calcPrice: typeof CalcPrice })
    .calcPrice
  const { input, output, cached, written } = tokens
  const usage = {
    input_tokens: input,
    output_tokens: output,
    cache_read_tokens: cached,
    cache_write_tokens: written,
  }
  try {
    const providerApiUrl = providers.find(({ name }) => name === provider)?.origin
    const found = calcPrice(usage, model, {
      timestamp: new Date(at),
      ...(providerApiUrl && { providerApiUrl }),
    })
    return found?.total_price ?? null
  } catch {
    return null // counts that contradict each other
  }
}

type Json = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null

/** Reads the tokens reported in an answer, whole or streamed, in any dialect; null if the answer has none. */
export function tokensOfAnswer(body: string): Tokens | null {
  const texts = /^\s*[{[]/.test(body)
    ? [body]
    : [...body.matchAll(/^data: ?(.*)$/gm)].map(([, data]) => data!)
  const usages = texts.map(parsed).flatMap((event) =>
    [event, event?.message, event?.response]
      .filter(isObject)
      .flatMap(({ usage, usageMetadata }) => [usage, usageMetadata])
      .filter(isObject),
  )
  if (usages.length === 0) return null
  const usage = Object.assign({}, ...usages) as Json // later counts of a stream replace earlier counts
  const count = (...names: readonly string[]) =>
    Number(names.map((name) => usage[name]).find(Number.isFinite) ?? 0)
  const cached = ['prompt_tokens_details', 'input_tokens_details']
    .map((name) => usage[name])
    .find(isObject)?.cached_tokens
  // Anthropic's cached tokens are not included in the input tokens.
  const [read, written] = [count('cache_read_input_tokens'), count('cache_creation_input_tokens')]
  return {
    input: count('prompt_tokens', 'input_tokens', 'promptTokenCount') + read + written,
    output: count('completion_tokens', 'output_tokens', 'candidatesTokenCount') + count('thoughtsTokenCount'),
    cached: read || Number(cached ?? usage.cachedContentTokenCount ?? 0),
    written,
  }
}

function parsed(text: string): Json | null {
  try {
    const json: unknown = JSON.parse(text)
    return isObject(json) ? json : null
  } catch {
    return null
  }
}
