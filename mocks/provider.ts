// What a provider is to the witness: where it lives, how it judges a request, and how it words an answer or a
// refusal. Shapes, and how a request finds its endpoint. Knows no single provider, no recording and no socket.
import type { z } from 'zod'
import type { RequestKind } from './ledger.ts'

/** A request as it reached a provider. */
export interface Arrived {
  readonly method: string
  /** Below the base path, without a slash in front: `chat/completions`. */
  readonly path: string
  readonly query: URLSearchParams
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  /** The body as text; empty where there was none. */
  readonly text: string
  /** The body as JSON; undefined where it is none. */
  readonly json: unknown
}

/** What a request asks for, in the words that an answer is chosen by. */
export interface Wants {
  readonly model: string | null
  readonly stream: boolean
  /** Whether a streamed answer is to end with its usage. Where a provider always sends it: true. */
  readonly usage: boolean
  /** Whether this turn should call a tool: there are tools, and no tool has answered yet. */
  readonly tools: boolean
}

/** One endpoint of a provider. */
export interface Endpoint {
  readonly method: 'GET' | 'POST'
  /** Its path below the base path, and its name in recordings: `chat/completions`, `models/{model}:generateContent`. */
  readonly name: string
  /** Further paths below the base path that lead to it, placeholders and all. */
  readonly alsoAt?: readonly string[]
  readonly kind: RequestKind
  /**
   * The request body as the provider judges it: the types and ranges of the fields that it knows. Loose at the top
   * (`z.looseObject`): other members are left to `unknownField`. Null where there is no body.
   */
  readonly body: z.ZodObject | null
  /** Reads what is asked for, also from a body that is not valid. `params` holds what the placeholders matched. */
  wants(request: Arrived, params: Readonly<Record<string, string>>): Wants
  /** How a model speaks here; null where no model does, as with embeddings. */
  readonly speech: Speech | null
}

/** What a model says, in no provider's words. Every text is one event of a stream, or a part of the whole. */
export interface Said {
  readonly model: string
  readonly reasoning: readonly string[]
  readonly text: readonly string[]
  readonly calls: readonly ToolCall[]
  readonly finish: 'stop' | 'length' | 'tool_calls' | 'content_filter'
  /** Null: the answer leaves it out, although it was asked for. */
  readonly usage: Usage | null
}

export interface ToolCall {
  readonly id: string
  readonly name: string
  /** Joined they are JSON. */
  readonly arguments: readonly string[]
}

/** Tokens. `input` includes those that were cached, `output` those of the reasoning. */
export interface Usage {
  readonly input: number
  readonly output: number
  readonly cached: number
  readonly reasoning: number
}

/** How an endpoint puts what a model says into bytes. */
export interface Speech {
  /** The content type of a streamed answer. */
  readonly streamType: string
  /** The body of a whole answer. */
  whole(said: Said): unknown
  /** The events of a stream, each as it goes over the wire with its blank line, the closing one included. */
  events(said: Said, wants: Wants): readonly string[]
  /** An event that reports a failure inside a stream that began with 200. */
  failure(message: string): string
  /** What is sent to keep an idle stream open: a comment or a ping. */
  readonly keepAlive: string
  /** Whether a recorded event (its `data`, parsed) holds the usage and nothing else, so that it may be left out. */
  isUsageOnly?(data: unknown): boolean
}

/** Why a provider refuses, or fails. */
export type Refusal =
  | 'bad_key'
  | 'invalid_request'
  | 'unknown_model'
  | 'unknown_path'
  | 'rate_limited'
  | 'overloaded'
  | 'server_error'

export interface Refused {
  readonly status: number
  /** Beside `content-type` and `content-length`. */
  readonly headers: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly body: unknown
}

/** One provider. Its file in providers/ ends in `satisfies Provider`. */
export interface Provider {
  readonly name: string
  readonly origin: string
  /** Every origin of it, where each customer has one: `https://NAME.openai.azure.com`. */
  readonly origins?: RegExp
  /** Longest first; an endpoint's path comes after one of them. */
  readonly basePaths: readonly string[]
  readonly endpoints: readonly Endpoint[]
  /** The credential that a request shows, wherever this provider takes it from; null where it shows none. */
  credential(request: Arrived): string | null
  /** It asks for no key, and looks at none. */
  readonly keyless?: true
  /** What beside key and body it wants and does not find, such as a version header; null where nothing is missing. */
  lacks?(request: Arrived): { readonly problem: string; readonly refused: Refused } | null
  /** How this provider words it, with the status that it really sends. `param`: the field that is to blame. */
  refusal(kind: Refusal, message: string, param?: string): Refused
  /** How it says that a field of the body is not valid; left out: as OpenAI does. */
  invalidField?(field: string, issue: string): string
  /** What it says to a top-level field that it does not know; null where it ignores such fields. */
  unknownField(name: string): string | null
}

/** The endpoint for a request, with what its placeholders matched; null where the provider has none there. */
export function endpointOf(
  { endpoints }: Provider,
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

/** The token of `Authorization: Bearer TOKEN`; null where there is none. */
export const bearer = ({ headers }: Arrived): string | null =>
  /^Bearer +(.+)$/i.exec(headers.authorization ?? '')?.[1] ?? null

/** One Server-Sent Event: `data` as JSON, or as it is where it is text; `name` only where it is given. */
export const event = (data: unknown, name?: string): string =>
  `${name === undefined ? '' : `event: ${name}\n`}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`
