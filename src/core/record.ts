// The single definition of all fields of a call and its attempts. All types, columns, JSON, schemas, list
// filters and the tables in docs/contract.md are derived from it. A new field needs an entry here and a
// migration (`store/sqlite/migrations.ts`); CONTRIBUTING.md says where its value comes from. Independent of the database and HTTP.

import type { Cost } from '../pricing/cost.ts'
import {
  ATTEMPT_OUTCOMES,
  type AttemptEnd,
  CACHE_USES,
  CALL_STATES,
  type Call,
  type CallOutcome,
  type Decision,
  PURPOSES,
  type Route,
  type Target,
  type Tokens,
  TRANSPORTS,
  usedNothing,
} from './call.ts'
import { type RecordUsage, recordUsage } from './served.ts'

/** Tokens in the record. Null means "not reported". */
export type RecordTokens = Omit<Tokens, 'images' | 'cache_write_1h' | 'served'>

/** JSON type of each kind of value. */
interface Json {
  readonly id: string
  readonly text: string
  readonly enum: string
  /** ISO 8601, UTC. */
  readonly time: string
  readonly boolean: boolean
  readonly count: number
  readonly status: number
  readonly ms: number
  readonly usd: number
  readonly tokens: RecordTokens
  readonly usage: RecordUsage
  readonly words: readonly string[]
  readonly decision: Decision
  readonly price: {
    readonly source: string
    readonly model: string
    readonly rates: Readonly<Record<string, unknown>>
    readonly factors?: Readonly<Record<string, number>>
    readonly fees?: Readonly<Record<string, number>>
  }
}
export type Kind = keyof Json

/**
 * Type of each kind of value as passed to the store, if it differs from the JSON type. `time`: ms since the epoch.
 */
interface Given extends Omit<Json, 'time' | 'tokens' | 'price'> {
  readonly time: number
  readonly tokens: Tokens
  readonly price: NonNullable<Cost['price']>
}

/** A field of kind `K` in a row. An `Opening` opens the row, and a `Closing` closes it. */
interface FieldOf<K extends Kind, Opening, Closing> {
  readonly kind: K
  readonly nullable?: true
  /** Description for the documentation. */
  readonly about: string
  /** Values of an `enum`. */
  readonly values?: K extends 'enum' ? readonly string[] : never
  /** Query parameter that filters lists by this field. */
  readonly filter?: string
  /** True if the filter accepts `none` for rows in which this field is null, and `some` for all others. */
  readonly filterNone?: true
  /** Returns the value for the opened row. If absent, the field starts as null. */
  readonly open?: (opening: Opening) => Given[K] | null
  /** Returns the value for the closed row. If absent, the field does not change. */
  readonly close?: (closing: Closing) => Given[K] | null
}
export type Field<Opening = never, Closing = never> = {
  [K in Kind]: FieldOf<K, Opening, Closing>
}[Kind]

/** A call that is about to be sent to its first target. */
export interface CallOpening {
  readonly call: Call
  readonly route: Route
}

/** A call that has ended. */
export interface CallClosing {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly outcome: CallOutcome
  /** The last attempt; null if the answer came from the cache. */
  readonly ended: AttemptEnd | null
  /** Cost of the last attempt. For an answer from the cache, the cost that a provider would have charged. */
  readonly cost: Cost
  /** Cost of all attempts before the last; absent if there were none. */
  readonly earlier?: KnownCost
  readonly requestsSent: number
}

/** An attempt just before its request is sent. */
export interface AttemptOpening {
  readonly n: number
  readonly target: Pick<Target, 'provider' | 'model'>
  readonly at: number
}

/** An attempt that has ended. */
export interface AttemptClosing {
  readonly at: number
  readonly ended: AttemptEnd
  readonly cost: Cost
}

/** The known part of a cost in US dollars, and the missing parts. Null means 0 if nothing is missing. */
export type KnownCost = Pick<Cost, 'usd' | 'missing'> & {
  /** Part of the cost that a subscription covers; absent if there is none. */
  readonly flatUsd?: number
}

const NOTHING: KnownCost = { usd: null, missing: [] }

/** Returns the cost of an attempt: none if it used nothing, unknown if it ended early. */
export function costOfAttempt({ ended, cost }: Pick<AttemptClosing, 'ended' | 'cost'>): KnownCost {
  if (cost.usd === null && usedNothing(ended)) return NOTHING
  const { usd } = cost
  const flat = cost.flat && { flatUsd: usd ?? 0 }
  if (ended.tokens === null && ended.outcome !== 'answered') return { usd, missing: ['attempt'], ...flat }
  return { usd, missing: cost.missing, ...flat }
}

/** Returns the sum of two costs. */
export function addCosts(a: KnownCost, b: KnownCost): KnownCost {
  const usd = a.usd === null || b.usd === null ? (a.usd ?? b.usd) : a.usd + b.usd
  const isFlat = a.flatUsd !== undefined || b.flatUsd !== undefined
  return {
    usd,
    missing: [...new Set([...a.missing, ...b.missing])],
    ...(isFlat && { flatUsd: (a.flatUsd ?? 0) + (b.flatUsd ?? 0) }),
  }
}

const known = ({ usd, missing }: KnownCost): number | null => usd ?? (missing.length === 0 ? 0 : null)

/** Returns the cost of a call over all its attempts. An answer from the cache costs nothing. */
export function costOfCall({ ended, cost, earlier }: CallClosing): KnownCost {
  const last = ended ? costOfAttempt({ ended, cost }) : NOTHING
  const sum = earlier ? addCosts(earlier, last) : last
  return { ...sum, usd: known(sum) }
}
export const savedOfCall = ({ ended, cost }: CallClosing): number | null => (ended ? null : cost.usd)

export const CALL_FIELDS = {
  id: { kind: 'id', about: 'UUIDv7 = `X-Gateway-Request-Id`', open: ({ call }) => call.id },
  created_at: {
    kind: 'time',
    about: 'arrival of the call, as in the id',
    open: ({ call }) => call.createdAt,
  },
  completed_at: {
    kind: 'time',
    nullable: true,
    about: 'end of the call; null while it is open',
    close: ({ at }) => at,
  },
  state: {
    kind: 'enum',
    values: CALL_STATES,
    about: 'state of the call; `interrupted`: the gateway died while it was open, set at the next start',
    filter: 'state',
    open: () => 'routed',
    close: ({ outcome }) => outcome.state,
  },
  endpoint: { kind: 'text', about: 'called path', filter: 'endpoint', open: ({ call }) => call.endpoint },
  method: {
    kind: 'text',
    nullable: true,
    about: 'HTTP method of the request; null for calls older than this field',
    open: ({ call }) => call.method ?? 'POST',
  },
  requested_model: {
    kind: 'text',
    about: 'model id in the request, byte for byte',
    filter: 'requested_model',
    open: ({ call }) => call.requestedModel,
  },
  resolved_provider: {
    kind: 'text',
    about: 'set when routed, see *Resolved*',
    filter: 'provider',
    open: ({ route }) => route.candidates[0].provider,
  },
  resolved_model: {
    kind: 'text',
    about: 'set when routed, see *Resolved*',
    filter: 'model',
    open: ({ route }) => route.candidates[0].model,
  },
  picked_provider: {
    kind: 'text',
    about: "the router's first choice",
    open: ({ route }) => route.candidates[0].provider,
  },
  picked_model: {
    kind: 'text',
    about: "model of the router's first choice",
    open: ({ route }) => route.candidates[0].model,
  },
  response_model: {
    kind: 'text',
    nullable: true,
    about:
      'model in the provider’s answer, by which the call is priced; after a fallback at the provider, the model that wrote the end of the answer',
    filter: 'answered',
    close: ({ outcome }) => outcome.responseModel,
  },
  response_id: {
    kind: 'text',
    nullable: true,
    about:
      'id of an answer that the provider keeps; a later call that continues it with the same key (`previous_response_id`, `thread`) goes to this provider',
    close: ({ outcome }) => outcome.responseId ?? null,
  },
  container_id: {
    kind: 'text',
    nullable: true,
    about:
      'id of the container in which the provider ran code for the answer; a later call that names it with the same key goes to this provider',
    close: ({ outcome }) => outcome.containerId ?? null,
  },
  object_id: {
    kind: 'text',
    nullable: true,
    about: 'file or batch at the provider that a relayed call requested; null if it requested none',
    open: ({ call }) => call.objectId ?? null,
  },
  objects: {
    kind: 'words',
    nullable: true,
    about:
      'ids of the files and batches that the provider made for the call; they belong to the key of the call, and no other client key can reach them, even when this record is deleted; null if there are none',
  },
  plan_limits: {
    kind: 'text',
    nullable: true,
    about:
      'used part of a subscription after the call, from the headers of the answer: window, share, and end of the window (`5h 83 % (until 2026-11-26T03:00Z), 7d 41 %`); null if there are no such headers',
    close: ({ outcome }) => outcome.planLimits ?? null,
  },
  route: {
    kind: 'text',
    nullable: true,
    about: 'null for a direct `provider/model` id',
    filter: 'route',
    open: ({ route }) => route.name,
  },
  strategy: {
    kind: 'text',
    nullable: true,
    about: '`direct` for a direct `provider/model` id',
    filter: 'strategy',
    open: ({ route }) => route.strategy,
  },
  tier: {
    kind: 'text',
    nullable: true,
    about: 'tier of the resolved target',
    filter: 'tier',
    open: ({ route }) => route.candidates[0].tier,
  },
  decision: {
    kind: 'decision',
    about:
      '`{cause, skipped: [{target, reason}]}`, and with the strategy `cheapest` the `estimate` of the cost at each target',
    open: ({ route }) => route.decision,
  },
  session_id: {
    kind: 'text',
    nullable: true,
    about: 'as the client sent it, never invented',
    filter: 'session_id',
    open: ({ call }) => call.sessionId,
  },
  agent_id: {
    kind: 'text',
    nullable: true,
    about: 'as the client sent it, never invented',
    filter: 'agent_id',
    filterNone: true,
    open: ({ call }) => call.agentId,
  },
  parent_id: {
    kind: 'text',
    nullable: true,
    about: 'the call that this one repeats, or at which its session branches off, as the client says',
    filter: 'parent_id',
    filterNone: true,
    open: ({ call }) => call.parentId ?? null,
  },
  purpose: {
    kind: 'enum',
    nullable: true,
    values: PURPOSES,
    about: 'purpose by the rule of DIAL-10; null for calls older than this field',
    filter: 'purpose',
    open: ({ call }) => call.purpose,
  },
  client: {
    kind: 'text',
    nullable: true,
    about:
      'the program that made the call: its `User-Agent`, cut to 128 characters, without control characters and with keys masked; null if it sent no `User-Agent`, and for calls older than this field; filtered by the whole text or by the name before the first `/`',
    filter: 'client',
    open: ({ call }) => call.client,
  },
  traceparent: {
    kind: 'text',
    nullable: true,
    about: "the caller's W3C header; stored only with `telemetry`, null if the caller sent no valid header",
    open: ({ call }) => call.traceparent,
  },
  key_name: {
    kind: 'text',
    nullable: true,
    about: 'name of the gateway key',
    filter: 'key_name',
    open: ({ call }) => call.keyName,
  },
  stream: {
    kind: 'boolean',
    about: 'true if the client requested a stream',
    open: ({ call }) => call.stream,
  },
  transport: {
    kind: 'enum',
    nullable: true,
    values: TRANSPORTS,
    about: 'transport of the client; null for calls older than this field',
    filter: 'transport',
    open: ({ call }) => call.transport,
  },
  status: {
    kind: 'status',
    nullable: true,
    about: 'status that the client got; a stream that failed after the response start keeps its 200',
    filter: 'status',
    close: ({ outcome }) => outcome.status,
  },
  error_code: {
    kind: 'text',
    nullable: true,
    about:
      "our code if the body is ours, else the provider's `error.code`, else its `error.type`; also set if a stream failed after the response start",
    filter: 'error_code',
    close: ({ outcome }) => outcome.errorCode,
  },
  attempts: {
    kind: 'count',
    about: 'number of sent requests',
    open: ({ call }) => (call.cache === 'HIT' ? 0 : 1),
    close: ({ requestsSent }) => requestsSent,
  },
  fallbacks: { kind: 'count', about: 'number of changes of target', filter: 'fallbacks', open: () => 0 },
  latency_ms: {
    kind: 'ms',
    nullable: true,
    about: 'time to the last byte',
    close: ({ outcome }) => outcome.latencyMs,
  },
  ttft_ms: {
    kind: 'ms',
    nullable: true,
    about: 'time to the response start',
    close: ({ outcome }) => outcome.ttftMs,
  },
  tokens: {
    kind: 'tokens',
    about:
      'sums of the known usage of all attempts; minimums if `cost_missing` has `attempt` or `usage`. An attempt that was refused with an error status, or was never sent, used nothing. The usage of an attempt that broke off before the response start, timed out or sent an invalid answer is unknown. A stream that ended half-way after the response start (left, cut, silent, failed) without usage has an estimate: output from the words of the model, input from the texts of the request',
    close: ({ outcome }) => outcome.tokens,
  },
  cost_usd: {
    kind: 'usd',
    nullable: true,
    about: 'sum of the known costs of all attempts; null if none is known',
    close: (closing) => costOfCall(closing).usd,
  },
  cost_missing: {
    kind: 'words',
    nullable: true,
    about:
      'parts that `cost_usd` does not include: `attempt` (an attempt that broke off, timed out or sent an invalid answer), `usage` (unreported usage), `unknown_usage` (a number in the usage that no part of a price explains), `cache_write_12h` (an unknown price for input that is cached for twelve hours), `iterations` (parts of the call that do not add up), `price` (an unknown price), `model` (another model answered than the requested one, and its price is unknown), or `service_tier`, `speed`, `region` or `tools` (unknown prices for these). Empty: the cost is complete. Null while the call is open, and for calls older than this field',
    close: (closing) => costOfCall(closing).missing,
  },
  price: {
    kind: 'price',
    nullable: true,
    about:
      'applied price, US dollars per million tokens; `factors` of tier, speed and region multiply the rates, `fees` are for one use of a tool',
    close: ({ cost }) => cost.price,
  },
  service_tier: {
    kind: 'text',
    nullable: true,
    about: 'tier that served the call, as the provider reports; null if it reports none',
    filter: 'service_tier',
    close: ({ outcome }) => outcome.tokens?.served?.service_tier ?? null,
  },
  speed: {
    kind: 'text',
    nullable: true,
    about: 'speed at which the call was served, as the provider reports',
    close: ({ outcome }) => outcome.tokens?.served?.speed ?? null,
  },
  region: {
    kind: 'text',
    nullable: true,
    about: 'region in which the call was processed, as the provider reports',
    close: ({ outcome }) => outcome.tokens?.served?.region ?? null,
  },
  usage: {
    kind: 'usage',
    nullable: true,
    about:
      'further reports of the provider: tokens cached for an hour, sound and images, uses of its tools, the parts that other models served with the cost of each, `doubts`, and members that no dialect knows (`other`, at most 2 KiB); null if there are none',
    close: ({ outcome, cost }) => recordUsage(outcome.tokens, cost),
  },
  reported_usd: {
    kind: 'usd',
    nullable: true,
    about: 'cost of the last attempt as reported by the provider itself; it is then the cost of this attempt',
    close: ({ ended, cost }) => (ended && cost.reported ? cost.reported.usd : null),
  },
  priced_usd: {
    kind: 'usd',
    nullable: true,
    about: 'cost of the same attempt by its tokens and the known prices, for comparison with `reported_usd`',
    close: ({ ended, cost }) => (ended && cost.reported ? cost.reported.priced : null),
  },
  flat_usd: {
    kind: 'usd',
    nullable: true,
    about:
      'part of `cost_usd` that a provider with `billing: flat` served, at the list price; nothing more is paid for this part, and no budget counts it; null if there is none',
    close: (closing) => costOfCall(closing).flatUsd ?? null,
  },
  cache: {
    kind: 'enum',
    values: CACHE_USES,
    about:
      'on a `HIT` there is no attempt, `cost_usd` is 0, and `tokens` are those of the answer when it was made',
    filter: 'cache',
    open: ({ call }) => call.cache,
  },
  cache_lost: {
    kind: 'count',
    nullable: true,
    about:
      'number of input tokens that the cache of another target or key contained for the conversation, as reported, and that this call did not find in the cache of its own target; null if the conversation did not move, its last prompt is no longer cached, or cached tokens are not reported',
    close: ({ outcome }) => outcome.cacheLost ?? null,
  },
  saved_usd: {
    kind: 'usd',
    nullable: true,
    about: 'on a `HIT`, the present cost of its tokens',
    close: savedOfCall,
  },
  replayed: {
    kind: 'boolean',
    about:
      'true if the answer came from a recording: nothing was spent, `cost_usd` is the cost of a real call, and no budget counts it',
    open: ({ call }) => call.replayed,
  },
} as const satisfies Record<string, Field<CallOpening, CallClosing>>

export const ATTEMPT_FIELDS = {
  n: { kind: 'count', about: 'counts the attempts of the call, from 1', open: ({ n }) => n },
  provider: {
    kind: 'text',
    about: 'provider that the request was sent to',
    open: ({ target }) => target.provider,
  },
  model: { kind: 'text', about: 'requested model', open: ({ target }) => target.model },
  started_at: { kind: 'time', about: 'time before the bytes of the request were sent', open: ({ at }) => at },
  ended_at: {
    kind: 'time',
    nullable: true,
    about: 'end of the attempt; null while it is open',
    close: ({ at }) => at,
  },
  status: {
    kind: 'status',
    nullable: true,
    about: "the provider's status; null if there was none",
    close: ({ ended }) => ended.status,
  },
  outcome: {
    kind: 'enum',
    values: ATTEMPT_OUTCOMES,
    about: 'outcome of the attempt; `unknown`: the request may or may not have arrived',
    open: () => 'open',
    close: ({ ended }) => ended.outcome,
  },
  error_code: {
    kind: 'text',
    nullable: true,
    about: "the provider's code, else ours",
    close: ({ ended }) => ended.errorCode,
  },
  refusal: {
    kind: 'text',
    nullable: true,
    about:
      "the provider's sentence about the failure, up to 256 characters, with known keys masked and without what it repeats of the request (`…`); null for client keys, after a 401, and for a failed request of more than 2 MiB",
    close: ({ ended }) => ended.refusal ?? null,
  },
  tokens: {
    kind: 'tokens',
    about: 'tokens as reported by the provider, else estimated, else null',
    close: ({ ended }) => ended.tokens,
  },
  cost_usd: {
    kind: 'usd',
    nullable: true,
    about:
      'cost of the attempt; null if it is not known; 0 if the attempt was refused with an error status, or never sent',
    close: (closing) => known(costOfAttempt(closing)),
  },
  losses: {
    kind: 'words',
    nullable: true,
    about:
      'losses of the translation to and from the dialect of the provider, see [losses.md](losses.md), and of a session that moved to another key of its provider; empty if a translation lost nothing, null if nothing was translated or lost',
    close: ({ ended }) => ended.losses ?? null,
  },
  adjusted: {
    kind: 'words',
    nullable: true,
    about:
      'parameters that were left out or renamed because the provider refuses them for this model (`on_refused`); null if there are none',
    close: ({ ended }) => ended.adjusted ?? null,
  },
  provider_key: {
    kind: 'text',
    nullable: true,
    about: 'name of the key that was used, if the provider has several; null while it is open',
    close: ({ ended }) => ended.credential ?? null,
  },
  transport: {
    kind: 'enum',
    nullable: true,
    values: TRANSPORTS,
    about: 'transport to the provider; null while the attempt is open, and if it was not sent',
    close: ({ ended }) => ended.transport ?? null,
  },
} as const satisfies Record<string, Field<AttemptOpening, AttemptClosing>>

type JsonOf<F> =
  | (F extends { readonly values: readonly (infer Value)[] }
      ? Value
      : F extends { readonly kind: infer K extends Kind }
        ? Json[K]
        : never)
  | (F extends { readonly nullable: true } ? null : never)
export type RecordOf<Fields> = { readonly [Name in keyof Fields]: JsonOf<Fields[Name]> }

/** A record as JSON. See "Record" in the contract. */
export type CallRecord = RecordOf<typeof CALL_FIELDS>
/** An attempt as JSON. See "Attempt" in the contract. */
export type AttemptRecord = RecordOf<typeof ATTEMPT_FIELDS>
/** One record with its attempts and all related data. */
export type CallDetail = CallRecord & {
  readonly attempt_log: readonly AttemptRecord[]
  readonly artifact: { readonly available: boolean; readonly bytes: number }
}

/** A call with the facts that its cost on another route depends on, as a row of the database. */
export interface PastCall
  extends Pick<
    CallRecord,
    | 'id'
    | 'endpoint'
    | 'state'
    | 'route'
    | 'session_id'
    | 'agent_id'
    | 'purpose'
    | 'key_name'
    | 'client'
    | 'cache'
    | 'latency_ms'
    | 'ttft_ms'
    | 'cost_usd'
    | 'flat_usd'
    | 'cache_lost'
  > {
  readonly replayed: number
  /** `provider/model` that answered, or was tried last. */
  readonly target: string
  /** The targets that failed before, one a line; null if none did. */
  readonly failed: string | null
  readonly tokens_input: number | null
  readonly tokens_output: number | null
  readonly tokens_cached_input: number | null
  readonly tokens_cache_write: number | null
  /** JSON. */
  readonly cost_missing: string | null
  /** JSON. */
  readonly usage: string | null
}

type CallFields = typeof CALL_FIELDS
type FilterOf<F> = F extends { readonly filter: infer Name extends string } ? Name : never
type FilterValue<F> = F extends { readonly kind: 'status' }
  ? number | 'ok' | 'error'
  : F extends { readonly kind: 'count' }
    ? 'some'
    : Exclude<JsonOf<F>, null>

/**
 * Filters for a list of calls. For a count, `some` means above zero. A status is an HTTP status, `ok` (completed) or
 * `error` (any other end).
 */
export type FieldFilter = {
  readonly [Name in keyof CallFields as FilterOf<CallFields[Name]>]?:
    | FilterValue<CallFields[Name]>
    | undefined
}
