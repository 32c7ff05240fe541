// Dialect: a wire format of calls to gateways and providers. Checks work with calls, texts, tool calls,
// usage, errors and ends; each dialect's file maps these to its wire format. Types only.
import type { Target } from '../target/schema.ts'

export const TESTED_DIALECTS = [
  'chat',
  'messages',
  'responses',
  'gemini',
  'interactions',
  'embeddings',
  'images',
] as const
export type DialectName = (typeof TESTED_DIALECTS)[number]

/** Dialects with answers that are not text and are not streamed here. */
export const WORDLESS: readonly DialectName[] = ['embeddings', 'images']

/** Content of an answer, streamed or not, independent of the dialect. */
export interface Reading {
  /** Text of all choices in index order, joined by SEPARATOR. */
  readonly content: string
  readonly reasoning: string
  readonly model: string | null
  /** Tool calls by choice and index: id, name and joined arguments. */
  readonly tools: readonly {
    readonly choice: number
    readonly index: number
    id: string
    name: string
    arguments: string
  }[]
  /** Finish reasons in order of arrival, in the words of chat: stop, length, tool_calls, content_filter. */
  readonly finish: readonly { readonly choice: number; readonly reason: string }[]
  /** All usage received, with chat's names; unreported members are absent. */
  readonly usage: readonly unknown[]
  readonly errors: readonly unknown[]
  /** Number of end marks, and true if anything came after the first. */
  readonly done: number
  readonly afterDone: boolean
  /** Events with data that is not JSON or the end mark. The official clients fail on such events. */
  readonly unreadable: number
}

/** Parameters of a call. */
export interface Asked {
  readonly model: string
  readonly prompt: string
  readonly stream: boolean
  /** Extra members of the body. */
  readonly body: object
}

export interface Dialect {
  readonly name: DialectName
  /** Path of calls. The part after `/v1/` is the endpoint's name at a provider. */
  readonly path: string
  /** Returns the path of a call; present if the path depends on the call. */
  pathOf?(asked: Asked): string
  /** Pattern of the paths of calls; present if they do not end like `path`. */
  readonly calls?: RegExp
  /** Description of the end mark of a stream. */
  readonly end: string
  /** Headers that the dialect's clients send with every call. */
  readonly headers: Readonly<Record<string, string>>
  request(asked: Asked): object
  /** Member of a request that limits the tokens of the answer; null if answers have none. */
  readonly limit: string | null
  /** Reads a body as the official clients do. */
  read(body: string): Reading
  /** Returns true if a body is an error in this dialect's format. */
  isError(body: string): boolean
  /** Description of the error format. */
  readonly errorShape: string
  /** Bodies that are invalid in this dialect, by their mistake; MODEL stands for a model's id. */
  readonly malformed: Readonly<Record<string, string>>
}

export const delta = (content: string) => ({ said: content })

export const END = { ending: true } as const

/**
 * Makes the first target that is tried fail, and all other targets answer. If a route has one model at two
 * deployments, the mock cannot distinguish them, so only the first request fails.
 */
export const firstTargetFails = (
  status: number,
  { targets }: Pick<Target['models']['logical'][number], 'targets'>,
) => [
  { ...scriptedFailure(status), ...(areDifferent(targets) && { same_target: true }) },
  { scenario: 'plain' },
]

/** Returns true if the mock can distinguish at least two targets. */
export const areDifferent = (
  targets: readonly { readonly provider: string; readonly model: string }[],
): boolean => new Set(targets.map(({ provider, model }) => `${provider}/${model}`)).size > 1

export const scriptedFailure = (status: number) => ({ status, refusal: `synthetic ${status}` })
