// The main types of the gateway: a Call becomes a Route, a Route becomes attempts, attempts become an
// Outcome. Depends on no other part and only constructs these values.

import { chance } from '../shared/chance.ts'
import type { Served } from './served.ts'

/** A provider and one of its models, as listed in the routing table. */
export interface Target {
  readonly provider: string
  readonly model: string
  /** Price class: `cheap`, `balanced`, `premium` or a class that the operator defined. */
  readonly tier: string | null
  /** Share of calls among the targets of a `weighted` route; at least 0. */
  readonly weight: number
  /** Changes to every request for this target; absent if there are none. */
  readonly changes?: RequestChanges
}

/** Changes to a request for a provider, in the provider's own words. */
export interface RequestChanges {
  readonly headers: Readonly<Record<string, string>>
  /** Members to set in the body, as JSON. */
  readonly set: Readonly<Record<string, string>>
  readonly omit: readonly string[]
  /** Effort that replaces the client's; null leaves the client's effort. */
  readonly effort: string | null
  /** Maximum output tokens; null leaves the client's limit. */
  readonly maxOutput: number | null
}

/** Ids of targets, because each call looks several things up by them, and a new text must be hashed each time. */
const ids = new WeakMap<object, string>()

/** Returns `provider/model`, as targets are written in configuration and output. */
export function targetId(target: Pick<Target, 'provider' | 'model'>): string {
  let id = ids.get(target)
  if (id === undefined) {
    id = `${target.provider}/${target.model}`
    ids.set(target, id)
  }
  return id
}

export const CALL_STATES = ['routed', 'streaming', 'completed', 'failed', 'aborted', 'interrupted'] as const
export type CallState = (typeof CALL_STATES)[number]

/** Outcomes of an attempt. `unknown`: bytes may have been sent, and it is unknown whether they arrived. */
export const ATTEMPT_OUTCOMES = [
  'open',
  'answered',
  'failed',
  'timed_out',
  'aborted',
  'not_sent',
  'unknown',
] as const
export type AttemptOutcome = (typeof ATTEMPT_OUTCOMES)[number]

/** Transports of a request, incoming or outgoing. */
export const TRANSPORTS = ['http', 'websocket'] as const
export type Transport = (typeof TRANSPORTS)[number]

/** Token counts; null is "not reported", 0 is a reported zero. */
export interface Tokens {
  /** Origin of the counts: the provider, or our estimate for a call that ended early. Null without counts. */
  readonly source: 'reported' | 'estimated' | null
  /** All input tokens, including cached tokens. */
  readonly input: number | null
  /** All output tokens, including reasoning tokens. */
  readonly output: number | null
  readonly cached_input: number | null
  readonly cache_write: number | null
  readonly reasoning: number | null
  /**
   * Part of `cache_write` that is cached for an hour, at its own price. Used only for pricing; not recorded.
   */
  readonly cache_write_1h?: number | null
  /** Number of generated images. Used only for pricing; not recorded. */
  readonly images?: number
  /** Other facts that determine the cost. Absent if the answer has none. */
  readonly served?: Served | undefined
}

/** Tokens of an answer that reports none. */
export const NO_TOKENS: Tokens = {
  source: null,
  input: null,
  output: null,
  cached_input: null,
  cache_write: null,
  reasoning: null,
}

/**
 * Returns a UUIDv7 (RFC 9562) for a time in ms since the epoch: 48 bits of time and 74 random bits. The
 * random bits come from the same places of a version 4 UUID.
 */
export const idOf = (ms: number): string => `${idAt(ms)}7${chance.uuid().slice(15)}`

/** Returns the time of a UUIDv7, in milliseconds since the epoch. */
export const timeOfId = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)

/**
 * Returns the prefix of every UUIDv7 of a given time. The prefix sorts before all of them and after all
 * earlier ids.
 */
export function idAt(ms: number): string {
  const hex = Math.max(0, Math.floor(ms)).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-`
}

/** One client request for inference, after authentication and parsing. */
export interface Call {
  /** Id of the call, a UUIDv7: the record's key and the `X-Gateway-Request-Id`. Sorts by time. */
  readonly id: string
  /** Time in the id, in milliseconds since the epoch (UTC). */
  readonly createdAt: number
  readonly endpoint: string
  /** Requested model, byte for byte as sent. */
  readonly requestedModel: string
  readonly sessionId: string | null
  readonly agentId: string | null
  readonly purpose: Purpose
  /** Name of the program that made the call, as sent by the program; null if it sent none. */
  readonly client: string | null
  /** The caller's `traceparent`; null if the caller sent none or tracing is off. */
  readonly traceparent: string | null
  /** Name of the gateway key; null if none is configured. */
  readonly keyName: string | null
  readonly stream: boolean
  readonly cache: CacheUse
  /** True if the answer came from a recording, which costs nothing. */
  readonly replayed: boolean
  /** How it came. */
  readonly transport: Transport
  /** HTTP method of the request; POST if absent. */
  readonly method?: string
  /** The call that this one repeats with another model, or from which its session branches off; absent if none. */
  readonly parentId?: string | null
  /** Provider's file or batch that the call requests; absent if there is none. */
  readonly objectId?: string | null
}

/** Returns the name of a program without its version: `claude-cli/2.1.328 (external)` is `claude-cli`. */
export const clientName = (client: string): string => client.split('/', 1)[0]!.trim()

/** Returns a call with only an id and the time in the id. */
export const emptyCall = (id: string): Call => ({
  id,
  createdAt: timeOfId(id),
  endpoint: '',
  requestedModel: '',
  sessionId: null,
  agentId: null,
  purpose: 'main',
  client: null,
  traceparent: null,
  keyName: null,
  stream: false,
  cache: 'BYPASS',
  replayed: false,
  transport: 'http',
})

/**
 * Purposes of a call, as far as the client reveals them: a turn of the main conversation, a background task
 * (a title, a classifier), a turn of a subagent, or the summary of an overlong conversation.
 */
export const PURPOSES = ['main', 'background', 'subagent', 'compaction'] as const
export type Purpose = (typeof PURPOSES)[number]

/** Uses of the cache: answer found, not found, or not looked up. */
export const CACHE_USES = ['HIT', 'MISS', 'BYPASS'] as const
type CacheUse = (typeof CACHE_USES)[number]

/** A skipped candidate with the reason. */
export interface Skipped {
  readonly target: string
  readonly reason: string
}

/** Expected cost of a call at the targets of a route with the strategy `cheapest`. Member names as recorded. */
export type CostEstimate = {
  /** Estimated input, before each model's own count. */
  readonly input_tokens: number
  readonly output_tokens: number
  /** Expected number of further calls of the conversation while its prompt is cached. */
  readonly later_calls: number
  readonly targets: readonly {
    readonly target: string
    /** US dollars for the call; null if the price is unknown. */
    readonly usd: number | null
    /** Part of the input that the target is expected to have cached. */
    readonly cached_tokens: number
    /** US dollars for a further call, once its prompt is cached; null without further calls. */
    readonly later_usd: number | null
  }[]
}

/** Reasons for the order of the candidates. */
export interface Decision {
  readonly cause: string
  readonly skipped: readonly Skipped[]
  /** Only with the strategy `cheapest`. */
  readonly estimate?: CostEstimate
}

/** Targets for a call in the order of the attempts; never empty. */
export interface Route {
  /** Name of the route; null for a direct `provider/model` id. */
  readonly name: string | null
  readonly strategy: string
  readonly candidates: readonly [Target, ...Target[]]
  readonly decision: Decision
  /**
   * Returns false for a target that cannot read the conversation's sealed reasoning. Absent if all targets
   * can.
   */
  readonly readsReasoning?: (target: Target) => boolean
}

/**
 * Returns the route without the targets for which `reasonFor` returns a reason, which the decision then names. Throws
 * what `noneLeft` returns if no target is left.
 */
export function withoutTargets(
  route: Route,
  reasonFor: (target: Target) => string | null,
  noneLeft: (skipped: readonly Skipped[]) => Error,
): Route {
  const { candidates, decision } = route
  const reasons = candidates.map(reasonFor)
  const skipped = reasons.flatMap((reason, n) =>
    reason === null ? [] : [{ target: targetId(candidates[n]!), reason }],
  )
  if (skipped.length === 0) return route
  const [first, ...rest] = candidates.filter((_, n) => reasons[n] === null)
  if (!first) throw noneLeft(skipped)
  return {
    ...route,
    candidates: [first, ...rest],
    decision: { ...decision, skipped: [...decision.skipped, ...skipped] },
  }
}

/** The end of one attempt, as written to `call_attempts`. */
export interface AttemptEnd {
  readonly outcome: Exclude<AttemptOutcome, 'open'>
  /** The provider's HTTP status; null if none arrived. */
  readonly status: number | null
  readonly errorCode: string | null
  /** The provider's sentence about a failure, without parts of the request; null or absent without one. */
  readonly refusal?: string | null
  readonly tokens: Tokens | null
  /** Losses of the translation; null or absent if provider and client speak the same dialect. */
  readonly losses?: readonly string[] | null
  /** Parameters omitted because the provider refuses them; null if there were none. */
  readonly adjusted?: readonly string[] | null
  /** Name of the provider's key; null if it has only one. */
  readonly credential?: string | null
  /** Transport of the request; null or absent if the request was not sent. */
  readonly transport?: Transport | null
}

/** Returns true if an attempt used nothing: it was never sent, or was refused with an error status. */
export const usedNothing = ({ outcome, status }: Pick<AttemptEnd, 'outcome' | 'status'>): boolean =>
  outcome === 'not_sent' || (status !== null && status >= 300)

/** The end of a call, as written to `call_logs`. */
export interface CallOutcome {
  readonly state: Exclude<CallState, 'routed' | 'streaming' | 'interrupted'>
  /** HTTP status that the client received; null if none. */
  readonly status: number | null
  readonly errorCode: string | null
  /** `model` as named in the provider's answer. */
  readonly responseModel: string | null
  /** Id of the answer, if the provider stores it. */
  readonly responseId?: string | null
  /** Id of the container that the provider made or used for the call. */
  readonly containerId?: string | null
  /**
   * Cached tokens that the conversation lost by moving to another target. Null or absent if it did not move.
   */
  readonly cacheLost?: number | null
  /** Used part of a subscription, in the record's format. */
  readonly planLimits?: string | null
  /** Milliseconds from the arrival of the call to its last byte. */
  readonly latencyMs: number
  /** Milliseconds to the response start; null if there was none. */
  readonly ttftMs: number | null
  /** Sum of all attempts with known usage; null if there are none. */
  readonly tokens: Tokens | null
}

/** Content of one event in a provider's stream, or of one whole answer. The same type for every dialect. */
export interface ParsedEvent {
  /** True if the response may start with this event. False for keep-alives and for an end mark alone. */
  readonly opens: boolean
  /** True for the dialect's end mark, which is always last. */
  readonly done: boolean
  /** True if the event has a finish reason. A stream that ends after such an event is complete. */
  readonly finished: boolean
  /** True for an unusual finish reason (other than the end, the length or a tool call). A retry may succeed. */
  readonly unusual: boolean
  /** Text from the model in this event, including thoughts and call arguments. Used for estimates. */
  readonly text: string
  readonly model: string | null
  /** Usage reported by the answer so far; null if this event reports none. */
  readonly tokens: Tokens | null
  /** True if the event contains only usage and may be withheld. */
  readonly usageOnly: boolean
  readonly error: ProviderError | null
  /** True if only an end mark may follow. A connection that breaks after this event loses nothing. */
  readonly complete?: boolean
  /** Id of an answer that the provider stores. A later request may continue from it. */
  readonly responseId?: string
  /** Id of the container in which the provider ran the model's code. */
  readonly containerId?: string
  /** Translated bytes for the client, if the provider speaks another dialect. */
  readonly sent?: Buffer
}

/** An event without content. */
export const EMPTY_EVENT: ParsedEvent = {
  opens: true,
  done: false,
  finished: false,
  unusual: false,
  text: '',
  model: null,
  tokens: null,
  usageOnly: false,
  error: null,
}

/** An error that a provider reported with an error status or inside a 200. */
export interface ProviderError {
  readonly message: string
  /** `error.code`, or else `error.type`, as text. */
  readonly code: string | null
  /** HTTP status named in the error's content, if any. */
  readonly status: number | null
  /** Request field named by the error, in dialects whose errors have a member for it. */
  readonly param?: string
}

/** Ways in which a started stream can end. */
export type StreamEnd = 'ended' | 'cut' | 'timed_out' | 'aborted'

/** A part of a stream: an event with the comments before it, or only comments, which contain no data. */
export interface StreamPart {
  readonly bytes: Buffer
  readonly parsed: ParsedEvent | null
}

/** Receives the events of a stream, chunk by chunk. `parts` returns false to pause; `resume` continues. */
export interface StreamSink {
  parts(parts: readonly StreamPart[]): boolean
  end(how: StreamEnd): void
}

/** A provider's stream after the response has started. */
export interface EventStream {
  flow(sink: StreamSink): void
  resume(): void
  /** Ends the request to the provider. */
  abort(): void
}
