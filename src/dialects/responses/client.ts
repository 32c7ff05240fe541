// Responses on the client side: reads requests and writes errors. Format: OpenAI API reference, "Responses" and
// "Errors"; the headers are those that Codex sends.
import { z } from 'zod'
import { errorSchema } from '../../core/error-schema.ts'
import type { RequestTraits } from '../../core/request-traits.ts'
import { estimateTokens, readableText } from '../../core/token-estimate.ts'
import { canonical } from '../../json/canonical.ts'
import { inObject, spliceMembers } from '../../json/splice.ts'
import type { ArrivedRequest, ClientDialect } from '../dialect.ts'
import { isObject, type Json, member } from '../json.ts'
import { BodyTraits, modelSchema, openingOf, readFields, sessionInMetadata } from '../request-fields.ts'
import { failedEvent } from './errors.ts'
import { kept } from './named-items.ts'
import { addedTools } from './read-request.ts'
import { storing } from './storing.ts'

/** Fields that the gateway itself needs. All other fields are left to the provider and are not copied. */
const schema = z.object({
  model: modelSchema,
  // Input. Absent if a stored prompt or a previous answer supplies the input.
  input: z.union([z.string(), z.array(z.unknown())]).nullish(),
  stream: z.boolean().nullish(),
  previous_response_id: z.string().nullish(),
})

export const client = {
  name: 'responses',
  path: '/v1/responses',
  hasWebSocket: true,
  summary: "live routing of OpenAI's responses, streamed or not; spends money",
  schema: schema.loose(),
  errorSchema,
  requestIdHeader: 'x-request-id',

  parse({ text, json, headers, query }) {
    const { model, stream } = readFields(schema, json)
    return {
      request: {
        model,
        stream: stream === true,
        text,
        wantsUsage: true,
        forwarded: dialectHeaders(headers),
        query,
        ...(json.background === true && { isBackground: true as const }),
      },
      traits: new ResponsesTraits(json),
      sessionHints: [
        member(turnMetadata(headers), 'session_id'),
        headers['thread-id'],
        sessionInMetadata(json.metadata),
        json.prompt_cache_key,
      ],
      ...(asksForCompaction(json.input) && { purpose: 'compaction' }),
    }
  },

  kept,
  storing,

  keptAnswers: {
    path: '/v1/responses/*',
    methods: ['GET', 'POST', 'DELETE'],
    summary:
      'reads a stored response or its input items, cancels or deletes it; from the gateway’s own store, or from the provider that stores it; no inference',
    noun: 'Response',
    offers:
      'GET ID, GET ID/input_items, POST ID/cancel and DELETE ID are served for responses on record. To compact, put a `compaction_trigger` last into the input of a response.',
    idIn(method, rest) {
      const [, id = null, part = ''] = /^([\w-]{1,512})(\/input_items|\/cancel)?$/.exec(rest) ?? []
      const isServed = ['GET ', 'DELETE ', 'GET /input_items', 'POST /cancel'].includes(`${method} ${part}`)
      return isServed || (method === 'HEAD' && part !== '/cancel') ? id : null
    },
  },

  counting: {
    path: '/v1/responses/input_tokens',
    summary: 'counts the input tokens of a response, by a provider or as an estimate; no call, no cost',
    schema: schema.loose(),
    estimate: (json) =>
      JSON.stringify({
        object: 'response.input_tokens',
        input_tokens: new ResponsesTraits(json).inputTokens,
      }),
  },

  estimateInput: ({ text }) => new ResponsesTraits(JSON.parse(text)).inputTokens,

  // Betas change the content of an answer. The other headers only identify the caller.
  cacheIdentity({ text, forwarded, query }) {
    const body = canonical(text, ['stream'])
    const betas = forwarded.filter((_, at) => forwarded[at - (at % 2)]!.startsWith('openai-'))
    return body === null ? null : JSON.stringify([betas, query, body])
  },

  errorBody: (error, requestId) => error.body(requestId),
  errorEvent: failedEvent,

  // A stream names the model in the `response` of the first and last events.
  renameModel: (json, model) => {
    const parsed: unknown = JSON.parse(json)
    return isObject(parsed) && isObject(parsed.response)
      ? spliceMembers(json, { response: inObject({ model }) })
      : spliceMembers(json, { model })
  },
} satisfies ClientDialect

/**
 * Forwarded headers: betas, and Codex's headers for the turn, thread and window of a call. Organization and
 * project are not forwarded: they belong to the client's own account and credentials.
 */
const FORWARDED =
  /^(openai-(?!organization$|project$).+|x-openai-.+|x-codex-.+|session[-_]id|thread[-_]id|conversation_id|x-session-(id|affinity)|x-client-request-id|originator|version)$/

const dialectHeaders = (headers: ArrivedRequest['headers']): string[] =>
  Object.entries(headers).flatMap(([name, value]) =>
    FORWARDED.test(name) && value !== undefined ? [name, String(value)] : [],
  )

/**
 * Returns true if the last item asks for compaction, as Codex sends it. The answer is an encrypted summary of
 * the conversation.
 */
const asksForCompaction = (input: unknown): boolean =>
  Array.isArray(input) && member(input.at(-1), 'type') === 'compaction_trigger'

function turnMetadata(headers: ArrivedRequest['headers']): unknown {
  try {
    return JSON.parse(String(headers['x-codex-turn-metadata']))
  } catch {
    return null
  }
}

export class ResponsesTraits extends BodyTraits implements RequestTraits {
  get tools(): boolean {
    return listOf(this.body.tools).length > 0 || added(this.body.input).length > 0
  }

  /** Includes images returned by a tool. */
  protected findImages(): boolean {
    return listOf(this.body.input).some(
      (item) =>
        isObject(item) && [...listOf(item.content), ...listOf(item.output), item.output].some(isImage),
    )
  }

  get effort(): string | null {
    const effort = member(this.body.reasoning, 'effort')
    return typeof effort === 'string' ? effort : null
  }

  get opaqueReasoning(): boolean {
    return listOf(this.body.input).some(isEncrypted)
  }

  /** A task that only providers of this dialect can do. */
  get nativeOnly(): string | null {
    const { input, background } = this.body
    if (member(listOf(input).at(-1), 'type') === 'compaction_trigger') return 'compaction_trigger'
    return background === true ? 'background' : null
  }

  get opening(): string {
    const { tools, instructions, input } = this.body
    return openingOf(tools, instructions, input)
  }

  protected countInput(): number {
    const { instructions, input, tools, text, prompt } = this.body
    const said = Array.isArray(input) ? input.filter((item) => !addedTools(item)) : input
    const definitions = [tools, added(input), text]
    return estimateTokens(readableText([instructions, said, prompt], UNREAD, definitions))
  }
}

/** Returns true for an encrypted item, which only its own provider can read. */
export const isEncrypted = (item: unknown): item is Json =>
  isObject(item) && typeof item.encrypted_content === 'string' && item.encrypted_content !== ''

const added = (input: unknown): readonly unknown[] => listOf(input).flatMap((item) => addedTools(item) ?? [])

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const isImage = (part: unknown): boolean => isObject(part) && IMAGES.has(part.type)
const IMAGES = new Set<unknown>(['input_image', 'computer_screenshot'])

/** Members that no model reads as text: encrypted data, names, images and files. */
const UNREAD = new Set([
  'encrypted_content',
  'id',
  'call_id',
  'image_url',
  'file_id',
  'file_url',
  'file_data',
  'input_audio',
  'internal_chat_message_metadata_passthrough',
])
