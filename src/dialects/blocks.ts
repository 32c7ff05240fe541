// The ordered-block model: what a conversation and an answer hold, in words of no dialect, and the seam by which a dialect
// is translated (`DialectBlocks`). Used only across dialects: where client and provider speak the same one, bytes are relayed
// and none of this runs. Knows no dialect; a block keeps what it can, and a dialect that cannot write it names the loss
// (losses.ts). Over 250 lines, because it is the one list of everything that can be expressed.
import type { Tokens } from '../call.ts'
import type { Loss, Losses } from '../losses.ts'
import type { ClientRequest, StreamEvent } from './dialect.ts'
import type { Json } from './json.ts'

/** Where an image or a document is. Base64 is never put into a text. */
export type Source =
  | { readonly kind: 'base64'; readonly mediaType: string; readonly data: string }
  | { readonly kind: 'url'; readonly url: string; readonly mediaType?: string }
  | { readonly kind: 'text'; readonly text: string }
  /** A file that the provider holds; only it knows the id. */
  | { readonly kind: 'file'; readonly id: string }

/** What a model keeps to itself: a signature, redacted or encrypted reasoning. Only its own family can read it. */
export interface Opaque {
  /** Who made it, see `DialectBlocks.family`. */
  readonly family: string
  /** As the provider sent it; a dialect that has several fields puts them into one text. */
  readonly bytes: string
}

interface Cached {
  /** The hint that stood there what to cache, as it came. */
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
/** A file to be read: a PDF, a text, a sound; told apart by the media type of its source. */
export interface DocumentBlock extends Cached {
  readonly type: 'document'
  readonly source: Source
  readonly name: string | null
}
/** Sealed bytes without a text are a block too. They belong to what follows: a call of Gemini's stands right behind. */
export interface ReasoningBlock {
  readonly type: 'reasoning'
  readonly text: string
  readonly opaque: Opaque | null
}
/** `custom`: a tool whose input is a text, not JSON. `search`: the client looks for further tools, which come as the result. */
export type CallKind = 'function' | 'custom' | 'search'
export interface CallBlock extends Cached {
  readonly type: 'call'
  readonly id: string
  readonly name: string
  /** The group of tools that the tool belongs to. */
  readonly namespace: string | null
  readonly kind: CallKind
  /** As the model wrote them: JSON, but for `custom`; empty where there are none. */
  readonly args: string
}
export interface ResultBlock extends Cached {
  readonly type: 'result'
  /** Of the call that it answers. */
  readonly id: string
  readonly blocks: readonly Block[]
  readonly error: boolean
}
/** What the model of blocks has no word for. Only its own dialect can write it; every other names the loss. */
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

/** Instructions keep their place among the turns. Results of tools are blocks of a user's turn. */
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
  /** Null where nothing was said. */
  readonly strict: boolean | null
  /** What the input of a `custom` tool must look like, as it came. */
  readonly grammar?: unknown
}

export type Choice =
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

/** Null where nothing was said. */
export interface Sampling {
  readonly temperature: number | null
  readonly topP: number | null
  readonly topK: number | null
  readonly seed: number | null
  readonly presencePenalty: number | null
  readonly frequencyPenalty: number | null
}

export interface ReasoningWish {
  /** `none` to `max`, or another word of the dialect. */
  readonly effort: string | null
  /** The most tokens that it may take. */
  readonly budget: number | null
  /** False: the model is not to reason. Null where nothing was said. */
  readonly on: boolean | null
}

/** A field of the request that some dialects share and the model of blocks has no word for. */
export interface Extra {
  /** Whose field it is: a dialect that knows the same owner's fields may write it. */
  readonly owner: 'anthropic' | 'openai' | 'google'
  readonly name: string
  readonly value: unknown
  /** What is lost if it is not written. */
  readonly loss: Loss
}

/** A request in blocks. */
export interface Conversation {
  readonly turns: readonly Turn[]
  readonly tools: readonly Tool[]
  readonly choice: Choice | null
  /** False: one call at a time. Null where nothing was said. */
  readonly parallel: boolean | null
  readonly maxTokens: number | null
  readonly stop: readonly string[]
  readonly sampling: Sampling
  readonly reasoning: ReasoningWish
  readonly format: Format | null
  /** Who asks, in the words of the client. */
  readonly user: string | null
  readonly extras: readonly Extra[]
}

/** Why an answer ended, docs/contract.md "Translation". */
export type Stop = 'end' | 'length' | 'calls' | 'sequence' | 'refusal' | 'pause' | 'context'

/** What an answer holds; what it cost is read by the dialect's `UpstreamDialect`. */
export interface AnswerBlocks {
  readonly blocks: readonly Block[]
  /** Null where nothing was said. */
  readonly stop: Stop | null
  readonly sequence: string | null
}

/** An answer to be written for a client. */
export interface Answer extends AnswerBlocks {
  readonly model: string
  readonly tokens: Tokens | null
}

/** A block that begins in a stream; its text, reasoning or arguments follow in deltas. */
export type Opened =
  | { readonly type: 'text' }
  | { readonly type: 'reasoning' }
  | Pick<CallBlock, 'type' | 'id' | 'name' | 'namespace' | 'kind'>

/** What a reader takes from a stream. Blocks may interleave; `key` says which one is meant, and is used once. */
export type BlockEvent =
  | { readonly type: 'open'; readonly key: string | number; readonly block: Opened }
  | { readonly type: 'delta'; readonly key: string | number; readonly text: string }
  /** The sealed bytes of a reasoning block; the last one counts. */
  | { readonly type: 'seal'; readonly key: string | number; readonly opaque: Opaque }
  | { readonly type: 'close'; readonly key: string | number }
  /** A block that comes whole: an image, or something unknown. */
  | { readonly type: 'whole'; readonly block: Block }
  | { readonly type: 'stop'; readonly stop: Stop; readonly sequence: string | null }

/** What a writer is handed: one block open at a time, indexes 0, 1, 2 … (sequence.ts sees to it). */
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

/** Reads a stream of one answer. Throws when an event is not of the dialect. */
export interface BlockReader {
  read(event: StreamEvent): readonly BlockEvent[]
}

/** Writes a stream of one answer: whole events, each with the blank line that ends it; empty where nothing is to be said. */
export interface BlockWriter {
  write(event: SerialEvent): string
}

/** What is known of the provider that a request goes to or an answer comes from. */
export interface Peer {
  /** Whose sealed reasoning it makes and can read. */
  readonly family: string
  /** Host of its base URL: some fields have other names at some providers. */
  readonly host: string
  /** The model that is asked. */
  readonly model: string
  /** False: it has refused reasoning of ours, so neither earlier reasoning nor a wish for it is written. */
  readonly takesReasoning: boolean
}

/** What is known of the client that an answer is written for. */
export interface Asker {
  /** It wants usage in a stream. */
  readonly wantsUsage: boolean
  /** Where it asked, see `ClientRequest.path`. */
  readonly path?: string | undefined
}

/** What a dialect offers to be translated, to and from. */
export interface DialectBlocks {
  /** Whose sealed reasoning its providers make, where the configuration does not say; null: each provider is a family of its own. */
  readonly family: string | null
  /** What names of tools and kinds of tools its providers take; others are mapped, and mapped back in the answer. */
  readonly tools: {
    readonly name: RegExp
    readonly namespaces: boolean
    readonly custom: boolean
  }
  /** The path of a request says whether a stream is wanted, its body does not. */
  readonly streamsByPath?: true
  /** A client's request; `json` is its parsed body. Names what no dialect could carry. */
  parseRequest(json: Json, request: Pick<ClientRequest, 'forwarded'>, losses: Losses): Conversation
  /** The body of a request to a provider, without `model` and `stream` where `UpstreamDialect.request` adds them. Names what it cannot carry. */
  writeRequest(conversation: Conversation, peer: Peer, losses: Losses): Record<string, unknown>
  /** A provider's whole answer. */
  parseAnswer(json: Json, peer: Peer, losses: Losses): AnswerBlocks
  /** A whole answer for a client. */
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

/** For dialects that have neither. A penalty of 0 is none. */
export function withoutSeedAndPenalties(
  { seed, presencePenalty, frequencyPenalty }: Sampling,
  losses: Losses,
): void {
  losses.of(seed, 'sampling.seed')
  losses.of(presencePenalty || frequencyPenalty || null, 'sampling.penalties')
}

/** A schema as OpenAI wants it: with a name. */
export const namedSchema = ({ name, schema, strict }: Extract<Format, { type: 'schema' }>): Json => ({
  name: name ?? 'answer',
  schema,
  ...(strict === null ? {} : { strict }),
})

/** The texts of some blocks, one behind the other. */
export const textOfBlocks = (blocks: readonly Block[], between = '\n\n'): string =>
  blocks.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join(between)

/** Fields of a request that have not been read become extras, each with the word for its loss. */
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

/** Writes the extras whose fields a dialect has too; the loss of the others is named. */
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

/** A word that the dialect has for a level of effort: itself, else the nearest that there is. */
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

/** The effort that a budget of tokens stands for, and the other way round. */
export const effortOfBudget = (tokens: number): string =>
  tokens <= 4_096 ? 'low' : tokens <= 16_384 ? 'medium' : 'high'
export const budgetOfEffort = (effort: string): number | null =>
  ({ minimal: 1_024, low: 4_096, medium: 16_384, high: 32_768, xhigh: 49_152, max: 63_999 })[effort] ?? null
