// The block model: conversations and answers as ordered blocks, independent of any dialect, and the interface
// by which a dialect is translated (`DialectBlocks`). Used only across dialects: if client and provider speak
// the same one, bytes are relayed and none of this runs. Knows no dialect; a block keeps all it can, and a
// dialect that cannot write it names the loss (losses.ts).
import type { Tokens } from '../core/call.ts'
import type { Loss, Losses } from '../core/losses.ts'
import type { Facts } from '../models/facts.ts'
import type { ClientRequest } from './client-request.ts'
import type { Json } from './json.ts'
import type { StreamEvent } from './stream-event.ts'

/** Location of an image or a document. Base64 is never put into a text. */
export type Source =
  | { readonly kind: 'base64'; readonly mediaType: string; readonly data: string }
  | { readonly kind: 'url'; readonly url: string; readonly mediaType?: string }
  | { readonly kind: 'text'; readonly text: string }
  /** A file stored by the provider, by its id. */
  | { readonly kind: 'file'; readonly id: string }

/** Data that only the model's own family can read: a signature, redacted or encrypted reasoning. */
export interface Opaque {
  /** Family that made it, see `DialectBlocks.family`. */
  readonly family: string
  /** As the provider sent it; a dialect with several such fields joins them into one text. */
  readonly bytes: string
}

interface Cached {
  /** Cache hint at this place, as sent. */
  readonly cache?: unknown
}

export interface TextBlock extends Cached {
  readonly type: 'text'
  readonly text: string
}
export interface ImageBlock extends Cached {
  readonly type: 'image'
  readonly source: Source
  readonly detail?: string
}
/** A file to read: a PDF, a text, a sound, distinguished by the media type of its source. */
export interface DocumentBlock extends Cached {
  readonly type: 'document'
  readonly source: Source
  readonly name: string | null
}
/** Opaque data without a text is a block too, and belongs to the next block (Gemini: the call after it). */
export interface ReasoningBlock {
  readonly type: 'reasoning'
  readonly text: string
  readonly opaque: Opaque | null
}
/** `custom`: the input is a text, not JSON. `search`: the client looks for further tools and returns them. */
export type CallKind = 'function' | 'custom' | 'search'
export interface CallBlock extends Cached {
  readonly type: 'call'
  readonly id: string
  readonly name: string
  /** Group that the tool belongs to. */
  readonly namespace: string | null
  readonly kind: CallKind
  /** As the model wrote them: JSON, except for `custom`; empty if there are none. */
  readonly args: string
}
export interface ResultBlock extends Cached {
  readonly type: 'result'
  /** Id of the call that it answers. */
  readonly id: string
  readonly blocks: readonly Block[]
  readonly error: boolean
}
/** Content that the block model cannot express. Only its own dialect writes it; others name the loss. */
export interface UnknownBlock {
  readonly type: 'unknown'
  readonly dialect: string
  readonly raw: unknown
  readonly loss: Loss
}
export type Block =
  | TextBlock
  | ImageBlock
  | DocumentBlock
  | ReasoningBlock
  | CallBlock
  | ResultBlock
  | UnknownBlock

/** Instructions keep their place among the turns. Tool results are blocks of a user's turn. */
export interface Turn {
  readonly role: 'system' | 'developer' | 'user' | 'assistant'
  readonly blocks: readonly Block[]
}

export interface Tool extends Cached {
  readonly kind: CallKind
  readonly name: string
  readonly namespace: string | null
  readonly description: string | null
  /** JSON Schema of the arguments; null for `custom`. */
  readonly schema: Json | null
  /** Null if unspecified. */
  readonly strict: boolean | null
  /** Required syntax of a `custom` tool's input, as sent. */
  readonly grammar?: unknown
}

export type ToolChoice =
  | { readonly type: 'auto' | 'none' | 'required' }
  | { readonly type: 'tool'; readonly name: string; readonly namespace: string | null }

/** `name` null: any JSON object. */
export type Format =
  | { readonly type: 'json' }
  | {
      readonly type: 'schema'
      readonly name: string | null
      readonly schema: Json
      readonly strict: boolean | null
    }

/** Null if unspecified. */
export interface Sampling {
  readonly temperature: number | null
  readonly topP: number | null
  readonly topK: number | null
  readonly seed: number | null
  readonly presencePenalty: number | null
  readonly frequencyPenalty: number | null
}

export interface ReasoningWish {
  /** `none` to `max`, or a word of the dialect's own. */
  readonly effort: string | null
  /** Maximum tokens of reasoning. */
  readonly budget: number | null
  /** False: the model must not reason. Null if unspecified. */
  readonly on: boolean | null
}

/** A field of the request that some dialects share and the block model cannot express. */
export interface Extra {
  /** Owner of the field: a dialect that knows the owner's fields may write it. */
  readonly owner: 'anthropic' | 'openai' | 'google'
  readonly name: string
  readonly value: unknown
  /** The loss if it is not written. */
  readonly loss: Loss
}

/** A request in blocks. */
export interface Conversation {
  readonly turns: readonly Turn[]
  readonly tools: readonly Tool[]
  readonly choice: ToolChoice | null
  /** False: one call at a time. Null if unspecified. */
  readonly parallel: boolean | null
  readonly maxTokens: number | null
  readonly stop: readonly string[]
  readonly sampling: Sampling
  readonly reasoning: ReasoningWish
  readonly format: Format | null
  /** The end user, as named by the client. */
  readonly user: string | null
  readonly extras: readonly Extra[]
}

/** Reason why an answer ended, docs/contract.md "Translation". */
export type Stop = 'end' | 'length' | 'calls' | 'sequence' | 'refusal' | 'pause' | 'context'

/** Content of an answer; its usage is read by the dialect's `UpstreamDialect`. */
export interface AnswerBlocks {
  readonly blocks: readonly Block[]
  /** Null if unspecified. */
  readonly stop: Stop | null
  readonly sequence: string | null
}

/** An answer to write for a client. */
export interface Answer extends AnswerBlocks {
  readonly model: string
  readonly tokens: Tokens | null
}

/** A block that begins in a stream; its text, reasoning or arguments follow as deltas. */
export type Opened =
  | { readonly type: 'text' }
  | { readonly type: 'reasoning' }
  | Pick<CallBlock, 'type' | 'id' | 'name' | 'namespace' | 'kind'>

/** Events that a reader emits for a stream. Blocks may interleave; `key` identifies one and is used once. */
export type BlockEvent =
  | { readonly type: 'open'; readonly key: string | number; readonly block: Opened }
  | { readonly type: 'delta'; readonly key: string | number; readonly text: string }
  /** Opaque data of a reasoning block; the last one counts. */
  | { readonly type: 'seal'; readonly key: string | number; readonly opaque: Opaque }
  | { readonly type: 'close'; readonly key: string | number }
  /** A block that arrives whole: an image, or something unknown. */
  | { readonly type: 'whole'; readonly block: Block }
  | { readonly type: 'stop'; readonly stop: Stop; readonly sequence: string | null }

/** Events for a writer: one block open at a time, indexes 0, 1, 2 … (sequence.ts ensures it). */
export type SerialEvent =
  | { readonly type: 'start'; readonly model: string }
  | { readonly type: 'open'; readonly index: number; readonly block: Opened }
  | { readonly type: 'delta'; readonly index: number; readonly block: Opened; readonly text: string }
  | { readonly type: 'seal'; readonly index: number; readonly opaque: Opaque }
  | { readonly type: 'close'; readonly index: number; readonly block: Opened }
  | { readonly type: 'whole'; readonly index: number; readonly block: Block }
  | {
      readonly type: 'end'
      readonly stop: Stop
      readonly sequence: string | null
      readonly tokens: Tokens | null
    }

/** Reads a stream of one answer. Throws if an event is not of the dialect. */
export interface BlockReader {
  read(event: StreamEvent): readonly BlockEvent[]
}

/** Writes a stream of one answer: whole events with their blank lines; empty if there is nothing to write. */
export interface BlockWriter {
  write(event: SerialEvent): string
}

/** The provider that a request goes to or an answer comes from. */
export interface Peer {
  /** Family of the opaque reasoning that it makes and can read. */
  readonly family: string
  /** Host of its base URL: some providers name fields differently. */
  readonly host: string
  /** Requested model. */
  readonly model: string
  /** What is known of this model. */
  readonly facts: Facts
  /** False: it has refused reasoning of earlier turns, so none is written. */
  readonly returnsReasoning: boolean
}

/** The client that an answer is written for. */
export interface Asker {
  /** True if it wants usage in a stream. */
  readonly wantsUsage: boolean
  /** Path of its request, see `ClientRequest.path`. */
  readonly path?: string | undefined
}

/** The translation of a dialect, to and from blocks. */
export interface DialectBlocks {
  /** Family of its providers' opaque reasoning by default; null: each provider is a family of its own. */
  readonly family: string | null
  /** Names and kinds of tools that its providers accept; others are mapped, and mapped back in the answer. */
  readonly tools: {
    readonly name: RegExp
    readonly namespaces: boolean
    readonly custom: boolean
  }
  /** Returns true if a model with these facts accepts tools in this dialect, with such reasoning; absent: always. */
  takesTools?(facts: Facts, reasoning: ReasoningWish | null): boolean
  /** Output tokens that its requests ask for if the client sets no maximum; absent if they then ask for none. */
  readonly defaultOutput?: number
  /** The path of a request, not its body, asks for a stream. */
  readonly streamsByPath?: true
  /** Parses a client's request from its JSON body. Reports losses that every dialect has. */
  parseRequest(json: Json, request: Pick<ClientRequest, 'forwarded'>, losses: Losses): Conversation
  /**
   * Returns the body of a request to a provider, without `model` and `stream` if `UpstreamDialect.request`
   * adds them. Reports its losses.
   */
  writeRequest(conversation: Conversation, peer: Peer, losses: Losses): Record<string, unknown>
  /** Parses a provider's whole answer. */
  parseAnswer(json: Json, peer: Peer, losses: Losses): AnswerBlocks
  /** Writes a whole answer for a client. */
  writeAnswer(answer: Answer, asker: Asker, losses: Losses): Json | readonly Json[]
  openReader(peer: Peer, losses: Losses): BlockReader
  openWriter(asker: Asker, losses: Losses): BlockWriter
}

export const NO_SAMPLING: Sampling = {
  temperature: null,
  topP: null,
  topK: null,
  seed: null,
  presencePenalty: null,
  frequencyPenalty: null,
}

/** Reports the losses in dialects that have neither. A penalty of 0 is not a loss. */
export function withoutSeedAndPenalties(
  { seed, presencePenalty, frequencyPenalty }: Sampling,
  losses: Losses,
): void {
  losses.of(seed, 'sampling.seed')
  losses.of(presencePenalty || frequencyPenalty || null, 'sampling.penalties')
}

/** Returns a schema in OpenAI's format, which requires a name. */
export const namedSchema = ({ name, schema, strict }: Extract<Format, { type: 'schema' }>): Json => ({
  name: name ?? 'answer',
  schema,
  ...(strict === null ? {} : { strict }),
})

/** Joins the texts of some blocks. */
export const textOfBlocks = (blocks: readonly Block[], between = '\n\n'): string =>
  blocks.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join(between)

/** Returns the unread fields of a request as extras, each with its loss. */
export function extrasOf(
  json: Json,
  owner: Extra['owner'],
  read: ReadonlySet<string>,
  losses: Readonly<Record<string, Loss>>,
): Extra[] {
  return Object.entries(json).flatMap(([name, value]) =>
    read.has(name) || value === undefined || value === null
      ? []
      : [{ owner, name, value, loss: Object.hasOwn(losses, name) ? losses[name]! : 'unknown.field' }],
  )
}

/** Writes the extras whose fields the dialect shares, and reports the loss of the others. */
export function writeExtras(
  extras: readonly Extra[],
  owner: Extra['owner'],
  known: ReadonlySet<string>,
  body: Record<string, unknown>,
  losses: Losses,
): void {
  for (const extra of extras)
    if (extra.owner === owner && known.has(extra.name)) body[extra.name] = extra.value
    else losses.add(extra.loss)
}

/** Returns the dialect's word for an effort: the same one if there is one, else the nearest. */
export function nearestEffort(effort: string, words: readonly string[], losses: Losses): string | null {
  if (words.includes(effort)) return effort
  losses.add('effort')
  const at = EFFORTS.indexOf(effort)
  if (at < 0) return null
  const byDistance = words.toSorted(
    (a, b) => Math.abs(EFFORTS.indexOf(a) - at) - Math.abs(EFFORTS.indexOf(b) - at),
  )
  return byDistance[0] ?? null
}

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']

/** Returns the effort for a token budget; `budgetOfEffort` is the reverse. */
export const effortOfBudget = (tokens: number): string =>
  tokens <= 4_096 ? 'low' : tokens <= 16_384 ? 'medium' : 'high'
export const budgetOfEffort = (effort: string): number | null =>
  ({ minimal: 1_024, low: 4_096, medium: 16_384, high: 32_768, xhigh: 49_152, max: 63_999 })[effort] ?? null
