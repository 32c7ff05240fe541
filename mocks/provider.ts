// Interface of a mock provider: its addresses, how it judges a request, and how it words an answer or an
// error. Types, and the lookup of a request's endpoint. Knows no single provider, no recording and no socket.
import type { z } from 'zod'
import type { MockAnswer } from './answer.ts'
import type { Fit } from './recording/fit.ts'
import type { Issue } from './schemas/field-errors.ts'

/** Request as it reached a provider. */
export interface Arrived {
  readonly method: string
  /** Path below the base path, without a leading slash: `chat/completions`. */
  readonly path: string
  /** Whole path as it arrived, percent-encoded: a signature covers it. */
  readonly rawPath: string
  readonly query: URLSearchParams
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  /** Body as text; empty if there was none. */
  readonly text: string
  /** Body as JSON, or as a form at an endpoint that takes one; undefined if it is neither. */
  readonly json: unknown
  /** Body as it arrived. */
  readonly bytes: Uint8Array
  /** Address of the provider's base path, as the client has it. */
  readonly base: string
}

/** Returns a request of which only some is known. */
export const arrivedAt = (known: Pick<Arrived, 'method' | 'path'> & Partial<Arrived>): Arrived => ({
  ...{ rawPath: known.path, query: new URLSearchParams(), headers: {}, text: '', json: undefined },
  ...{ bytes: new Uint8Array(), base: '' },
  ...known,
})

/** Properties of a request that determine the answer. */
export interface Wants {
  readonly model: string | null
  readonly stream: boolean
  /** True if a streamed answer must end with its usage; always true for a provider that always sends it. */
  readonly usage: boolean
  /** True if this turn should call a tool: there are tools, and none has returned a result yet. */
  readonly tools: boolean
}

export interface Endpoint {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /**
   * Path below the base path, and its name in recordings: `chat/completions`,
   * `models/{model}:generateContent`.
   */
  readonly name: string
  /** Further paths of it below the base path, with placeholders. */
  readonly alsoAt?: readonly string[]
  /** True if a WebSocket can be opened at its path. */
  readonly hasWebSocket?: true
  /**
   * Request body as the provider judges it: types and ranges of known fields. Loose at the top
   * (`z.looseObject`), because other members are left to `unknownField`. Null for no body.
   */
  readonly body: z.ZodObject | null
  /** True if it is about files or batches that the provider keeps: answered from its object store, and not recorded. */
  readonly isKept?: true
  /** True if the body is a form with files, and no JSON. */
  readonly takesForm?: true
  /**
   * Reads the request's properties, even from an invalid body. `params` holds the matches of the
   * placeholders.
   */
  wants(request: Arrived, params: Readonly<Record<string, string>>): Wants
  /** Format of a model's output; null without a model, as for embeddings. */
  readonly speech: Speech | null
  /** Makes the encoder of one stream, if it goes out as anything but server-sent events. */
  readonly encoder?: () => (events: Uint8Array) => Uint8Array
  /** Adapts a recorded answer to the number of items requested; absent if there is always one. */
  readonly fit?: Fit
}

/**
 * Output of a model, independent of the dialect. Each text is one event of a stream, or a part of the whole.
 */
export interface ModelOutput {
  readonly model: string
  readonly reasoning: readonly string[]
  readonly text: readonly string[]
  readonly calls: readonly ToolCall[]
  readonly finish: 'stop' | 'length' | 'tool_calls' | 'content_filter'
  /** Null if the answer omits it although it was requested. */
  readonly usage: MockUsage | null
}

export interface ToolCall {
  readonly id: string
  readonly name: string
  /** Pieces that join to JSON. */
  readonly arguments: readonly string[]
}

/** Tokens, and how the call was served. `input` includes cached and written ones, `output` reasoning. */
export interface MockUsage {
  readonly input: number
  readonly output: number
  readonly cached: number
  readonly reasoning: number
  /** Input written to a cache for five minutes, and for an hour. */
  readonly written?: number | undefined
  readonly written_1h?: number | undefined
  readonly tier?: string | undefined
  readonly speed?: string | undefined
  readonly region?: string | undefined
  /** Searches that the provider made. */
  readonly searches?: number | undefined
  /** A compaction in addition to the answer, which the counts above leave out. */
  readonly compaction?: { readonly input: number; readonly output: number } | undefined
  /** Cost of the call as the provider reports it, US dollars. */
  readonly cost?: number | undefined
}

/** Encoder of a model's output for an endpoint. */
export interface Speech {
  readonly streamType: string
  /** Returns the body of a whole answer. */
  whole(said: ModelOutput): unknown
  /** Returns the events of a stream as sent, each with its blank line, including the final one. */
  events(said: ModelOutput, wants: Wants): readonly string[]
  /** Returns an event that reports a failure in a stream that began with 200. */
  failure(message: string): string
  /** Data that keeps an idle stream open: a comment or a ping. */
  readonly keepAlive: string
  /**
   * Returns true if a recorded event (its parsed `data`) holds only the usage, so that it may be left out.
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

/** What a provider keeps of one test: files and batches. */
export interface ObjectStore {
  /**
   * Answers a valid request about what is kept; null for any other. `play` answers a request of a batch as the
   * provider would answer it by itself.
   */
  answer(request: Arrived, account: string | null, play: Play): MockAnswer | null
}

export type Play = (path: string, body: unknown) => BatchAnswer

export interface BatchAnswer {
  readonly status: number
  readonly body: unknown
}

/** Provider. Its file in providers/ ends in `satisfies Provider`. */
export interface MockProvider {
  readonly name: string
  readonly origin: string
  /** Pattern of its origins, if each customer has one: `https://NAME.openai.azure.com`. */
  readonly origins?: RegExp
  /** Longest first; an endpoint's path follows one of them. */
  readonly basePaths: readonly string[]
  readonly endpoints: readonly Endpoint[]
  /** Returns the credential in a request, wherever this provider expects it, or null. */
  credential(request: Arrived): string | null
  /** Verifies a signature made with `key`; returns null if the request has another credential. */
  verify?(request: Arrived, key: string): RefusedRequest | 'match' | null
  /** True if it requires no key, and checks none. */
  readonly keyless?: true
  /** Returns a missing requirement other than key and body, such as a version header, or null. */
  lacks?(request: Arrived): { readonly problem: string; readonly refused: RefusedRequest } | null
  /** True if its models are other providers', so that their recordings show its answers. */
  readonly isHost?: true
  /** True if it stores conversations between turns, see server/threads.ts. */
  readonly holdsThreads?: true
  /** True if it keeps responses, see server/kept-responses.ts. */
  readonly keepsResponses?: true
  /** Creates the files and batches that it keeps; absent if it keeps none. */
  objectStore?(): ObjectStore
  /**
   * Formats an error with the status that the provider really sends. `param`: the offending field; `code`:
   * OpenAI's, if it is not that of the kind.
   */
  refusal(kind: ProviderRefusal, message: string, param?: string, code?: string): RefusedRequest
  /** Formats the message for an invalid body field; default as OpenAI. */
  invalidField?(field: string, issue: Issue): string
  /** Returns the message for an unknown top-level field; null if such fields are ignored. */
  unknownField(name: string): string | null
}

/**
 * Returns the endpoint of a request, with the matches of its placeholders; null if the provider has none
 * there.
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

/** Formats a server-sent event: `data` as JSON, or as it is if it is text; `name` is optional. */
export const event = (data: unknown, name?: string): string =>
  `${name === undefined ? '' : `event: ${name}\n`}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`
