// Interface of a mock provider: its addresses, its validation of requests, and its format of answers and
// errors. Contains types and the lookup of a request's endpoint. Independent of single providers, recordings
// and sockets.
import type { z } from 'zod'
import type { MockAnswer } from './answer.ts'
import type { DeviatingDialect } from './deviations/read.ts'
import type { Fit } from './recording/fit.ts'
import type { Issue } from './schemas/refusals.ts'

/** Request as a provider received it. */
export interface Arrived {
  readonly method: string
  /** Path below the base path, without a leading slash: `chat/completions`. */
  readonly path: string
  /** Whole path as received, percent-encoded, because a signature covers it. */
  readonly rawPath: string
  readonly query: URLSearchParams
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  /** Body as text; empty for a request without a body. */
  readonly text: string
  /** Body as JSON, or as a form at an endpoint for forms; otherwise undefined. */
  readonly json: unknown
  /** Body as received. */
  readonly bytes: Uint8Array
  /** Address of the provider's base path, as configured in the client. */
  readonly base: string
}

/** Returns a complete request from some of its fields. */
export const arrivedAt = (known: Pick<Arrived, 'method' | 'path'> & Partial<Arrived>): Arrived => ({
  ...{ rawPath: known.path, query: new URLSearchParams(), headers: {}, text: '', json: undefined },
  ...{ bytes: new Uint8Array(), base: '' },
  ...known,
})

/** Properties of a request that determine the answer. */
export interface Wants {
  readonly model: string | null
  readonly stream: boolean
  /** True if a streamed answer must end with its usage; always true for providers that always send usage. */
  readonly usage: boolean
  /** True if this turn should call a tool: the request has tools, and no results yet. */
  readonly tools: boolean
}

export interface Endpoint {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /**
   * Path below the base path, also used as the endpoint's name in recordings: `chat/completions`,
   * `models/{model}:generateContent`.
   */
  readonly name: string
  /** More paths of the endpoint below the base path, with placeholders. */
  readonly alsoAt?: readonly string[]
  /** True if the endpoint's path accepts WebSockets. */
  readonly hasWebSocket?: true
  /**
   * Schema that the provider uses to validate a body: types and ranges of known fields. Loose at the top
   * (`z.looseObject`), because `unknownField` handles other members. Null for no body.
   */
  readonly body: z.ZodObject | null
  /**
   * True for endpoints of stored files or batches. Requests to these endpoints are answered from the provider's
   * object store, without recordings.
   */
  readonly isKept?: true
  /** True if the body is a form with files, not JSON. */
  readonly takesForm?: true
  /**
   * Reads the request's properties, even from an invalid body. `params` holds the matches of the
   * placeholders.
   */
  wants(request: Arrived, params: Readonly<Record<string, string>>): Wants
  /** Format of a model's output; null for answers that are not text, such as embeddings. */
  readonly speech: Speech | null
  /** Makes the encoder of one stream, for streams other than server-sent events. */
  readonly encoder?: () => (events: Uint8Array) => Uint8Array
  /** Adapts a recorded answer to the number of items requested; absent if the answer always has one item. */
  readonly fit?: Fit
  /**
   * Returns true if a recorded event, given as its parsed `data`, does not belong in the answer to this
   * request.
   */
  readonly leavesOut?: (event: unknown, request: unknown) => boolean
  /** Format of errors, if it is not the provider's usual format. */
  readonly refusal?: MockProvider['refusal']
}

/**
 * Output of a model, independent of the dialect. Each text is one event of a stream, or a part of a whole
 * answer.
 */
export interface ModelOutput {
  readonly model: string
  readonly reasoning: readonly string[]
  readonly text: readonly string[]
  readonly calls: readonly ToolCall[]
  readonly finish: 'stop' | 'length' | 'tool_calls' | 'content_filter'
  /** Usage; null if the answer omits the usage although the request asked for it. */
  readonly usage: MockUsage | null
}

export interface ToolCall {
  readonly id: string
  readonly name: string
  /** Pieces of the arguments' JSON. */
  readonly arguments: readonly string[]
}

/**
 * Tokens of a call, and how it was served. `input` includes tokens read from and written to a cache; `output`
 * includes reasoning.
 */
export interface MockUsage {
  readonly input: number
  readonly output: number
  readonly cached: number
  readonly reasoning: number
  /** Input tokens written to a cache for five minutes, and for an hour. */
  readonly written?: number | undefined
  readonly written_1h?: number | undefined
  readonly tier?: string | undefined
  readonly speed?: string | undefined
  readonly region?: string | undefined
  /** Web searches by the provider. */
  readonly searches?: number | undefined
  /** Tokens of a compaction, which the counts above leave out. */
  readonly compaction?: { readonly input: number; readonly output: number } | undefined
  /** Cost of the call as the provider reports it, US dollars. */
  readonly cost?: number | undefined
}

/** Encoder of a model's output for an endpoint. */
export interface Speech {
  /** Dialect of the deviations that can take the place of an answer; null if its frames are of another kind. */
  readonly dialect: DeviatingDialect | null
  readonly streamType: string
  /** Returns the body of a whole answer. */
  whole(said: ModelOutput): unknown
  /** Returns all events of a stream as sent, each with its blank line. */
  events(said: ModelOutput, wants: Wants): readonly string[]
  /** Returns the event that reports an error after the stream began with 200. */
  failure(message: string): string
  /** Keepalive of an idle stream: a comment or a ping. */
  readonly keepAlive: string
  /**
   * Returns true if a recorded event has only usage in its parsed `data`, so that the event can be left out.
   */
  isUsageOnly?(data: unknown): boolean
}

/** Reason why a provider refuses, or fails. */
export type ProviderRefusal =
  | 'bad_key'
  | 'invalid_request'
  | 'unknown_model'
  | 'unknown_path'
  | 'rate_limited'
  | 'overloaded'
  | 'server_error'

export interface RefusedRequest {
  readonly status: number
  /** In addition to `content-type` and `content-length`. */
  readonly headers: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly body: unknown
}

/** Files and batches that a provider stores for one test. */
export interface ObjectStore {
  /**
   * Answers a valid request about stored objects; returns null for other requests. `play` answers a batch's
   * request as the provider would answer it outside a batch.
   */
  answer(request: Arrived, account: string | null, play: Play): MockAnswer | null
}

export type Play = (path: string, body: unknown) => BatchAnswer

export interface BatchAnswer {
  readonly status: number
  readonly body: unknown
}

export type KeptJson = Readonly<Record<string, unknown>>

/** Answers of an endpoint that the provider stores, and that a client can continue, read, cancel and delete. */
export interface KeptFormat {
  /** Path of the endpoint, and the beginning of the paths about one answer: `responses`. */
  readonly path: string
  /** Value of `object` in an answer. */
  readonly object: string
  /** Member of a request that names the answer to continue. */
  readonly previous: string
  /** Requests about one answer, as method and last part of the path: `POST /cancel`. */
  readonly asked: readonly string[]
  /** Time for which an answer is stored, ms. */
  readonly keptMs: number
  /** First status of a background answer. */
  readonly firstStatus: string
  /** Format of errors about one answer, if it is not the provider's usual format. */
  readonly refusal?: MockProvider['refusal']
  /** Returns the reason why a request contradicts itself, or null. */
  problemIn(request: KeptJson): string | null
  /** Returns the answer that these events of a stream are; undefined if the stream has no good end. */
  answerIn(events: readonly KeptJson[]): KeptJson | undefined
  /** Returns an answer without the fields that are only known at its end. */
  unfinished(answer: KeptJson, status: string): KeptJson
  /** Returns the input of a request, as the provider shows it. */
  inputOf(input: unknown): unknown
  /** Returns the answer to a deletion. */
  deleted(id: string): unknown
  /** Returns the refusal of a request that continues a missing answer. */
  lost(id: string): Parameters<MockProvider['refusal']>
  /** Returns the message about an answer that cannot be read. */
  missing(id: string): string
  /** Returns the message about a completed answer that a client cancels; null if it is only shown. */
  notCancelled(id: string): string | null
}

/** Provider. Its file in providers/ ends in `satisfies Provider`. */
export interface MockProvider {
  readonly name: string
  readonly origin: string
  /** Pattern of the provider's origins, if each customer has their own: `https://NAME.openai.azure.com`. */
  readonly origins?: RegExp
  /** Base paths, longest first; an endpoint's path follows one of them. */
  readonly basePaths: readonly string[]
  readonly endpoints: readonly Endpoint[]
  /** Returns the credential in a request, wherever this provider expects it, or null. */
  credential(request: Arrived): string | null
  /** Verifies a signature made with `key`; returns null if the request is not signed. */
  verify?(request: Arrived, key: string): RefusedRequest | 'match' | null
  /** True if the provider does not check keys. */
  readonly keyless?: true
  /** Returns a missing requirement other than key and body, such as a version header; otherwise null. */
  lacks?(request: Arrived): { readonly problem: string; readonly refused: RefusedRequest } | null
  /** True if the provider serves other providers' models, so that their recordings show its answers. */
  readonly isHost?: true
  /** True if the provider stores conversations between turns, see server/kept-answers.ts. */
  readonly holdsThreads?: true
  /** Answers that the provider stores, see server/kept-answers.ts; absent if it stores none. */
  readonly keeps?: KeptFormat
  /** Creates the provider's store of files and batches; absent if it has none. */
  objectStore?(): ObjectStore
  /**
   * Formats an error with the status that the provider really sends. `param`: the offending field; `code`:
   * OpenAI's code, if it differs from the kind's default.
   */
  refusal(kind: ProviderRefusal, message: string, param?: string, code?: string): RefusedRequest
  /** Formats the message for an invalid body field; default: OpenAI's message. */
  invalidField?(field: string, issue: Issue): string
  /** Returns the message for an unknown top-level field; null if such fields are ignored. */
  unknownField(name: string): string | null
}

/**
 * Returns the endpoint of a request, with the matches of its placeholders; null if the provider has no
 * endpoint there.
 */
export function endpointOf(
  { endpoints }: MockProvider,
  method: string,
  path: string,
): { endpoint: Endpoint; params: Readonly<Record<string, string>> } | null {
  for (const endpoint of endpoints)
    for (const name of [endpoint.name, ...(endpoint.alsoAt ?? [])]) {
      const found = endpoint.method === method && patternOf(name).exec(path)
      if (found) return { endpoint, params: found.groups ?? {} }
    }
  return null
}

const patterns = new Map<string, RegExp>()

function patternOf(name: string): RegExp {
  let pattern = patterns.get(name)
  if (!pattern) {
    const source = name.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{(\w+)\}/g, '(?<$1>.+)')
    pattern = new RegExp(`^${source}$`)
    patterns.set(name, pattern)
  }
  return pattern
}

/** Returns the token of `Authorization: Bearer TOKEN`, or null. */
export const bearer = ({ headers }: Arrived): string | null =>
  /^Bearer +(.+)$/i.exec(headers.authorization ?? '')?.[1] ?? null

/** Formats a server-sent event: text `data` unchanged, other `data` as JSON; `name` is optional. */
export const event = (data: unknown, name?: string): string =>
  `${name === undefined ? '' : `event: ${name}\n`}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`
