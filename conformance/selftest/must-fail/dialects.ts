// Must-fail gateways with mistakes in a dialect other than chat, or at endpoints that they relay without understanding them,
// that need state or code of their own.
import { nonceIn } from '../../../mocks/ledger.ts'
import {
  changeJson,
  changeRequest,
  eachBody,
  eachEvent,
  failWith,
  isCount,
  isEmbeddings,
  isGemini,
  isInteractions,
  isMessages,
  isResponses,
  type Json,
  type MustFail,
  onRead,
  RECORD,
  withoutMember,
} from '../gateway.ts'
import type { GatewayHooks, Wanted } from '../wire.ts'

const GROQ = 'groq/openai/gpt-oss-120b'

const isFiles = ({ path }: Wanted): boolean => path.startsWith('/v1/files')

/** Hides the records of calls at matching paths. */
const unrecorded = (is: RegExp) => (): GatewayHooks => {
  const hidden = new Set<string>()
  return {
    responseStart({ headers }, { path }) {
      if (is.test(path)) hidden.add(String(headers['x-gateway-request-id']))
    },
    request: ({ path }) =>
      path.startsWith(RECORD) && hidden.has(path.slice(RECORD.length)) ? failWith(404) : undefined,
  }
}

/** Sends every client's request with the administrator's rights, or with another client's key. */
const asOwner = (is: (wanted: Wanted) => boolean) => (): GatewayHooks => {
  let owner: string | undefined
  return {
    request(wanted) {
      if (!isFiles(wanted)) return
      if (wanted.method === 'POST') owner = wanted.headers.authorization
      else if (is(wanted) && owner) wanted.headers.authorization = owner
    },
  }
}

export const gateways = {
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
  'interactions-twice': {
    what: 'An interaction in the background is made twice.',
    caughtBy: ['INT-09/is-one-inference'],
    hooks: {
      async request(wanted, context) {
        if (isInteractions(wanted) && wanted.body.includes('"background":true')) await context.gateway(wanted)
      },
    },
  },
  'relayed-unrecorded': {
    what: 'Calls that the gateway passes through without parsing them are not recorded.',
    caughtBy: ['PASS-01/relayed-is-recorded'],
    hooks: unrecorded(/^\/v1\/(moderations|audio)/),
  },
  'file-reads-unrecorded': {
    what: "Reads of a provider's files are not recorded.",
    caughtBy: ['PASS-01/relayed-is-recorded'],
    hooks: unrecorded(/^\/v1\/files\/./),
  },
  'files-with-other-line-ends': {
    what: 'The line endings in an uploaded file are changed.',
    caughtBy: ['PASS-02/request-is-unchanged', 'PASS-02/file-comes-back-unchanged'],
    profile: 'observable',
    hooks: {
      request(wanted) {
        if (isFiles(wanted))
          wanted.body = Buffer.from(wanted.body.toString('latin1').replace('}\r\n\t', '}\n\t'), 'latin1')
      },
    },
  },
  'foreign-file-readable': {
    what: 'Any key can read files that belong to other keys if it knows the id.',
    caughtBy: ['PASS-03/foreign-file'],
    hooks: asOwner(({ path }) => path.startsWith('/v1/files/')),
  },
  'foreign-file-in-the-list': {
    what: 'A file list contains files that belong to other keys.',
    caughtBy: ['PASS-03/foreign-file-is-not-in-the-list'],
    hooks: asOwner(({ path }) => path === '/v1/files'),
  },
} satisfies Record<string, MustFail>
