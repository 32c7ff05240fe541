// The block model: conversations and answers as ordered blocks, independent of any dialect. `DialectBlocks`
// is the interface for translating a dialect. Blocks are used only across dialects; if client and provider
// speak the same dialect, bytes are relayed unparsed. A dialect that cannot write a block reports the loss
// (losses.ts).
import type { Tokens } from '../core/call.ts'
import type { Loss, Losses } from '../core/losses.ts'
import type { Facts } from '../models/facts.ts'
import type { Json } from './json.ts'

/** Location of an image or a document. Base64 data is never inserted into text. */
export type Source =
  | { readonly kind: 'base64'; readonly mediaType: string; readonly data: string }
  | { readonly kind: 'url'; readonly url: string; readonly mediaType?: string }
  | { readonly kind: 'text'; readonly text: string }
  /** The id of a file that the provider stores. */
  | { readonly kind: 'file'; readonly id: string }

/** Data that only the model's own family can read: a signature, redacted or encrypted reasoning. */
export interface Opaque {
  /** Family of the model that produced the data, see `DialectBlocks.family`. */
  readonly family: string
  /** The data as the provider sent it. A dialect with several opaque fields joins them into one text. */
  readonly bytes: string
}

interface Cached {
  /** Cache hint at this place, as sent. */
  readonly cache?: unknown
}

interface TextBlock extends Cached {
  readonly type: 'text'
  readonly text: string
}
export interface ImageBlock extends Cached {
  readonly type: 'image'
  readonly source: Source
  readonly detail?: string
}
/** A file to read: a PDF, a text file or an audio clip, distinguished by the media type of its source. */
export interface DocumentBlock extends Cached {
  readonly type: 'document'
  readonly source: Source
  readonly name: string | null
}
/**
 * A block may have opaque data and no text. Its data then belongs to the next block (Gemini: the next call).
 */
export interface ReasoningBlock {
  readonly type: 'reasoning'
  readonly text: string
  readonly opaque: Opaque | null
}
/**
 * `custom`: the input is plain text, not JSON. `search`: the client looks for more tools and returns them.
 */
export type CallKind = 'function' | 'custom' | 'search'
export interface CallBlock extends Cached {
  readonly type: 'call'
  readonly id: string
  readonly name: string
  /** Group that the tool belongs to. */
  readonly namespace: string | null
  readonly kind: CallKind
  /** Arguments as the model wrote them: JSON, except for `custom`; empty if there are none. */
  readonly args: string
}
export interface ResultBlock extends Cached {
  readonly type: 'result'
  /** Id of the call with this result. */
  readonly id: string
  readonly blocks: readonly Block[]
  readonly error: boolean
}
/**
 * Content that the block model cannot express. The dialect of the content writes it back; the other dialects
 * report the loss.
 */
interface UnknownBlock {
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

/**
 * One turn of a conversation. Instructions keep their place among the turns; tool results belong to the
 * user's turn.
 */
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

/** Required format of an answer: `json` is any JSON object. */
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
  /** A word from `none` to `max`, or a word that only the dialect defines. */
  readonly effort: string | null
  /** Maximum tokens of reasoning. */
  readonly budget: number | null
  /** False: the model must not reason. Null if unspecified. */
  readonly on: boolean | null
}

/** A request field that some dialects share, but that the block model cannot express. */
export interface Extra {
  /** Vendor that defined the field. Dialects that support this vendor's fields may write it. */
  readonly owner: 'anthropic' | 'openai' | 'google'
  readonly name: string
  readonly value: unknown
  /** Loss to report if the field is not written. */
  readonly loss: Loss
}

/** A request, converted to blocks. */
export interface Conversation {
  readonly turns: readonly Turn[]
  readonly tools: readonly Tool[]
  readonly choice: ToolChoice | null
  /** False if the model may make only one call at a time. Null if unspecified. */
  readonly parallel: boolean | null
  readonly maxTokens: number | null
  readonly stop: readonly string[]
  readonly sampling: Sampling
  readonly reasoning: ReasoningWish
  readonly format: Format | null
  /** The end user's name, as sent by the client. */
  readonly user: string | null
  readonly extras: readonly Extra[]
}

/** Reason why an answer ended. See "Translation" in docs/contract.md. */
export type Stop = 'end' | 'length' | 'calls' | 'sequence' | 'refusal' | 'pause' | 'context'

/** Content of an answer. The dialect's `UpstreamDialect` reads the usage. */
export interface AnswerBlocks {
  readonly blocks: readonly Block[]
  /** Null if unspecified. */
  readonly stop: Stop | null
  readonly sequence: string | null
}

/** An answer to write for a client. */
export interface Answer extends AnswerBlocks {
  /** The provider's id of the answer, if the client may name it; null for a new one. */
  readonly id: string | null
  readonly model: string
  readonly tokens: Tokens | null
}

/** The start of a block in a stream. Text, reasoning or arguments follow as deltas. */
export type Opened =
  | { readonly type: 'text' }
  | { readonly type: 'reasoning' }
  | Pick<CallBlock, 'type' | 'id' | 'name' | 'namespace' | 'kind'>

/**
 * Events that a reader emits for a stream. Blocks may interleave; each has its own `key`, which is never
 * reused.
 */
export type BlockEvent =
  | { readonly type: 'open'; readonly key: string | number; readonly block: Opened }
  | { readonly type: 'delta'; readonly key: string | number; readonly text: string }
  /** Opaque data of a reasoning block. The last event of this type counts. */
  | { readonly type: 'seal'; readonly key: string | number; readonly opaque: Opaque }
  | { readonly type: 'close'; readonly key: string | number }
  /** A block that arrives in one piece: an image or unknown content. */
  | { readonly type: 'whole'; readonly block: Block }

/**
 * Events for a writer. Only one block is open at a time, and indexes are 0, 1, 2 … (`Sequence` enforces both
 * rules).
 */
export type SerialEvent =
  /** `id`: the provider's id of the answer, if the client may name it; null for a new one. */
  | { readonly type: 'start'; readonly model: string; readonly id: string | null }
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

/**
 * Writes the stream of one answer as complete events with their blank lines. Returns an empty text if there
 * is nothing to write.
 */
export interface BlockWriter {
  write(event: SerialEvent): string
}

/** The provider of a request or an answer. */
export interface Peer {
  /** Family of the opaque reasoning that the provider produces and can read. */
  readonly family: string
  /** Host of the provider's base URL. Some providers use other field names. */
  readonly host: string
  /** Requested model. */
  readonly model: string
  /** Known facts about this model. */
  readonly facts: Facts
  /** False if the provider has refused reasoning of earlier turns; then the request contains none. */
  readonly returnsReasoning: boolean
}

/** The client that receives an answer. */
export interface Asker {
  /** True if the client wants usage in a stream. */
  readonly wantsUsage: boolean
  /** Path of the client's request, see `ClientRequest.path`. */
  readonly path?: string | undefined
}

/** Translates a dialect to blocks and back. */
export interface DialectBlocks {
  /**
   * Default family for opaque reasoning of this dialect's providers. Null if each provider is its own family.
   */
  readonly family: string | null
  /**
   * Tool names and kinds that providers of this dialect accept. Other names and kinds are mapped, and mapped back in
   * answers.
   */
  readonly tools: {
    readonly name: RegExp
    readonly namespaces: boolean
    readonly custom: boolean
  }
  /**
   * Returns true if a model accepts tools in this dialect with this reasoning setting. Absent if every model
   * does.
   */
  takesTools?(facts: Facts, reasoning: ReasoningWish | null): boolean
  /** Output limit in tokens for requests without a maximum. Absent if the dialect requires no limit. */
  readonly defaultOutput?: number
  /** True if the path of a request, not its body, selects streaming. */
  readonly streamsByPath?: true
  /** Parses a client's request from its JSON body. Reports the losses that occur in every dialect. */
  parseRequest(json: Json, request: Pick<ClientRequest, 'forwarded'>, losses: Losses): Conversation
  /**
   * Returns the body of a provider request and reports its losses. Omits `model` and `stream` if
   * `UpstreamDialect.request` adds them.
   */
  writeRequest(conversation: Conversation, peer: Peer, losses: Losses): Record<string, unknown>
  /** Writes a whole answer for a client. */
  writeAnswer(answer: Answer, asker: Asker, losses: Losses): Json | readonly Json[]
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

/** Reports the losses in dialects that have neither a seed nor penalties. A penalty of 0 is not a loss. */
export function withoutSeedAndPenalties(
  { seed, presencePenalty, frequencyPenalty }: Sampling,
  losses: Losses,
): void {
  losses.of(seed, 'sampling.seed')
  losses.of(presencePenalty || frequencyPenalty || null, 'sampling.penalties')
}

/** Returns a schema in OpenAI's format. A name is required there. */
export const namedSchema = ({ name, schema, strict }: Extract<Format, { type: 'schema' }>): Json => ({
  name: name ?? 'answer',
  schema,
  ...(strict === null ? {} : { strict }),
})

/** Joins the texts of some blocks. */
export const textOfBlocks = (blocks: readonly Block[], between = '\n\n'): string =>
  blocks.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join(between)

/** Returns the unread fields of a request as extras, each with the loss to report. */
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

/** Writes the extras that the dialect supports and reports the other extras as losses. */
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

/** Returns the same effort if the dialect has a word for it; otherwise the nearest effort. */
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

/** Parses an address or a `data:` URL. */
export function sourceOf(url: string): Source {
  const [, mediaType, data] = /^data:([^;,]*)(?:;[^,]*)?;base64,(.*)$/s.exec(url) ?? []
  return data === undefined ? { kind: 'url', url } : { kind: 'base64', mediaType: mediaType!, data }
}

/** The parts of a request that the gateway needs. Holds the body's text, never the parsed body. */
export interface ClientRequest {
  /** Requested id for routing, byte for byte as sent. */
  readonly model: string
  readonly stream: boolean
  /** Body as received, valid JSON. */
  readonly text: string
  /** False if stream events with only usage are not passed on. */
  readonly wantsUsage: boolean
  /** Headers for a provider of the same dialect, alternating names and values. */
  readonly forwarded: readonly string[]
  /** Query for a provider of the same dialect, without the `?`. */
  readonly query: string
  /** Path of the endpoint, if the path selects the operation. */
  readonly path?: string
  /** True if the provider continues in the background after its first answer. */
  readonly isBackground?: true
  /** The conversation that this request continues, if the gateway has it. */
  readonly continues?: {
    /** Provider that also stores the conversation and accepts the request unchanged; null if there is none. */
    readonly keeper: string | null
    /** The request with the whole conversation. */
    readonly text: string
  }
  /** Losses of the request at every target. */
  readonly lost?: readonly Loss[]
  /** False if a provider has refused reasoning of earlier turns; then a translation omits it. */
  readonly returnsReasoning?: false
}

// Opaque reasoning of one family travels in a field of another dialect as the base64 of `wb1:<family>:<bytes>`, because
// Google's Python client takes only base64 for a signature, and returns it in the alphabet for URLs. Clients return the
// field unchanged otherwise, and it is unpacked for its own family only.

const MARK = 'wb1:'
/** Begin of the base64 of every text that begins with the mark. */
const PACKED_MARK = 'd2IxO'

/** An empty text means that the provider sent reasoning of this family without opaque data. */
export const packOpaque = ({ family, bytes }: Opaque): string =>
  Buffer.from(`${MARK}${encodeURIComponent(family)}:${bytes}`).toString('base64')

/** Returns the packed reasoning; null for any other text. */
export function unpackOpaque(text: string): Opaque | null {
  // Earlier versions wrote only the bytes in base64.
  const isOld = text.startsWith(MARK)
  if (!isOld && !text.startsWith(PACKED_MARK)) return null
  const packed = isOld ? text : Buffer.from(text, 'base64').toString('utf8')
  const colon = packed.indexOf(':', MARK.length)
  if (colon < 0) return null
  const bytes = packed.slice(colon + 1)
  try {
    const family = decodeURIComponent(packed.slice(MARK.length, colon))
    return { family, bytes: isOld ? Buffer.from(bytes, 'base64').toString('utf8') : bytes }
  } catch {
    return null
  }
}

/** Returns false if a body certainly contains no packed reasoning. Does not parse the body. */
export const mayHoldCarriers = (body: string): boolean =>
  body.includes(`"${PACKED_MARK}`) || body.includes(`"${MARK}`)
