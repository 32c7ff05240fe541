// Usual calls of a route: their input and output, the calls that follow in the same conversation, and what a
// target makes of their input. Learned from calls that have ended; in memory, bounded, and lost at a restart.
import { recent } from '../shared/memory.ts'
import type { CachedTokens } from './conversations.ts'

/** Weight of a new call relative to all earlier ones. */
const NEW_CALL_WEIGHT = 0.1
/** Weight of a new call of the same conversation, and of a new observation of a cache, which is there or not. */
const NEAR_WEIGHT = 0.3
/** Maximum numbers of entries, because clients choose sessions. */
const MAX_CONVERSATIONS = 10_000
const MAX_TARGETS = 1_000
/** Number of calls after which earlier calls count half. */
const MAX_COUNTED = 1_000
/**
 * Calls of a conversation while no conversation has been seen. In `cheapest.test.ts`, 30 costs 0.9 % more than the lowest
 * cost in generated sessions and 0.8 % in recorded ones; 10 costs 0.5 % and 1.9 %, and 50 costs 1.1 % and 0.5 %.
 */
const FIRST_GUESS = { calls: 30, runs: 1 }
/**
 * Share of the usual further calls that is counted, because a conversation may end earlier, and may move without a loss
 * after a pause. In the sessions of `cheapest.test.ts`, half of them costs least: all of them costs 1 % more, and none
 * 28 % more.
 */
const COUNTED_SHARE = 0.5
/** Limits for reported tokens, because a wrong report would count for many calls: input relative to our estimate, output. */
const MAX_DENSITY = 10
const MAX_OUTPUT = 1_000_000
/** Tokens at which a call begins to say how a provider counts. Shorter calls are mostly what surrounds their text. */
const FEW_TOKENS = 2_000

/** Input and output of an ordinary call, as in common price comparisons. */
const ORDINARY = { input: 3_000, output: 1_000 } as const

/** Identifies similar calls. */
export interface CallKind {
  /** Route and purpose. */
  readonly group: string
  /** Conversation; null if it has no name. */
  readonly prompt: string | null
}

/** A call as it may be expected. */
interface ExpectedCall {
  /** Estimated input tokens, before a target counts them in its own way. */
  readonly input: number
  readonly output: number
  /** Number of further calls in the same conversation, without a pause in which caches are lost. */
  readonly later: number
}

/** Treatment of the input of similar calls by a target. */
interface Treatment {
  /** Tokens of recent calls, as reported and as estimated. */
  readonly reported: number
  readonly estimated: number
  /** Share of the earlier input that the next call finds in the cache. */
  readonly found: number
  /** Share of the uncached input that is written to the cache, and the part of it for an hour. */
  readonly written: number
  readonly writtenForHour: number
}

/** Until a target has served a call, its cache is assumed to keep the whole input. */
const UNTRIED: Treatment = { reported: 0, estimated: 0, found: 1, written: 1, writtenForHour: 0 }

/** A call that has ended. */
interface EndedCall extends CallKind {
  /** `provider/model`. */
  readonly target: string
  /** Estimated input tokens; null if not estimated. */
  readonly estimate: number | null
  /** Estimated tokens that the target was expected to have cached. */
  readonly expected: number
  /** True if it followed a call of its conversation before a cache was lost. */
  readonly isLater: boolean
  readonly tokens: CachedTokens
}

export class UsualCalls {
  readonly #inputs = recent<number>(MAX_TARGETS)
  readonly #outputs = recent<number>(MAX_CONVERSATIONS)
  readonly #runs = recent<{ readonly calls: number; readonly runs: number }>(MAX_TARGETS)
  readonly #treatments = recent<Treatment>(MAX_TARGETS)

  /**
   * Returns the expected call. `estimate`: estimated input tokens; null for the usual input. The output is that of
   * the conversation's calls, else of the route's, and an ordinary call's if no call has ended.
   */
  expect({ group, prompt }: CallKind, estimate: number | null): ExpectedCall {
    const own = prompt === null ? undefined : this.#outputs.peek(`${group}\n${prompt}`)
    const output = own ?? this.#outputs.peek(group)
    const { calls, runs } = this.#runs.peek(group) ?? FIRST_GUESS
    const later = prompt === null ? 0 : (calls / runs - 1) * COUNTED_SHARE
    if (output === undefined)
      return { input: Math.max(estimate ?? 0, ORDINARY.input), output: ORDINARY.output, later }
    return {
      input: Math.round(estimate ?? this.#inputs.peek(group) ?? ORDINARY.input),
      output: Math.round(output),
      later,
    }
  }

  /**
   * Returns how a target treats the input of similar calls. `density`: its tokens for each estimated token; before its
   * first call, that of the other targets.
   */
  treatmentAt(group: string, target: string): Treatment & { readonly density: number } {
    const known = this.#treatments.peek(`${group}\n${target}`)
    return { ...(known ?? UNTRIED), density: densityOf(known ?? this.#treatments.peek(group) ?? UNTRIED) }
  }

  ended({ group, prompt, target, estimate, expected, isLater, tokens }: EndedCall): void {
    const { input } = tokens
    if (tokens.output != null) {
      const output = Math.min(tokens.output, MAX_OUTPUT)
      const usual = this.#outputs.get(group) ?? output
      const own = `${group}\n${prompt}`
      if (prompt !== null) this.#outputs.set(own, moved(this.#outputs.get(own) ?? usual, output, NEAR_WEIGHT))
      this.#outputs.set(group, moved(usual, output))
    }
    if (prompt !== null) {
      const { calls, runs } = this.#runs.get(group) ?? FIRST_GUESS
      const kept = calls < MAX_COUNTED ? 1 : 0.5
      this.#runs.set(group, { calls: calls * kept + 1, runs: runs * kept + (isLater ? 0 : 1) })
    }
    if (estimate === null || estimate < 1 || !input) return
    this.#inputs.set(group, moved(this.#inputs.get(group) ?? estimate, estimate))
    for (const key of [`${group}\n${target}`, group]) {
      const known = this.#treatments.get(key) ?? UNTRIED
      this.#treatments.set(key, treatmentAfter(known, estimate, expected, { ...tokens, input }))
    }
  }
}

/** Returns the treatment after one more call. */
function treatmentAfter(
  known: Treatment,
  estimate: number,
  expected: number,
  { input, cached_input, cache_write, cache_write_1h }: CachedTokens & { readonly input: number },
): Treatment {
  const { found, written, writtenForHour } = known
  const fresh = input - (cached_input ?? 0)
  const expectedTokens = Math.min(expected, estimate) * densityOf(known)
  const near = (average: number, of: number, all: number) =>
    all > 0 ? moved(average, Math.min(of / all, 1), NEAR_WEIGHT) : average
  return {
    reported: known.reported * (1 - NEW_CALL_WEIGHT) + Math.min(input, estimate * MAX_DENSITY),
    estimated: known.estimated * (1 - NEW_CALL_WEIGHT) + estimate,
    found: near(found, cached_input ?? 0, expectedTokens),
    written: near(written, cache_write ?? 0, fresh),
    writtenForHour: near(writtenForHour, cache_write_1h ?? 0, cache_write ?? 0),
  }
}

const densityOf = ({ reported, estimated }: Treatment): number =>
  (reported + FEW_TOKENS) / (estimated + FEW_TOKENS)

const moved = (average: number, value: number, weight = NEW_CALL_WEIGHT): number =>
  average + weight * (value - average)
