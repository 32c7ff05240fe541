// Gateways that serve dialects other than chat in an unusual way; some translate, because none of their
// providers has the dialect.
import { clock } from '../../../src/shared/clock.ts'
import type { Further } from '../../checks/requirements.ts'
import type { Target } from '../../target/schema.ts'
import {
  CHAT,
  changeEvent,
  changeJson,
  failWith,
  isGemini,
  isInteractions,
  isMessages,
  type MustPass,
  onRead,
} from '../gateway.ts'
import type { GatewayHooks } from '../wire.ts'

/** Returns the target without chat and relayed endpoints; all calls use this path. */
const withoutChat =
  (path: string) =>
  ({ capabilities: { passthrough: _, ...capabilities }, ...target }: Target): Target => ({
    ...target,
    dialects: { ...target.dialects, chat: false },
    capabilities: { ...capabilities, gateway_keys: { protected: [`POST ${path}`, '/v1/models'] } },
  })

/** Answers 404 to calls of other dialects. */
const elsewhere =
  (path: string): NonNullable<GatewayHooks['request']> =>
  (wanted) =>
    wanted.method === 'POST' && !wanted.path.startsWith(path) ? failWith(404) : undefined

export const chatOnly = (text: string): string => text.replace('[openai, responses]', 'openai')
const responsesOnly = (text: string): string => text.replace('[openai, responses]', 'responses')

/** Sends calls of one dialect to the targets of another dialect. */
const like =
  (dialect: Further, other: Target['models'] | undefined) =>
  (target: Target): Target => ({
    ...target,
    dialects: { [dialect]: { ...target.dialects[dialect], models: other } },
  })

/** Sends a dialect's calls to chat's models, never to a provider of the same dialect. */
export const likeChat = (dialect: Further) => like(dialect, undefined)

const claude: Target['models'] = {
  logical: [
    {
      id: 'auto/claude',
      targets: [
        { provider: 'anthropic', model: 'claude-sonnet-5' },
        { provider: 'anthropic', model: 'claude-haiku-4-5' },
      ],
    },
  ],
  direct: [{ id: 'anthropic/claude-sonnet-5', provider: 'anthropic', model: 'claude-sonnet-5' }],
}
const gpt: Target['models'] = {
  logical: [
    {
      id: 'auto/gpt',
      targets: [
        { provider: 'openai', model: 'gpt-5-mini' },
        { provider: 'openai', model: 'gpt-5-nano' },
      ],
    },
  ],
  direct: [{ id: 'openai/gpt-5-mini', provider: 'openai', model: 'gpt-5-mini' }],
}

type Delta = Record<string, Record<string, unknown> | undefined>

/** Removes thoughts under all names that gateways use. */
const withoutThoughts = (said: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(said).filter(([name]) => !name.startsWith('reasoning')))

export const gateways = {
  'messages-from-chat': {
    what: 'Messages calls are translated to chat and back.',
    on: ['messages'],
    target: likeChat('messages'),
    hooks: { config: chatOnly },
  },
  'messages-from-responses': {
    what: 'Messages calls are translated to Responses and back.',
    on: ['messages'],
    target: like('messages', gpt),
    hooks: { config: responsesOnly },
  },
  'responses-from-chat': {
    what: 'Responses calls are translated to chat and back.',
    on: ['responses'],
    target: likeChat('responses'),
    hooks: { config: chatOnly },
  },
  'an-event-of-its-own-behind-the-message': {
    what: 'After the message_stop of a translated stream, the gateway sends an event that clients ignore.',
    on: ['messages'],
    target: likeChat('messages'),
    hooks: {
      config: chatOnly,
      event: (event, _, { path }) =>
        path === '/v1/messages' && event.includes('"type":"message_stop"')
          ? [event, 'event: done\ndata: {}\n\n']
          : [event],
    },
  },
  'the-cached-are-no-input': {
    what: 'For Messages calls, the log counts input tokens as Anthropic does, without cached tokens.',
    on: ['messages'],
    hooks: {
      body: onRead('/api/usage/request-logs', (json) => {
        for (const record of Array.isArray(json.data) ? json.data : [json])
          if (record.resolved_provider === 'anthropic' && record.tokens?.cached_input)
            record.tokens.input -= record.tokens.cached_input
        return json
      }),
    },
  },
  'refuses-what-it-cannot-carry': {
    what: 'Messages calls are translated to chat. Calls with stop sequences are refused, because the gateway cannot translate stop sequences.',
    on: ['messages'],
    target: likeChat('messages'),
    hooks: {
      config: chatOnly,
      request: (wanted) =>
        isMessages(wanted) && wanted.body.includes('"stop_sequences"')
          ? {
              status: 400,
              headers: { 'content-type': 'application/json' },
              body: JSON.stringify({
                type: 'error',
                error: { type: 'invalid_request_error', message: 'stop_sequences is not supported here' },
              }),
            }
          : undefined,
    },
  },
  'names-what-it-drops': {
    what: 'Responses calls are translated to chat without the answer format, and a response header names this loss.',
    on: ['responses'],
    target: likeChat('responses'),
    hooks: () => {
      let dropped = false
      return {
        config: chatOnly,
        request(wanted) {
          dropped = wanted.path.startsWith('/v1/responses') && wanted.body.includes('"format"')
          if (dropped)
            wanted.body = Buffer.from(
              changeJson(wanted.body.toString('utf8'), ({ text: _, ...rest }) => rest),
            )
        },
        responseStart({ headers }, { path }) {
          if (dropped && path.startsWith('/v1/responses')) headers['x-dropped-params'] = 'text.format'
        },
      }
    },
  },
  'translates-without-thoughts': {
    what: 'A chat answer translated from Messages has no thoughts, because chat has no standard field for them.',
    hooks: {
      event: (event, _, { path, body }) =>
        path === CHAT && body.includes('"anthropic/')
          ? changeEvent(event, (json) => ({
              ...json,
              ...(json.choices && {
                choices: json.choices.map(({ delta, ...choice }: Delta) => ({
                  ...choice,
                  delta: withoutThoughts(delta ?? {}),
                })),
              }),
            }))
          : [event],
      body: (answer, { path, body }) =>
        path === CHAT && body.includes('"anthropic/')
          ? changeJson(answer, (json) => ({
              ...json,
              ...(json.choices && {
                choices: json.choices.map(({ message, ...choice }: Delta) => ({
                  ...choice,
                  message: withoutThoughts(message ?? {}),
                })),
              }),
            }))
          : answer,
    },
  },
  'responses-from-messages': {
    what: 'Responses calls are translated to Messages and back.',
    on: ['responses'],
    target: like('responses', claude),
    hooks: {},
  },
  'has-tool-ids-of-its-own': {
    what: 'The gateway translates Messages calls to chat, and gives the client its own tool-call ids.',
    on: ['messages'],
    target: likeChat('messages'),
    hooks: {
      config: chatOnly,
      body: (body, wanted) => (isMessages(wanted) ? body.replaceAll('"id":"wb_', '"id":"own-wb_') : body),
      event: (event, _, wanted) => [isMessages(wanted) ? event.replace('"id":"wb_', '"id":"own-wb_') : event],
      request(wanted) {
        if (isMessages(wanted))
          wanted.body = Buffer.from(wanted.body.toString('utf8').replaceAll('"own-wb_', '"wb_'))
      },
    },
  },
  'counts-by-itself': {
    what: 'The gateway counts tokens without a provider, and does not mention this in the answer.',
    on: ['messages'],
    hooks: {
      request(wanted) {
        if (!wanted.path.startsWith('/v1/messages/count_tokens')) return
        return {
          status: 200,
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ input_tokens: wanted.body.length >> 2 }),
        }
      },
    },
  },
  'one-list-in-both-shapes': {
    what: 'The model list has the fields of both OpenAI and Anthropic for every client.',
    on: ['messages'],
    hooks: {
      body: (body, { path, method }) =>
        path === '/v1/models' && method === 'GET'
          ? changeJson(body, (json) => ({
              ...json,
              ...{ object: 'list', has_more: false },
              data: json.data?.map((each: { id: string }) => ({
                ...each,
                ...{ object: 'model', type: 'model', display_name: each.id },
                ...{ created: 0, created_at: '1970-01-01T00:00:00Z', owned_by: 'house' },
              })),
            }))
          : body,
    },
  },
  'wraps-the-state-of-a-turn': {
    what: 'The gateway adds a mark to x-codex-turn-state for the client, and removes it from the next request.',
    on: ['responses'],
    hooks: {
      responseStart({ headers }) {
        const { 'x-codex-turn-state': state } = headers
        if (state) headers['x-codex-turn-state'] = `gw:${state}`
      },
      request({ headers }) {
        const { 'x-codex-turn-state': state } = headers
        if (typeof state === 'string') headers['x-codex-turn-state'] = state.replace('gw:', '')
      },
    },
  },
  'says-when-as-a-date': {
    what: 'The header Retry-After contains a date.',
    on: ['responses'],
    hooks: {
      responseStart({ headers }) {
        const after = Number(headers['retry-after'])
        if (after > 0) headers['retry-after'] = new Date(clock.now() + after * 1_000).toUTCString()
      },
    },
  },
  'breaks-off-messages-that-fail': {
    what: 'The gateway breaks off the connection if the provider sends an error in a Messages stream.',
    on: ['messages'],
    hooks: {
      event(event, _, wanted) {
        if (isMessages(wanted) && event.startsWith('event: error')) throw new Error('cut')
        return [event]
      },
    },
  },
  'messages-only': {
    what: 'The gateway serves only Messages.',
    on: ['messages'],
    target: withoutChat('/v1/messages'),
    hooks: { request: elsewhere('/v1/messages') },
  },
  'embeddings-only': {
    what: 'The gateway serves only embeddings.',
    on: ['embeddings'],
    target: withoutChat('/v1/embeddings'),
    hooks: { request: elsewhere('/v1/embeddings') },
  },
  'own-google-errors-say-more': {
    what: 'The gateway’s own errors have additional members and are in a list, as Google sends them for streams.',
    on: ['gemini'],
    hooks: {
      body: (body, wanted) => {
        const changed = changeJson(body, (json) => [
          { error: { ...json.error, request: 'r-1' }, trace: 't-1' },
        ])
        const isOwn = isGemini(wanted) && body.includes('"error"') && !body.includes('input image')
        return isOwn ? changed : body
      },
    },
  },
  'interactions-gone-is-410': {
    what: 'A deleted interaction gets 410, and DELETE gets 204 without a body.',
    on: ['interactions'],
    hooks: () => {
      const gone = new Set<string>()
      return {
        request: ({ method, path }) => (method === 'GET' && gone.has(path) ? failWith(410) : undefined),
        responseStart(start, wanted) {
          if (!isInteractions(wanted) || wanted.method !== 'DELETE' || start.status !== 200) return
          gone.add(wanted.path)
          start.status = 204
          delete start.headers['content-length']
          delete start.headers['content-type']
        },
        body: (body, wanted) => (isInteractions(wanted) && wanted.method === 'DELETE' ? '' : body),
      }
    },
  },
  'translated-interactions-say-more': {
    what: 'A translated stream has status updates, ids of its events and a keepalive.',
    on: ['interactions'],
    hooks: {
      event(event, index, wanted) {
        if (!isInteractions(wanted) || !wanted.body.includes('"groq/')) return [event]
        const update = `data: {"event_type":"interaction.status_update","status":"in_progress","interaction_id":"v1_x"}\n\n`
        const changed = changeEvent(event, (json) => ({ ...json, event_id: `e${index}` }))
        return index === 0 ? [...changed, ': keep-alive\n\n', update] : changed
      },
    },
  },
  'capabilities-are-added-to': {
    what: "The gateway adds its own capability before the client's, and writes the list with spaces.",
    profile: 'claude-code',
    hooks: {
      request({ headers }) {
        const beta = headers['anthropic-beta']
        if (beta) headers['anthropic-beta'] = ['own-2026-01-01', ...String(beta).split(',')].join(', ')
      },
    },
  },
} satisfies Record<string, MustPass>
