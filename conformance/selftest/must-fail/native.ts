// Must-fail gateways that handle calls, errors or records wrongly if the provider has the client's dialect.

import {
  changeRequest,
  eachBlock,
  eachBody,
  eachEvent,
  type Is,
  isGemini,
  isMessages,
  isResponses,
  withoutMember,
} from '../dialect-hooks.ts'
import { type Json, type MustFail, onRead, roundNumbers } from '../gateway.ts'
import { isChat } from '../translated-hooks.ts'

const lost = (is: typeof isMessages, name: string) => changeRequest(is, (json) => withoutMember(json, name))

/** Changes the records of calls to an endpoint. */
const recorded = (endpoint: string, change: (record: Json) => object) =>
  onRead('/api/usage/request-logs', (json) => {
    const one = (record: Json) => (record.endpoint?.startsWith(endpoint) ? change(record) : record)
    return Array.isArray(json.data) ? { ...json, data: json.data.map(one) } : one(json)
  })

/** Returns a value without the members of these names, at any depth. */
const withoutNamed = (names: RegExp, value: unknown): unknown => {
  if (typeof value !== 'object' || value === null || 'rawJSON' in value) return value
  if (Array.isArray(value)) return value.map((each) => withoutNamed(names, each))
  const kept = Object.entries(value).filter(([name]) => !names.test(name))
  return Object.fromEntries(kept.map(([name, each]) => [name, withoutNamed(names, each)]))
}

/** Removes members from whole answers or from the events of streams. */
const leftOut = (is: Is, names: RegExp, where: 'whole' | 'streamed') =>
  where === 'whole'
    ? { body: eachBody(is, (json) => withoutNamed(names, json)) }
    : { event: eachEvent(is, (json) => withoutNamed(names, json) as object) }

const PROBE = /^x_waybill_probe$/

export const mustFail = {
  'unknown-members-of-chat-are-left-out': {
    what: 'The gateway drops unknown members of whole chat answers.',
    caughtBy: ['DIAL-14/unknown-members-arrive'],
    hooks: leftOut(isChat, PROBE, 'whole'),
  },
  'unknown-members-of-chunks-are-left-out': {
    what: 'The gateway drops unknown members of chunks.',
    caughtBy: ['DIAL-14/unknown-members-arrive'],
    hooks: leftOut(isChat, PROBE, 'streamed'),
  },
  'unknown-members-of-messages-are-left-out': {
    what: 'The gateway drops unknown members of whole messages.',
    caughtBy: ['DIAL-14@messages/unknown-members-arrive'],
    hooks: leftOut(isMessages, PROBE, 'whole'),
  },
  'unknown-members-of-responses-are-left-out': {
    what: 'The gateway drops unknown members of Responses events.',
    caughtBy: ['DIAL-14@responses/unknown-members-arrive'],
    hooks: leftOut(isResponses, PROBE, 'streamed'),
  },
  'unknown-members-of-gemini-are-left-out': {
    what: 'The gateway drops unknown members of Gemini events.',
    caughtBy: ['DIAL-14@gemini/unknown-members-arrive'],
    hooks: leftOut(isGemini, PROBE, 'streamed'),
  },
  'sources-of-gemini-are-left-out': {
    what: 'The gateway drops the citations from whole Gemini answers.',
    caughtBy: ['DIAL-14@gemini/sources-arrive'],
    hooks: leftOut(isGemini, /^citationMetadata$/, 'whole'),
  },
  'sources-of-chunks-are-left-out': {
    what: 'The gateway drops the annotations from chunks.',
    caughtBy: ['DIAL-14/sources-arrive'],
    hooks: leftOut(isChat, /^annotations$/, 'streamed'),
  },
  'sources-of-messages-are-left-out': {
    what: 'The gateway drops the citations from whole messages.',
    caughtBy: ['DIAL-14@messages/sources-arrive'],
    hooks: leftOut(isMessages, /^citations$/, 'whole'),
  },
  'sources-of-responses-are-left-out': {
    what: 'The gateway drops the annotations from whole responses.',
    caughtBy: ['DIAL-14@responses/sources-arrive'],
    hooks: leftOut(isResponses, /^annotations$/, 'whole'),
  },
  'betas-are-left-out': {
    what: 'The header anthropic-beta does not reach a Messages provider.',
    caughtBy: ['DIAL-02/unknown-parts-arrive'],
    hooks: {
      request(wanted) {
        if (isMessages(wanted)) delete wanted.headers['anthropic-beta']
      },
    },
  },
  'version-is-the-usual-one': {
    what: "A Messages provider receives the usual anthropic-version instead of the client's.",
    caughtBy: ['DIAL-02/unknown-parts-arrive'],
    hooks: {
      request(wanted) {
        if (isMessages(wanted)) wanted.headers['anthropic-version'] = '2023-06-01'
      },
    },
  },
  'openai-headers-are-left-out': {
    what: 'Headers that begin with openai- do not reach a Responses provider.',
    caughtBy: ['DIAL-02@responses/unknown-parts-arrive'],
    hooks: {
      request({ headers }) {
        for (const name of Object.keys(headers)) if (name.startsWith('openai-')) delete headers[name]
      },
    },
  },
  'long-numbers-are-rounded-on-the-way': {
    what: 'Integers in a Messages request are rounded to doubles before they reach a Messages provider.',
    caughtBy: ['DIAL-01/same-body'],
    hooks: {
      request(wanted) {
        if (isMessages(wanted)) wanted.body = Buffer.from(roundNumbers(wanted.body.toString()))
      },
    },
  },
  'long-numbers-of-responses-are-rounded': {
    what: 'Integers in a Responses request are rounded to doubles before they reach a Responses provider.',
    caughtBy: ['DIAL-01@responses/same-body'],
    hooks: {
      request(wanted) {
        if (isResponses(wanted)) wanted.body = Buffer.from(roundNumbers(wanted.body.toString()))
      },
    },
  },
  'metadata-is-left-out': {
    what: 'The field metadata does not reach a Messages provider.',
    caughtBy: ['DIAL-01/same-body'],
    hooks: lost(isMessages, 'metadata'),
  },
  'top-k-is-left-out': {
    what: 'The field top_k does not reach a Messages provider.',
    caughtBy: ['DIAL-01/same-body'],
    hooks: lost(isMessages, 'top_k'),
  },
  'stop-sequences-are-left-out': {
    what: 'The field stop_sequences does not reach a Messages provider.',
    caughtBy: ['DIAL-01/same-body'],
    hooks: lost(isMessages, 'stop_sequences'),
  },
  'effort-is-left-out': {
    what: 'The field output_config, which contains the effort, does not reach a Messages provider.',
    caughtBy: ['DIAL-01/same-body'],
    hooks: lost(isMessages, 'output_config'),
  },
  'old-context-is-kept': {
    what: 'The field context_management does not reach a Messages provider.',
    caughtBy: ['DIAL-01/same-body'],
    hooks: lost(isMessages, 'context_management'),
  },
  'tier-is-left-out': {
    what: 'The field service_tier does not reach a Messages provider.',
    caughtBy: ['DIAL-01/same-body'],
    hooks: lost(isMessages, 'service_tier'),
  },
  'choice-is-left-out': {
    what: 'The field tool_choice does not reach a Messages provider.',
    caughtBy: ['DIAL-01/same-body'],
    hooks: lost(isMessages, 'tool_choice'),
  },
  'turns-are-not-cached': {
    what: 'The cache_control field on a text in a turn does not reach a Messages provider.',
    caughtBy: ['DIAL-01/same-body'],
    hooks: changeRequest(isMessages, (json) =>
      eachBlock('text')(json, (block) => withoutMember(block, 'cache_control')),
    ),
  },
  'text-is-trimmed': {
    what: 'Texts lose leading and trailing white space before they reach a Messages provider.',
    caughtBy: ['DIAL-01/same-body'],
    hooks: changeRequest(isMessages, (json) =>
      eachBlock('text')(json, (block) => ({ ...block, text: block.text.trim() })),
    ),
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
  'redacted-thoughts-are-left-out': {
    what: 'Blocks of redacted thinking do not reach a Messages provider.',
    caughtBy: ['MSG-05/thoughts-go-back'],
    hooks: changeRequest(isMessages, (json) => ({
      ...json,
      messages: json.messages?.map((each: Json) =>
        Array.isArray(each.content)
          ? { ...each, content: each.content.filter(({ type }: Json) => type !== 'redacted_thinking') }
          : each,
      ),
    })),
  },
  'reasoning-is-not-asked-for': {
    what: 'The field reasoning does not reach a Responses provider.',
    caughtBy: ['DIAL-01@responses/same-body'],
    hooks: lost(isResponses, 'reasoning'),
  },
  'summary-is-not-asked-for': {
    what: 'The `summary` member of the field reasoning does not reach a Responses provider.',
    caughtBy: ['DIAL-01@responses/same-body'],
    hooks: changeRequest(isResponses, (json) =>
      json.reasoning ? { ...json, reasoning: withoutMember(json.reasoning, 'summary') } : json,
    ),
  },
  'format-is-left-out': {
    what: 'The field text does not reach a Responses provider.',
    caughtBy: ['DIAL-01@responses/same-body'],
    hooks: lost(isResponses, 'text'),
  },
  'cache-key-is-left-out': {
    what: 'The field prompt_cache_key does not reach a Responses provider.',
    caughtBy: ['DIAL-01@responses/same-body'],
    hooks: lost(isResponses, 'prompt_cache_key'),
  },
  'calls-in-parallel-again': {
    what: 'The field parallel_tool_calls does not reach a Responses provider.',
    caughtBy: ['DIAL-01@responses/same-body'],
    hooks: lost(isResponses, 'parallel_tool_calls'),
  },
  'truncation-is-left-out': {
    what: 'The field truncation does not reach a Responses provider.',
    caughtBy: ['DIAL-01@responses/same-body'],
    hooks: lost(isResponses, 'truncation'),
  },
  'items-lose-their-ids': {
    what: 'The ids of input items do not reach a Responses provider.',
    caughtBy: ['RSP-07/items-arrive'],
    hooks: changeRequest(isResponses, (json) => ({
      ...json,
      ...(Array.isArray(json.input) && { input: json.input.map((item: Json) => withoutMember(item, 'id')) }),
    })),
  },
  'comes-back-in-a-second': {
    what: "Retry-After is always 1 instead of the provider's value.",
    caughtBy: ['MSG-13/retry-words-arrive', 'RSP-09/retry-after-is-passed-on'],
    hooks: {
      responseStart({ headers }) {
        if (headers['retry-after']) headers['retry-after'] = '1'
      },
    },
  },
  'comes-back-in-a-minute': {
    what: "Retry-After is always 60 instead of the provider's value.",
    caughtBy: ['MSG-13/retry-words-arrive', 'RSP-09/retry-after-is-passed-on'],
    hooks: {
      responseStart({ headers }) {
        if (headers['retry-after']) headers['retry-after'] = '60'
      },
    },
  },
  'too-large-is-bad': {
    what: 'A 413 from the provider reaches Messages clients as 400.',
    caughtBy: ['MSG-11/type-of-its-status'],
    hooks: {
      responseStart(start, wanted) {
        if (isMessages(wanted) && start.status === 413) start.status = 400
      },
    },
  },
  'busy-is-broken': {
    what: 'A 429 from the provider reaches Messages and Responses clients as 500.',
    caughtBy: ['FAIL-04@messages/keeps-429'],
    hooks: {
      responseStart(start, wanted) {
        if ((isMessages(wanted) || isResponses(wanted)) && start.status === 429) start.status = 500
      },
    },
  },
  'names-what-was-asked-for': {
    what: 'A Responses call is recorded with the requested id as the model that served it.',
    caughtBy: ['LOG-02@responses/model'],
    hooks: {
      body: recorded('/v1/responses', (record) => ({ ...record, resolved_model: record.requested_model })),
    },
  },
  'streams-of-messages-cost-nothing': {
    what: 'A Messages stream is recorded with a cost of 0.',
    caughtBy: ['LOG-02@messages/cost'],
    hooks: {
      body: recorded('/v1/messages', (record) => (record.stream ? { ...record, cost_usd: 0 } : record)),
    },
  },
  'streams-of-responses-have-no-tokens': {
    what: 'A Responses stream is recorded without tokens.',
    caughtBy: ['LOG-02@responses/input-tokens'],
    hooks: {
      body: recorded('/v1/responses', (record) =>
        record.stream ? { ...record, tokens: { ...record.tokens, input: null, output: null } } : record,
      ),
    },
  },
  'messages-have-no-session': {
    what: 'A Messages call is recorded without its session.',
    caughtBy: ['LOG-02@messages/session'],
    hooks: { body: recorded('/v1/messages', (record) => ({ ...record, session_id: null })) },
  },
  'failed-streams-are-completed': {
    what: 'A Messages stream that failed in the middle is recorded as completed.',
    caughtBy: ['LOG-05@messages/names-the-last-target'],
    hooks: {
      body: recorded('/v1/messages', (record) =>
        record.state === 'failed' ? { ...record, state: 'completed' } : record,
      ),
    },
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
  'unknown-events-are-left-out': {
    what: 'The gateway drops Responses events of unknown types.',
    caughtBy: ['DIAL-03@responses'],
    hooks: {
      event: (event, _, wanted) =>
        isResponses(wanted) && event.startsWith('event:') && !event.startsWith('event: response.')
          ? []
          : [event],
    },
  },
} satisfies Record<string, MustFail>
