// Messages on the client side. Format: Anthropic API reference, "Messages" and "Errors".
import { z } from 'zod'
import { GatewayError } from '../../core/errors.ts'
import type { RequestTraits } from '../../core/request-traits.ts'
import { countMembers, estimateTokens, readableText } from '../../core/token-estimate.ts'
import { canonical } from '../../json/canonical.ts'
import { inObject, spliceMembers } from '../../json/splice.ts'
import type { ArrivedRequest, ClientDialect } from '../dialect.ts'
import { isObject, type Json } from '../json.ts'
import { type KeptKind, places } from '../kept.ts'
import { BodyTraits, modelSchema, openingOf, readConversation, sessionInMetadata } from '../request-fields.ts'
import { errorBody, errorSchema } from './errors.ts'

/** Fields that the gateway itself needs. All other fields are left to the provider and are not copied. */
const schema = z.object({
  model: modelSchema,
  messages: z.array(z.unknown()),
  stream: z.boolean().nullish(),
})

/** Returns the version and all betas, even unknown ones, because they affect the meaning of a request. */
const dialectHeaders = (headers: ArrivedRequest['headers']): string[] =>
  Object.entries(headers).flatMap(([name, value]) =>
    name.startsWith('anthropic-') && value !== undefined ? [name, String(value)] : [],
  )

export class MessagesTraits extends BodyTraits implements RequestTraits {
  get tools(): boolean {
    const { tools } = this.body
    return Array.isArray(tools) && tools.length > 0
  }

  /** Includes images returned by a tool. */
  protected findImages(): boolean {
    const { messages } = this.body
    return blocksOf(messages).some(
      (block) => isImage(block) || (isObject(block) && listOf(block.content).some(isImage)),
    )
  }

  /** Effort as named, or else from the thinking budget. Null for adaptive thinking. */
  get effort(): string | null {
    const { output_config: output, thinking } = this.body
    if (isObject(output) && typeof output.effort === 'string') return output.effort
    if (!isObject(thinking)) return null
    const { type, budget_tokens: budget } = thinking
    if (type === 'disabled') return 'none'
    if (type !== 'enabled' || typeof budget !== 'number') return null
    return budget <= MAX_LOW_TOKENS ? 'low' : budget <= MAX_MEDIUM_TOKENS ? 'medium' : 'high'
  }

  /** True if a thinking block is signed or redacted. Providers cannot refuse a missing signature. */
  get opaqueReasoning(): boolean {
    return blocksOf(this.body.messages).some(
      (block) =>
        isObject(block) &&
        ((block.type === 'thinking' && !!block.signature) || block.type === 'redacted_thinking'),
    )
  }

  get opening(): string {
    const { tools, system, messages } = this.body
    return openingOf(tools, system, messages)
  }

  protected countInput(): number {
    return estimateTokens(inputOf(this.body).text)
  }
}

/** Maximum thinking tokens that count as this effort. */
const MAX_LOW_TOKENS = 4_096
const MAX_MEDIUM_TOKENS = 16_384

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const blocksOf = (messages: unknown): unknown[] =>
  listOf(messages).flatMap((message) => (isObject(message) ? listOf(message.content) : []))
const isImage = (block: unknown): boolean => isObject(block) && block.type === 'image'

export const kept: readonly KeptKind[] = [
  {
    what: 'the thread',
    at: places('thread.previous_message_id'),
    onRecord: 'answer',
    staysWithModel: true,
    changes: true,
    instead: 'the whole conversation with `thread: {"type": "create"}`',
    refusal: (why) =>
      new GatewayError(
        'thread_not_found',
        `thread.previous_message_id: the thread is not found: ${why}. Send the whole conversation with \`thread: {"type": "create"}\` instead.`,
        { param: 'thread.previous_message_id', details: { error_code: 'thread_not_found' } },
      ),
  },
  {
    what: 'the file',
    onRecord: 'object',
    // The first is a block of a message or of the system prompt, the others are inside of a result or a document.
    at: ['system.*', 'messages.*.content.*'].flatMap((block) =>
      places(
        `${block}.source.file_id`,
        `${block}.source.content.*.source.file_id`,
        `${block}.content.*.source.file_id`,
        `${block}.content.*.source.content.*.source.file_id`,
        `${block}.file_id`,
      ),
    ),
    instead: 'its content',
  },
  {
    what: 'the container',
    at: places('container', 'container.id'),
    onRecord: 'object',
    changes: true,
    instead: 'the request without it, for a new container',
  },
  {
    what: 'the skill',
    at: places('container.skills.*.skill_id'),
    onRecord: 'object',
    isShared: true,
    isId: (_, { type }) => type !== 'anthropic',
    instead: 'what it says',
  },
]

/**
 * Returns true if the request asks to store the conversation. Throws if it continues an answer without an id.
 */
function isThreaded({ thread }: Json): boolean {
  if (thread == null) return false
  if (isObject(thread) && thread.type === 'continue' && typeof thread.previous_message_id !== 'string')
    throw new GatewayError('invalid_request', 'thread.previous_message_id: expected a string', {
      param: 'thread.previous_message_id',
    })
  return true
}

/** Returns the error for a conversation that no target of the requested model can store. */
const threadUnsupported = (): GatewayError =>
  new GatewayError(
    'thread_unsupported_request',
    'thread: no target of the requested model holds threads. Send the whole conversation without `thread` instead.',
    { param: 'thread', details: { error_code: 'thread_unsupported_request', unsupported: ['model'] } },
  )

/** Members that no model reads as text: images, files, signatures, encrypted data, provider hints. */
const UNREAD = new Set([
  'source',
  'data',
  'signature',
  'encrypted_content',
  'encrypted_index',
  'cache_control',
])

export interface Input {
  /**
   * Text to count. Includes member names, as an estimate of the text that a provider adds around messages and
   * tools.
   */
  readonly text: string
  readonly binaries: number
}

function inputOf({ system, messages, tools, output_config, output_format }: Json): Input {
  const text = readableText([system, messages], UNREAD, [tools, output_config, output_format])
  return { text, binaries: countMembers([system, messages], isBinary) }
}

/** Returns true for an image or a file, as bytes or by reference. Other sources hold text. */
const isBinary = (name: string, source: unknown): boolean =>
  name === 'source' && isObject(source) && source.type !== 'text' && source.type !== 'content'

/** Tokens assumed for an image or a file, both here and in budgets. */
const BINARY_TOKENS = 1_500

/** Estimates the length of a request that no provider can count. */
function estimateAll(body: Json): number {
  const { text, binaries } = inputOf(body)
  return estimateTokens(text) + BINARY_TOKENS * binaries
}

export const client = {
  name: 'messages',
  path: '/v1/messages',
  summary: "live routing of Anthropic's messages, streamed or not; spends money",
  schema: schema.loose(),
  errorSchema,
  requestIdHeader: 'request-id',

  parse({ text, json, headers, query }) {
    const { model, stream } = readConversation(schema, json, json.messages)
    const isThread = isThreaded(json)
    return {
      request: {
        model,
        stream: stream === true,
        text,
        wantsUsage: true,
        forwarded: dialectHeaders(headers),
        query,
      },
      traits: new MessagesTraits(json),
      sessionHints: [sessionInMetadata(json.metadata)],
      keepsAnswer: isThread,
      ...(isThread && { noKeeper: threadUnsupported }),
    }
  },

  kept,

  estimateInput: ({ text }) => new MessagesTraits(JSON.parse(text)).inputTokens,

  // Betas change the content of an answer.
  cacheIdentity({ text, forwarded, query }) {
    const body = canonical(text, ['stream'])
    return body === null ? null : JSON.stringify([forwarded, query, body])
  },

  isSpokenBy: (headers) => headers['anthropic-version'] !== undefined,
  counting: {
    path: '/v1/messages/count_tokens',
    summary: 'counts the tokens of a request, by a provider or as an estimate; no call, no cost',
    schema: schema.loose(),
    estimate: (json) => JSON.stringify({ input_tokens: estimateAll(json) }),
  },

  errorBody,
  errorEvent: (error, requestId) => `event: error\ndata: ${errorBody(error, requestId)}\n\n`,

  ping: 'event: ping\ndata: {"type":"ping"}\n\n',

  // A stream names the model only once, in the message of the first event.
  renameModel: (json, model) => {
    const parsed: unknown = JSON.parse(json)
    return isObject(parsed) && parsed.type === 'message_start'
      ? spliceMembers(json, { message: inObject({ model }) })
      : spliceMembers(json, { model })
  },
} satisfies ClientDialect
