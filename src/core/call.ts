// The nouns that travel through the gateway: a Call becomes a Route, a Route becomes attempts, attempts
// become an Outcome. Knows no other part and only constructs these values.

import { randomUUID } from 'node:crypto'
import type { Served } from './served.ts'

/** A provider and one of its models, as in the routing table. */
export interface Target {
  readonly provider: string
  readonly model: string
  /** Price class: `cheap`, `balanced`, `premium` or one of the operator's own. */
  readonly tier: string | null
  /** Share among the targets of a `weighted` route; at least 0. */
  readonly weight: number
  /** Changes to every request that goes there; absent without any. */
  readonly changes?: RequestChanges
}

/** Changes to a request for a provider, in the provider's own words. */
export interface RequestChanges {
  readonly headers: Readonly<Record<string, string>>
  /** Members of the body, as JSON. */
  readonly set: Readonly<Record<string, string>>
  readonly omit: readonly string[]
  /** Level of effort; null leaves the client's. */
  readonly effort: string | null
  /** Maximum output tokens; null leaves the client's. */
  readonly maxOutput: number | null
}

/** Returns `provider/model`, as targets are written in configuration and output. */
export const targetId = (target: Pick<Target, 'provider' | 'model'>): string =>
  `${target.provider}/${target.model}`

export const CALL_STATES = ['routed', 'streaming', 'completed', 'failed', 'aborted', 'interrupted'] as const
export type CallState = (typeof CALL_STATES)[number]

/** Outcomes of an attempt. `unknown`: its bytes may have left, and it cannot be known if they arrived. */
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

/** How a request came, or went out. */
export const TRANSPORTS = ['http', 'websocket'] as const
export type Transport = (typeof TRANSPORTS)[number]

/** Token counts; null is "not reported", 0 is a reported zero. */
export interface Tokens {
  /** Origin of the counts: the provider, or our estimate for a call that broke off; null without counts. */
  readonly source: 'reported' | 'estimated' | null
  /** All input tokens, cached ones included. */
  readonly input: number | null
  /** All output tokens, reasoning included. */
  readonly output: number | null
  readonly cached_input: number | null
  readonly cache_write: number | null
  readonly reasoning: number | null
  /** Part of `cache_write` cached for an hour, at its own price. Used for pricing only, not on record. */
  readonly cache_write_1h?: number | null
  /** Number of pictures made. Used for pricing only, not on record. */
  readonly images?: number
  /** Everything else that the cost depends on; absent if the answer says nothing about it. */
  readonly served?: Served | undefined
}

/**
 * Returns a UUIDv7 (RFC 9562) for a moment, in ms since the epoch: 48 bits of time, then 74 random bits taken
 * from a version 4 UUID, where they have the same places.
 */
export const idOf = (ms: number): string => `${idAt(ms)}7${randomUUID().slice(15)}`

/** Returns the moment a UUIDv7 was made, milliseconds since the epoch. */
export const timeOfId = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)

/** Returns the prefix of every UUIDv7 of a moment: sorts before all of them and after all earlier ones. */
export function idAt(ms: number): string {
  const hex = Math.max(0, Math.floor(ms)).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-`
}

/** One client request for inference, after authentication and parsing. */
export interface Call {
  /** UUIDv7: sorts by time, is the record's key and the `X-Gateway-Request-Id`. */
  readonly id: string
  /** Milliseconds since the epoch, UTC: the time in the id. */
  readonly createdAt: number
  readonly endpoint: string
  /** Byte for byte as sent. */
  readonly requestedModel: string
  readonly sessionId: string | null
  readonly agentId: string | null
  readonly purpose: Purpose
  /** The program that made the call, by its own name; null if it gives none. */
  readonly client: string | null
  /** The caller's `traceparent`; null if it sent none, or no traces are made. */
  readonly traceparent: string | null
  /** Name of the gateway key; null if none is configured. */
  readonly keyName: string | null
  readonly stream: boolean
  readonly cache: CacheUse
  /** True if the answer came from a recording: nothing was spent. */
  readonly replayed: boolean
  /** How it came. */
  readonly transport: Transport
  /** HTTP method of its request; POST if absent. */
  readonly method?: string
  /** File or batch of a provider that it asks for; absent without one. */
  readonly objectId?: string | null
}

/** Returns a call of which only the id, and with it the time, is known. */
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
 * Purpose of a call, as far as its client reveals it: a turn of the main conversation; a background task such
 * as a title or a classifier; a turn of a subagent; the summary of a conversation that grew too long.
 */
export const PURPOSES = ['main', 'background', 'subagent', 'compaction'] as const
export type Purpose = (typeof PURPOSES)[number]

/** Use of the cache: answer found, not found, or not looked up. */
export const CACHE_USES = ['HIT', 'MISS', 'BYPASS'] as const
export type CacheUse = (typeof CACHE_USES)[number]

/** A candidate that was passed over, with the reason. */
export interface Skipped {
  readonly target: string
  readonly reason: string
}

/** Targets for a call in the order in which they are tried, never empty. */
export interface Route {
  /** Name of the route; null for a direct `provider/model` id. */
  readonly name: string | null
  readonly strategy: string
  readonly candidates: readonly [Target, ...Target[]]
  readonly decision: { readonly cause: string; readonly skipped: readonly Skipped[] }
  /** Returns false for a target that cannot read the sealed reasoning of the conversation; absent if all can. */
  readonly readsReasoning?: (target: Target) => boolean
}

/** End of one attempt, as written to `call_attempts`. */
export interface AttemptEnd {
  readonly outcome: Exclude<AttemptOutcome, 'open'>
  /** The provider's HTTP status; null if none came. */
  readonly status: number | null
  readonly errorCode: string | null
  readonly tokens: Tokens | null
  /** Losses of the translation; null or absent if provider and client speak the same dialect. */
  readonly losses?: readonly string[] | null
  /** Parameters that were left out because the provider refuses them; null if there were none. */
  readonly adjusted?: readonly string[] | null
  /** Name of the provider's key; null if it has only one. */
  readonly credential?: string | null
  /** How its request went out; null or absent if it was not sent. */
  readonly transport?: Transport | null
}

/** Returns true if an attempt was never sent, or was refused with an error status: it used nothing. */
export const usedNothing = ({ outcome, status }: Pick<AttemptEnd, 'outcome' | 'status'>): boolean =>
  outcome === 'not_sent' || (status !== null && status >= 300)

/** End of a call, as written to `call_logs`. */
export interface CallOutcome {
  readonly state: Exclude<CallState, 'routed' | 'streaming' | 'interrupted'>
  /** HTTP status that the client received; null if none. */
  readonly status: number | null
  readonly errorCode: string | null
  /** The provider's `model` in its answer. */
  readonly responseModel: string | null
  /** Id of the answer, if the provider stores it. */
  readonly responseId?: string | null
  /** Id of the container that the provider made or used for it. */
  readonly containerId?: string | null
  /** Cached tokens that its conversation lost by moving to another target; null or absent if it did not. */
  readonly cacheLost?: number | null
  /** How much of a subscription is used, in the words of the record. */
  readonly planLimits?: string | null
  /** Milliseconds from the arrival of the call to its last byte. */
  readonly latencyMs: number
  /** Milliseconds to the response start; null if there was none. */
  readonly ttftMs: number | null
  /** Sum over the attempts with known usage; null if none has. */
  readonly tokens: Tokens | null
}

/** Content of one event of a provider's stream, or of one whole answer; the same for every dialect. */
export interface ParsedEvent {
  /** True if the response may start with it; false for keep-alives and for an end mark alone. */
  readonly opens: boolean
  /** True for the dialect's end mark: nothing follows it. */
  readonly done: boolean
  /** True if it gives a finish reason: a stream that ends after this is complete. */
  readonly finished: boolean
  /** True for a finish reason other than the end, the length or a tool call: a retry may do better. */
  readonly unusual: boolean
  /** Text the model wrote here, including thoughts and arguments of tool calls; used for an estimate. */
  readonly text: string
  readonly model: string | null
  /** Usage reported by the answer so far; null if this event reports none. */
  readonly tokens: Tokens | null
  /** True if the event carries only usage and may be withheld. */
  readonly usageOnly: boolean
  readonly error: ProviderError | null
  /** True if only an end mark may follow: a connection that breaks now loses nothing. */
  readonly complete?: boolean
  /** Id of an answer that the provider stores, so that a later request may continue from it. */
  readonly responseId?: string
  /** Id of the container in which the provider ran the model's code. */
  readonly containerId?: string
  /** Bytes for the client in its place, if the provider speaks another dialect. */
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

/** An error that a provider reported, in a status or inside a 200. */
export interface ProviderError {
  readonly message: string
  /** `error.code`, else `error.type`, as text. */
  readonly code: string | null
  /** HTTP status that the error stands for, if the provider names one. */
  readonly status: number | null
  /** Field of the request that it names, in a dialect whose errors do. */
  readonly param?: string
}

/** End of a stream that had begun. */
export type StreamEnd = 'ended' | 'cut' | 'timed_out' | 'aborted'

/** Part of a stream: an event with everything before it, or comments alone, which carry no data. */
export interface StreamPart {
  readonly bytes: Buffer
  readonly parsed: ParsedEvent | null
}

/** Receives the events in a chunk of a stream; `parts` returns false for a pause, which `resume` ends. */
export interface StreamSink {
  parts(parts: readonly StreamPart[]): boolean
  end(how: StreamEnd): void
}

/** A provider's stream after the response has started. */
export interface EventStream {
  flow(sink: StreamSink): void
  resume(): void
}
