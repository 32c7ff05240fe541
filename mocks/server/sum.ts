// Sums of a ledger: calls, tokens, cost, problems. The tokens are those that the answers report, read as the
// gateway reads them; the cost is what the calls would have cost at the providers' prices.
import { createParser } from 'eventsource-parser'
import type { UpstreamDialect } from '../../src/dialects/dialect.ts'
import { DIALECTS } from '../../src/dialects/registry.ts'
import { StreamEvent } from '../../src/dialects/stream-event.ts'
import type { mergeTokens } from '../../src/dialects/usage.ts'
import { createPricer, type Pricer } from '../../src/pricing/pricing.ts'
import type { LedgerEntry } from '../ledger.ts'
import { providers } from '../providers/registry.ts'

export interface LedgerSum {
  /** Inferences that arrived, with those that were refused. */
  readonly calls: number
  /** Of them, those whose answer was an error or broke off. */
  readonly failed: number
  readonly input_tokens: number
  readonly output_tokens: number
  /** US dollars. */
  readonly cost: number
  /** Answers that report no tokens, or whose model has no known price; they are not in the cost. */
  readonly without_cost: number
  /** What the providers would have complained about, once each. */
  readonly problems: readonly string[]
  /** Calls that no recording answered. */
  readonly without_recording: number
}

const NAMES: readonly (readonly [RegExp, keyof typeof DIALECTS])[] = [
  [/chat\/completions$/, 'chat'],
  [/^messages$/, 'messages'],
  [/^responses$/, 'responses'],
  [/embeddings$/, 'embeddings'],
  [/^images\//, 'images'],
  [/:(?:streamG|g)enerateContent$/, 'gemini'],
]

const priced: Pricer = createPricer({
  baseUrls: Object.fromEntries(providers.map(({ name, origin, basePaths }) => [name, origin + basePaths[0]])),
  own: {},
})

export function sumOf(entries: readonly LedgerEntry[]): LedgerSum {
  const calls = entries.filter(({ kind }) => kind === 'inference')
  const good = calls.filter(({ answer }) => answer.complete && answer.status !== null && answer.status < 400)
  const tokens = good.map(tokensOf)
  const costs = good.map(
    ({ provider, model, at }, i) => priced({ provider, model: model ?? '' }, tokens[i]!, at).usd,
  )
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

/** Reads the tokens of an answer; null if it reports none. */
function tokensOf({ endpoint, answer }: LedgerEntry): ReturnType<typeof mergeTokens> {
  const [, name] = NAMES.find(([path]) => path.test(endpoint)) ?? []
  const upstream: UpstreamDialect | undefined = name && DIALECTS[name].upstream
  if (!upstream || answer.body === null) return null
  try {
    return /^\s*[{[]/.test(answer.body)
      ? upstream.readAnswer(answer.body).tokens
      : streamed(upstream, answer.body)
  } catch {
    return null // an answer that a script made up
  }
}

function streamed(upstream: UpstreamDialect, body: string): ReturnType<typeof mergeTokens> {
  const stream = upstream.openStream()
  let tokens: ReturnType<typeof mergeTokens> = null
  const parser = createParser({
    onEvent: ({ event, data }) => {
      if (data !== '[DONE]') tokens = stream.read(new StreamEvent(event ?? '', data)).tokens ?? tokens
    },
  })
  parser.feed(body)
  return tokens
}
