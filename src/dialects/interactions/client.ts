// Interactions on the client side: reads requests and writes errors. Format: Gemini API reference, "Interactions".
import { z } from 'zod'
import { GatewayError } from '../../core/errors.ts'
import type { RequestTraits } from '../../core/request-traits.ts'
import { estimateTokens, readableText } from '../../core/token-estimate.ts'
import { canonical } from '../../json/canonical.ts'
import { inObject, spliceMembers } from '../../json/splice.ts'
import { withoutKey } from '../../shared/plain-address.ts'
import type { ArrivedRequest, ClientDialect } from '../dialect.ts'
import { dialectHeaders as googleHeaders, isMeant } from '../gemini/client.ts'
import { isObject, listOrEmpty, member, textOf } from '../json.ts'
import { isGoogleFile, type KeptKind, places } from '../kept.ts'
import { BodyTraits, openingOf, readFields } from '../request-fields.ts'
import { stepsIn } from './read-request.ts'
import { storing } from './storing.ts'

/** Fields that the gateway itself needs. All other fields are left to the provider and are not copied. */
const schema = z.object({
  model: z.string().min(1).max(256).optional(),
  /** An agent of the provider, in place of a model. */
  agent: z.string().min(1).max(256).optional(),
  input: z.union([z.string(), z.array(z.unknown()), z.looseObject({})]).nullish(),
  stream: z.boolean().nullish(),
  background: z.boolean().nullish(),
  store: z.boolean().nullish(),
  previous_interaction_id: z.string().nullish(),
})

const named = schema.loose().refine(({ model, agent }) => model !== undefined || agent !== undefined, {
  path: ['model'],
  error: 'required, or agent',
})

const errorSchema = z.strictObject({
  error: z.strictObject({ code: z.string(), message: z.string() }),
  request_id: z.string(),
})

const errorOf = ({ code, message }: GatewayError, requestId: string) => ({
  error: { code, message },
  request_id: requestId,
})

/** Google's headers, and the revision of the API that the client was written for. */
const dialectHeaders = (headers: ArrivedRequest['headers']): string[] => [
  ...googleHeaders(headers),
  ...(typeof headers['api-revision'] === 'string' ? ['api-revision', headers['api-revision']] : []),
]

export class InteractionTraits extends BodyTraits implements RequestTraits {
  get tools(): boolean {
    return listOrEmpty(this.body.tools).length > 0
  }

  /** Includes images returned by a tool. */
  protected findImages(): boolean {
    return stepsIn(this.body.input).some((step) =>
      [...listOrEmpty(step.content), ...listOrEmpty(step.result)].some(
        (part) => member(part, 'type') === 'image',
      ),
    )
  }

  get effort(): string | null {
    const level = member(this.body.generation_config, 'thinking_level')
    return typeof level === 'string' ? level : null
  }

  /** True if a thought is signed. Only the provider that signed a thought accepts it. */
  get opaqueReasoning(): boolean {
    return stepsIn(this.body.input).some(({ signature }) => textOf(signature) !== '')
  }

  /** A task that only providers of this dialect can do. */
  get nativeOnly(): string | null {
    const { agent, background, environment, continuation_token } = this.body
    if (agent !== undefined) return 'agent'
    if (environment != null) return 'environment'
    if (continuation_token != null) return 'continuation_token'
    return background === true ? 'background' : null
  }

  get opening(): string {
    const { tools, system_instruction, input } = this.body
    const messages = stepsIn(input).map((step) => ({
      ...step,
      role: step.type === 'user_input' ? 'user' : 'model',
    }))
    return openingOf(tools, system_instruction, messages)
  }

  protected countInput(): number {
    const { system_instruction, input, tools, response_format } = this.body
    return estimateTokens(readableText([system_instruction, input], UNREAD, [tools, response_format]))
  }
}

/** Members that no model reads as text: signatures, ids, images and files. */
const UNREAD = new Set(['signature', 'id', 'call_id', 'data', 'uri'])

const FILES = [
  'input.uri',
  'input.*.uri',
  'input.*.content.*.uri',
  'input.*.result.*.uri',
  'input.*.content.uri',
]

const kept: readonly KeptKind[] = [
  {
    what: 'the previous interaction',
    at: places('previous_interaction_id'),
    onRecord: 'answer',
    isConversation: true,
    instead: 'the whole conversation as `input`',
    // As for an interaction that is read: another key's does not exist.
    refusal: (why) =>
      new GatewayError(
        'not_found',
        `previous_interaction_id: ${why}. Send the whole conversation as \`input\`.`,
        { param: 'previous_interaction_id' },
      ),
  },
  {
    what: 'the environment',
    at: places('environment'),
    onRecord: 'object',
    isConversation: true,
    changes: true,
    instead: 'a new environment',
  },
  {
    what: 'the cached content',
    at: places('cached_content'),
    onRecord: 'object',
    isConversation: true,
    instead: 'all of it',
  },
  {
    what: 'the file',
    at: places(...FILES),
    onRecord: 'object',
    isId: isGoogleFile,
    instead: 'its content as `data`',
  },
  {
    what: 'the file search store',
    at: places('tools.*.file_search_store_names.*'),
    instead: 'what is to be searched',
  },
]

export const client = {
  name: 'interactions',
  path: '/v1beta/interactions',
  alsoAt: ['/v1/interactions', '/v1alpha/interactions'],
  keyParameter: 'key',
  summary: "live routing of Google's interactions, streamed or not; spends money",
  schema: schema.loose(),
  errorSchema,
  requestIdHeader: 'x-request-id',

  parse({ text, json, headers, path, query }) {
    const { model, agent, stream, store, background } = readFields(named, json)
    return {
      request: {
        model: model ?? agent!,
        stream: stream === true,
        text,
        wantsUsage: true,
        forwarded: dialectHeaders(headers),
        query: withoutKey(query),
        path,
        ...(background === true && { isBackground: true as const }),
      },
      traits: new InteractionTraits(json),
      sessionHints: [],
      ...(store === false && { keepsAnswer: false }),
    }
  },

  kept,
  storing,

  keptAnswers: {
    path: '/v1beta/interactions/*',
    alsoAt: ['/v1/interactions/*', '/v1alpha/interactions/*'],
    methods: ['GET', 'POST', 'DELETE'],
    summary:
      'reads, cancels or deletes a stored interaction; from the gateway’s own store, or from the provider that stores it; no inference',
    noun: 'Interaction',
    offers: 'GET ID, POST ID/cancel and DELETE ID are served for interactions on record.',
    idIn(method, rest) {
      const [, id = null, part = ''] = /^([\w-]{1,512})(\/cancel)?$/.exec(rest) ?? []
      const isServed = ['GET ', 'HEAD ', 'DELETE ', 'POST /cancel'].includes(`${method} ${part}`)
      return isServed ? id : null
    },
  },

  estimateInput: ({ text }) => new InteractionTraits(JSON.parse(text)).inputTokens,

  cacheIdentity({ text, forwarded, query }) {
    const body = canonical(text, ['stream'])
    return body === null ? null : JSON.stringify([forwarded.filter(isMeant), query, body])
  },

  isSpokenBy: () => false,
  errorBody: (error, requestId) => JSON.stringify(errorOf(error, requestId)),
  errorEvent: (error, requestId) =>
    `event: error\ndata: ${JSON.stringify({ event_type: 'error', ...errorOf(error, requestId) })}\n\n`,

  // A stream names the model in the `interaction` of the first and last events.
  renameModel: (json, model) => {
    const parsed: unknown = JSON.parse(json)
    if (!isObject(parsed)) return json
    if (isObject(parsed.interaction))
      return 'model' in parsed.interaction ? spliceMembers(json, { interaction: inObject({ model }) }) : json
    return 'model' in parsed ? spliceMembers(json, { model }) : json
  },
} satisfies ClientDialect
