// Must-fail gateways with mistakes in a dialect other than chat that need state or code of their own.

import { nonceIn } from '../../../mocks/ledger.ts'
import {
  changeJson,
  changeRequest,
  eachBody,
  eachEvent,
  isCount,
  isEmbeddings,
  isGemini,
  isMessages,
  isResponses,
  type Json,
  type MustFail,
  onRead,
  withoutMember,
} from '../gateway.ts'

const GROQ = 'groq/openai/gpt-oss-120b'

export const mustFail = {
  'openai-headers-are-left-out': {
    what: 'Headers that begin with openai- do not reach a Responses provider.',
    caughtBy: ['DIAL-02@responses/unknown-parts-arrive'],
    hooks: {
      request({ headers }) {
        for (const name of Object.keys(headers)) if (name.startsWith('openai-')) delete headers[name]
      },
    },
  },
  'system-becomes-one-text': {
    what: 'The gateway joins the parts of a system prompt into one text for a Messages provider.',
    caughtBy: ['DIAL-01/same-body'],
    hooks: changeRequest(isMessages, (json) => ({
      ...json,
      ...(Array.isArray(json.system) && { system: json.system.map(({ text }: Json) => text).join('\n') }),
    })),
  },
  'thoughts-of-the-history-are-left-out': {
    what: 'Thinking blocks that are not followed by a tool call do not reach a Messages provider.',
    caughtBy: ['MSG-05/thoughts-go-back'],
    hooks: changeRequest(isMessages, (json) => ({
      ...json,
      messages: json.messages?.map((each: Json) =>
        Array.isArray(each.content) && !each.content.some(({ type }: Json) => type === 'tool_use')
          ? { ...each, content: each.content.filter(({ type }: Json) => type !== 'thinking') }
          : each,
      ),
    })),
  },
  'native-deltas-change-places': {
    what: 'Two deltas of an untranslated response are swapped but keep their sequence numbers.',
    caughtBy: ['FLOW-01@responses'],
    hooks: {
      event: eachEvent(isResponses, (json) =>
        json.type === 'response.output_text.delta' && json.delta.length > 1
          ? { ...json, delta: [...json.delta].reverse().join('') }
          : json,
      ),
    },
  },
  'failed-count-cools': {
    what: 'The gateway skips the first target of a route after a failed token count.',
    caughtBy: ['CNT-03'],
    hooks: () => {
      let counted = 0
      return {
        request(wanted) {
          if (isCount(wanted)) counted++
          else if (counted >= 3)
            wanted.body = Buffer.from(
              changeJson(wanted.body.toString('utf8'), (json) =>
                json.model === 'auto/claude' ? { ...json, model: 'anthropic/claude-haiku-4-5' } : json,
              ),
            )
        },
      }
    },
  },
  'google-key-goes-along': {
    what: 'A gateway key is sent to Google.',
    caughtBy: ['GEM-01/key-stays-here'],
    hooks: {
      upstream: {
        request(wanted, context) {
          if (!isGemini(wanted)) return
          wanted.path += `${wanted.path.includes('?') ? '&' : '?'}gateway=${context.env.ADMIN_KEY}`
        },
      },
    },
  },
  'openai-list-for-google': {
    what: 'Google’s clients receive the model list in OpenAI’s format.',
    caughtBy: ['GEM-09/list-is-in-shape'],
    hooks: {
      body: onRead(/^\/v1beta\/models(\?|$)/, ({ models }) => ({
        ...{ object: 'list', data: models?.map(({ name }: Json) => ({ id: name, object: 'model' })) },
      })),
    },
  },
  'sorts-vectors': {
    what: 'The gateway sorts vectors by index.',
    caughtBy: ['EMB-01/vectors-are-unchanged'],
    hooks: {
      body: eachBody(isEmbeddings, (json) => ({
        ...json,
        data: json.data?.toSorted((a: { index: number }, b: { index: number }) => a.index - b.index),
      })),
    },
  },
  'vectors-of-another-model': {
    what: 'The gateway calls another model if an embeddings provider fails.',
    caughtBy: ['EMB-02/no-other-model', 'EMB-02/no-other-model-of-the-route'],
    hooks: {
      async request(wanted, context) {
        if (!isEmbeddings(wanted)) return
        const first = await context.gateway(wanted)
        if (first.status < 500) return first
        wanted.body = Buffer.from(
          changeJson(wanted.body.toString('utf8'), (json) => ({
            ...json,
            model: 'openai/text-embedding-3-large',
          })),
        )
      },
    },
  },
  'threads-are-passed-on-as-they-are': {
    what: 'A chat provider receives the field thread as an unknown field, without the earlier turns.',
    caughtBy: ['STATE-02/no-turn-loses-its-history'],
    hooks: () => {
      const threads = new Map<string, Json>()
      return {
        ...changeRequest(isMessages, (json) => {
          const nonce = nonceIn(JSON.stringify(json.messages))
          if (json.model !== GROQ || !json.thread || nonce === null) return json
          threads.set(nonce, json.thread)
          return withoutMember(json, 'thread')
        }),
        upstream: {
          request(wanted) {
            const thread = threads.get(nonceIn(wanted.body.toString('utf8')) ?? '')
            if (thread)
              wanted.body = Buffer.from(
                changeJson(wanted.body.toString('utf8'), (json) => ({ ...json, thread })),
              )
          },
        },
      }
    },
  },
  'capabilities-are-filtered': {
    what: 'The gateway drops unknown anthropic-beta values.',
    profile: 'claude-code',
    caughtBy: ['CC-01/values-arrive'],
    hooks: {
      request({ headers }) {
        const values = String(headers['anthropic-beta'] ?? '').split(',')
        if (headers['anthropic-beta'])
          headers['anthropic-beta'] = values.filter((each) => /202/.test(each)).join(',')
      },
    },
  },
  'capabilities-are-sorted': {
    what: 'The gateway sorts the anthropic-beta values.',
    profile: 'claude-code',
    caughtBy: ['CC-01/values-keep-their-order'],
    hooks: {
      request({ headers }) {
        const beta = headers['anthropic-beta']
        if (beta) headers['anthropic-beta'] = String(beta).split(',').sort().join(',')
      },
    },
  },
  'system-becomes-a-text': {
    what: 'The gateway joins the entries of a system prompt into one text.',
    profile: 'claude-code',
    caughtBy: ['CC-02/system-is-the-same-list'],
    hooks: changeRequest(isMessages, (json) => ({
      ...json,
      system: Array.isArray(json.system) ? json.system.map(({ text }) => text).join('\n') : json.system,
    })),
  },
  'discovery-redirects': {
    what: 'The model list redirects to another path.',
    profile: 'claude-code',
    caughtBy: ['CC-03/list-comes-in-time'],
    hooks: {
      request: ({ path }) =>
        path.startsWith('/v1/models?')
          ? { status: 307, headers: { location: '/v1/models' }, body: '' }
          : undefined,
    },
  },
} satisfies Record<string, MustFail>
