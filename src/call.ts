// The nouns that travel through the gateway: a Call becomes a Route, a Route becomes attempts,
// attempts become an Outcome. Knows no other part; has no behaviour beyond making these values.

import { randomUUID } from 'node:crypto'

/** A provider and one of its models, as the routing table names them. */
export interface Target {
  readonly provider: string
  readonly model: string
  /** Price class, `cheap`, `balanced`, `premium` or the operator's own. */
  readonly tier: string | null
  /** Share among the targets of a `weighted` route; at least 0. */
  readonly weight: number
}

/** `provider/model`, the way a target is written in configuration and output. */
export const targetId = (target: Pick<Target, 'provider' | 'model'>): string =>
  `${target.provider}/${target.model}`

export const CALL_STATES = ['routed', 'streaming', 'completed', 'failed', 'aborted', 'interrupted'] as const
export type CallState = (typeof CALL_STATES)[number]

/** How an attempt ended. `unknown`: its bytes may have left, and it cannot be known whether they arrived. */
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

/** Token counts; null is "not reported", 0 is a reported zero. */
export interface Tokens {
  /** Whose counts they are: the provider's, or ours for a call that was left half-way; null where there is none. */
  readonly source: 'reported' | 'estimated' | null
  /** All input tokens, cached ones included. */
  readonly input: number | null
  /** All output tokens, reasoning included. */
  readonly output: number | null
  readonly cached_input: number | null
  readonly cache_write: number | null
  readonly reasoning: number | null
  /** Of `cache_write`, what is kept for an hour, which has a price of its own. For the price alone, not on record. */
  readonly cache_write_1h?: number | null
  /** Pictures that were made. For the price alone, not on record. */
  readonly images?: number
}

/**
 * A UUIDv7 (RFC 9562) of a moment, in ms since the epoch: 48 bits of time, then 74 random bits, which stand in the
 * same places as in a version 4 UUID and are taken from one.
 */
export const idOf = (ms: number): string => `${idAt(ms)}7${randomUUID().slice(15)}`

/** The moment that a UUIDv7 was made, milliseconds since the epoch. */
export const timeOfId = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)

/** The beginning of every UUIDv7 made at a moment: sorts before all of them, and behind all earlier ones. */
export function idAt(ms: number): string {
  const hex = Math.max(0, Math.floor(ms)).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-`
}

/** One client request for inference, once it is known who asks for what. */
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
  /** What its caller says of its trace; null where traces are not made, or it says nothing. */
  readonly traceparent: string | null
  /** Name of the gateway key; null where none is configured. */
  readonly keyName: string | null
  readonly stream: boolean
  readonly cache: CacheUse
  /** The answer came from a recording: nothing was spent. */
  readonly replayed: boolean
}

/** What a call is for, as far as its client says: a turn of the main conversation; a title, a classifier or the like beside it; a turn of a subagent; the summing-up of a conversation that grew too long. */
export const PURPOSES = ['main', 'background', 'subagent', 'compaction'] as const
export type Purpose = (typeof PURPOSES)[number]

/** Whether the answer came from the cache, was looked for there in vain, or was not looked for. */
export const CACHE_USES = ['HIT', 'MISS', 'BYPASS'] as const
export type CacheUse = (typeof CACHE_USES)[number]

/** A candidate that was passed over, and why. */
export interface Skipped {
  readonly target: string
  readonly reason: string
}

/** Where a call may go: candidates in the order in which they are tried, never empty. */
export interface Route {
  /** Name of the route, null for a direct `provider/model` id. */
  readonly name: string | null
  readonly strategy: string
  readonly candidates: readonly [Target, ...Target[]]
  readonly decision: { readonly cause: string; readonly skipped: readonly Skipped[] }
}

/** How one attempt ended, as it is written to `call_attempts`. */
export interface AttemptEnd {
  readonly outcome: Exclude<AttemptOutcome, 'open'>
  /** The provider's HTTP status, null when none came. */
  readonly status: number | null
  readonly errorCode: string | null
  readonly tokens: Tokens | null
  /** What a translation could not carry; null or absent where provider and client speak the same dialect. */
  readonly losses?: readonly string[] | null
}

/** How a call ended, as it is written to `call_logs`. */
export interface CallOutcome {
  readonly state: Exclude<CallState, 'routed' | 'streaming' | 'interrupted'>
  /** The HTTP status that the client got; null when it got none. */
  readonly status: number | null
  readonly errorCode: string | null
  /** What the provider wrote as `model` in its answer. */
  readonly responseModel: string | null
  /** The id of its answer, where the provider keeps it. */
  readonly responseId?: string | null
  /** Milliseconds from the arrival of the call to its last byte. */
  readonly latencyMs: number
  /** Milliseconds to the commit, null when there was none. */
  readonly ttftMs: number | null
  /** Sum over the attempts; null when a part of it is unknown. */
  readonly tokens: Tokens | null
}

/** What one event of a provider's stream, or one whole answer, says; the same for every dialect. */
export interface ParsedEvent {
  /** Worth beginning the response with; false for what keeps a stream alive, and for an end mark alone. */
  readonly opens: boolean
  /** The dialect's end mark: nothing follows it. */
  readonly done: boolean
  /** A reason for finishing was given: a stream that ends after this is complete. */
  readonly finished: boolean
  /** That reason is none of the usual ones (the end, the length, a tool call), so the next try may go better. */
  readonly unusual: boolean
  /** What the model wrote here, thoughts and arguments of tool calls included: for an estimate. */
  readonly text: string
  readonly model: string | null
  /** All that the answer has reported so far; null where this says nothing about it. */
  readonly tokens: Tokens | null
  /** The event carries usage and nothing else, so it may be withheld. */
  readonly usageOnly: boolean
  readonly error: ProviderError | null
  /** All has been said, and nothing but an end mark may follow: a connection that breaks now takes nothing away. */
  readonly complete?: boolean
  /** The id of an answer that the provider keeps, so that a later request may go on from it. */
  readonly responseId?: string
  /** What the client gets in its place, where the provider speaks another dialect. */
  readonly sent?: Buffer
}

/** An event that says nothing. */
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
  /** The HTTP status that the error stands for, where the provider says one. */
  readonly status: number | null
}

/** How a stream that had begun came to its end. */
export type StreamEnd = 'ended' | 'cut' | 'timed_out' | 'aborted'

/** A part of a stream: an event with whatever stood before it, or comments alone, which say nothing. */
export interface StreamPart {
  readonly bytes: Buffer
  readonly parsed: ParsedEvent | null
}

/** Receives what a chunk of a stream completes; `parts` returns false to ask for a pause, which `resume` ends. */
export interface StreamSink {
  parts(parts: readonly StreamPart[]): boolean
  end(how: StreamEnd): void
}

/** A provider's stream after the response has started. */
export interface EventStream {
  flow(sink: StreamSink): void
  resume(): void
}
