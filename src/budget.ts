// What a call may cost before its usage is known: its input is estimated, its output is the maximum that it asks for. A
// budget sets this aside while the call is open, and charges it if no cost is reported. Pure.
import type { Target } from './call.ts'
import type { Pricer } from './pricing.ts'
import { binaryParts } from './token-estimate.ts'

/** Output tokens of a call that does not say how many it wants. */
export const DEFAULT_OUTPUT = 4_096
/** Input tokens of a picture, a sound or a file. */
const BINARY_TOKENS = 1_500

/** What is set aside for an open call of a key with a budget. */
export interface Claim {
  readonly callId: string
  readonly keyName: string
  /** US dollars, at the dearest of its targets. */
  readonly usd: number
  /** What its input costs at a target, or all of it, US dollars; 0 where the target has no known price. */
  costAt(target: Pick<Target, 'provider' | 'model'>, part: 'input' | 'all'): number
}

export interface ClaimOptions {
  readonly callId: string
  readonly keyName: string
  readonly targets: readonly Target[]
  /** Estimate of the request's texts. */
  readonly textTokens: number
  readonly body: Readonly<Record<string, unknown>>
  readonly price: Pricer
  /** Milliseconds since the epoch. */
  readonly at: number
}

export function claimOf({ callId, keyName, targets, textTokens, body, price, at }: ClaimOptions): Claim {
  const input = textTokens + BINARY_TOKENS * binaryParts(body)
  const output = mostOutput(body)
  const images = largest([body.n]) ?? 1
  const costAt: Claim['costAt'] = (target, part) =>
    price(
      target,
      { ...NOTHING, input, output: part === 'all' ? output : 0, images: part === 'all' ? images : 0 },
      at,
    ).usd ?? 0
  return { callId, keyName, usd: Math.max(...targets.map((target) => costAt(target, 'all'))), costAt }
}

const NOTHING = { cached_input: null, cache_write: null, reasoning: null }

/** Whether a target's price is known. */
export const isPriced = (price: Pricer, target: Target, at: number): boolean =>
  price(target, { ...NOTHING, input: 1, output: 1, images: 1 }, at).usd !== null

/** The names that the dialects have for the most output tokens. */
const MOST = ['max_completion_tokens', 'max_output_tokens', 'max_tokens']

/** A call may say so more than once, and providers differ in which one they heed: the largest counts. */
function mostOutput(body: ClaimOptions['body']): number {
  const gemini = (body.generationConfig ?? {}) as { maxOutputTokens?: unknown; candidateCount?: unknown }
  const most = largest([...MOST.map((name) => body[name]), gemini.maxOutputTokens]) ?? DEFAULT_OUTPUT
  return most * (largest([body.n, gemini.candidateCount]) ?? 1)
}

/** Some providers take a number in quotes, too. */
const largest = (values: readonly unknown[]): number | null => {
  const counts = values.map((value) => (typeof value === 'string' ? Number(value) : value)).filter(isCount)
  return counts.length > 0 ? Math.max(...counts) : null
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0
