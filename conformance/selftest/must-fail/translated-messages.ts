// Must-fail gateways that make mistakes when they translate Messages answers or token counts.

import { changeRequest, cleanEnd, eachCallOf, isCount, isMessages, withoutMember } from '../dialect-hooks.ts'
import { changeEvent, type Json, type MustFail, roundNumbers } from '../gateway.ts'
import { changeAnswer, oneLater, toChat } from '../translated-hooks.ts'
import type { Wanted } from '../wire.ts'

const here = toChat(isMessages)

const ofDelta = (change: (delta: Json) => object) => (json: Json) =>
  json.delta ? { ...json, delta: change(json.delta) } : json

const ofUsage = (change: (usage: Json) => object) => (json: Json) =>
  json.usage ? { ...json, usage: change(json.usage) } : json

/** Returns an error sent as a delta of the text. */
const errorAsText = (event: string): readonly string[] =>
  changeEvent(event.replace(/^event: error/, 'event: content_block_delta'), (json) =>
    json.type === 'error'
      ? {
          type: 'content_block_delta',
          index: 0,
          delta: { type: 'text_delta', text: `Error: ${json.error.message}` },
        }
      : json,
  )

export const mustFail = {
  'deltas-change-places': {
    what: 'Two consecutive text deltas of a translated message are swapped.',
    caughtBy: ['DIAL-11@messages/same-answer', 'DIAL-12@messages/indexes-lead-to-what-began'],
    hooks: oneLater(here, /"text_delta"/),
  },
  'last-words-are-lost': {
    what: 'In a translated message, the last delta of each block is missing.',
    caughtBy: ['DIAL-11@messages/same-answer', 'MSG-04/input-is-whole'],
    hooks: () => {
      const held = new WeakMap<Wanted, string>()
      return {
        event(event, _, wanted) {
          if (!here(wanted)) return [event]
          const before = held.get(wanted)
          held.delete(wanted)
          if (event.includes('"content_block_delta"')) held.set(wanted, event)
          return [
            ...(before && !event.includes('"content_block_stop"') ? [before] : []),
            ...(held.has(wanted) ? [] : [event]),
          ]
        },
      }
    },
  },
  'long-numbers-are-rounded': {
    what: "In a whole translated message, integers in a tool call's input are rounded to doubles.",
    caughtBy: ['DIAL-11@messages/long-numbers-keep-digits'],
    hooks: {
      body: (body, wanted) => (here(wanted) ? roundNumbers(body) : body),
    },
  },
  'long-numbers-are-rounded-in-streams': {
    what: 'Integers in the streamed input of a translated tool call are rounded to doubles.',
    caughtBy: ['DIAL-11@messages/long-numbers-keep-digits'],
    hooks: () => {
      const held = new WeakMap<Wanted, string>()
      return {
        event(event, _, wanted) {
          if (!here(wanted)) return [event]
          const part = /"partial_json":("(?:[^"\\]|\\.)*")/.exec(event)?.[1]
          const before = held.get(wanted) ?? ''
          if (part !== undefined) {
            held.set(wanted, before + JSON.parse(part))
            return []
          }
          if (before === '' || !event.includes('"content_block_stop"')) return [event]
          held.delete(wanted)
          const delta = { type: 'input_json_delta', partial_json: roundNumbers(before) }
          const { index } = JSON.parse(/^data: (.*)$/m.exec(event)![1]!)
          const data = JSON.stringify({ type: 'content_block_delta', index, delta })
          return [`event: content_block_delta\ndata: ${data}\n\n`, event]
        },
      }
    },
  },
  'input-comes-twice': {
    what: "In a translated message, each delta of a tool call's input is sent twice.",
    caughtBy: ['DIAL-11@messages/same-answer', 'MSG-04/input-is-whole'],
    hooks: {
      event: (event, _, wanted) =>
        here(wanted) && event.includes('"partial_json"') ? [event, event] : [event],
    },
  },
  'every-block-is-the-first': {
    what: 'Every block of a translated message has the index 0.',
    caughtBy: ['MSG-03'],
    hooks: changeAnswer(isMessages, {
      event: (json) => (json.index === undefined ? json : { ...json, index: 0 }),
    }),
  },
  'thoughts-are-spoken': {
    what: 'The reasoning in a whole translated message is sent as a text block.',
    caughtBy: ['DIAL-11@messages/same-answer', 'DIAL-11@messages/same-reasoning'],
    hooks: changeAnswer(isMessages, {
      whole: (json) => ({
        ...json,
        content: json.content?.map((block: Json) =>
          block.type === 'thinking' ? { type: 'text', text: block.thinking } : block,
        ),
      }),
    }),
  },
  'thoughts-are-spoken-in-streams': {
    what: 'The reasoning in a streamed translated message is sent as text.',
    caughtBy: ['DIAL-11@messages/same-answer', 'DIAL-11@messages/same-reasoning'],
    hooks: changeAnswer(isMessages, {
      event: (json) => {
        if (json.content_block?.type === 'thinking')
          return { ...json, content_block: { type: 'text', text: '' } }
        if (json.delta?.type === 'signature_delta') return null
        return json.delta?.type === 'thinking_delta'
          ? { ...json, delta: { type: 'text_delta', text: json.delta.thinking } }
          : json
      },
    }),
  },
  'calls-end-the-turn': {
    what: 'A translated stream with tool calls ends with end_turn, so an agent stops.',
    caughtBy: ['DIAL-11@messages/same-answer', 'MSG-06'],
    hooks: changeAnswer(isMessages, {
      event: ofDelta((delta) =>
        delta.stop_reason === 'tool_use' ? { ...delta, stop_reason: 'end_turn' } : delta,
      ),
    }),
  },
  'half-an-answer-ends-the-turn': {
    what: 'A translated stream that reached the token limit ends with end_turn.',
    caughtBy: ['DIAL-11@messages/same-answer', 'MSG-06'],
    hooks: changeAnswer(isMessages, {
      event: ofDelta((delta) =>
        delta.stop_reason === 'max_tokens' ? { ...delta, stop_reason: 'end_turn' } : delta,
      ),
    }),
  },
  'limit-is-a-stop-sequence': {
    what: 'A translated message that reached the token limit reports a stop sequence as its stop reason.',
    caughtBy: ['DIAL-11@messages/same-answer', 'MSG-06'],
    hooks: changeAnswer(isMessages, {
      whole: (json) => (json.stop_reason === 'max_tokens' ? { ...json, stop_reason: 'stop_sequence' } : json),
    }),
  },
  'whole-messages-cost-nothing': {
    what: 'The usage of a whole translated message is zero.',
    caughtBy: ['DIAL-11@messages/same-usage'],
    hooks: changeAnswer(isMessages, { whole: ofUsage(() => ({ input_tokens: 0, output_tokens: 0 })) }),
  },
  'output-counts-double': {
    what: 'The last usage in a translated stream has twice the output tokens.',
    caughtBy: ['DIAL-11@messages/same-usage'],
    hooks: changeAnswer(isMessages, {
      event: ofUsage((usage) => ({ ...usage, output_tokens: usage.output_tokens * 2 })),
    }),
  },
  'output-is-all-there-is': {
    what: 'In a translated stream, the last usage has no input tokens, and the first has 0.',
    caughtBy: ['DIAL-11@messages/same-usage'],
    hooks: changeAnswer(isMessages, {
      event: ofUsage(({ output_tokens }) => ({ output_tokens })),
    }),
  },
  'cached-input-counts-twice': {
    what: 'The input count of a translated message includes the cached tokens, which are also reported separately.',
    caughtBy: ['DIAL-11@messages/same-usage'],
    hooks: changeAnswer(isMessages, {
      whole: ofUsage((usage) => ({
        ...usage,
        input_tokens: usage.input_tokens + (usage.cache_read_input_tokens ?? 0),
      })),
    }),
  },
  'input-is-a-text': {
    what: 'In a whole translated message, the tool input is a string that contains JSON.',
    caughtBy: ['MSG-04'],
    hooks: changeAnswer(isMessages, {
      whole: (json) => eachCallOf(json, (call) => ({ ...call, input: JSON.stringify(call.input) })),
    }),
  },
  'calls-are-spoken': {
    what: 'In a whole translated message, tool calls are written into the text.',
    caughtBy: ['DIAL-11@messages/same-answer'],
    hooks: changeAnswer(isMessages, {
      whole: (json) =>
        eachCallOf(json, ({ name, input }) => ({ type: 'text', text: JSON.stringify({ name, input }) })),
    }),
  },
  'first-block-only': {
    what: 'A whole translated message has only its first block.',
    caughtBy: ['DIAL-11@messages/same-answer'],
    hooks: changeAnswer(isMessages, { whole: (json) => ({ ...json, content: json.content?.slice(0, 1) }) }),
  },
  'calls-share-a-name': {
    what: 'Each tool call in a translated stream has the name of the first call.',
    caughtBy: ['MSG-04/input-is-whole'],
    hooks: () => {
      const names = new WeakMap<Wanted, string>()
      return {
        event: (event, _, wanted) =>
          here(wanted)
            ? changeEvent(event, (json) => {
                if (json.content_block?.type !== 'tool_use') return json
                const name = names.get(wanted) ?? json.content_block.name
                names.set(wanted, name)
                return { ...json, content_block: { ...json.content_block, name } }
              })
            : [event],
      }
    },
  },
  'stops-twice': {
    what: 'A translated stream has message_stop twice.',
    caughtBy: ['MSG-02'],
    hooks: {
      event: (event, _, wanted) =>
        here(wanted) && event.includes('"message_stop"') ? [event, event] : [event],
    },
  },
  'starts-without-a-role': {
    what: 'In a translated stream, the message in the message_start event lacks its type and role.',
    caughtBy: ['MSG-02/starts-with-a-message'],
    hooks: changeAnswer(isMessages, {
      event: (json) =>
        json.message
          ? { ...json, message: withoutMember(withoutMember(json.message, 'type'), 'role') }
          : json,
    }),
  },
  'translated-errors-keep-their-shape': {
    what: "Messages clients receive a chat provider's error in chat's format.",
    caughtBy: ['MSG-11/type-of-its-status', 'FAIL-01@messages/error-body'],
    hooks: changeAnswer(isMessages, {
      whole: (json) =>
        json.type === 'error' ? { error: { message: json.error.message, type: null, code: null } } : json,
    }),
  },
  'ends-without-a-reason': {
    what: 'A translated stream has no message_delta.',
    caughtBy: ['MSG-02'],
    hooks: changeAnswer(isMessages, { event: (json) => (json.type === 'message_delta' ? null : json) }),
  },
  'reason-after-the-end': {
    what: 'The message_delta of a translated stream comes after message_stop.',
    caughtBy: ['MSG-02'],
    hooks: oneLater(here, /"type":"message_delta"/),
  },
  'blocks-begin-behind-their-words': {
    what: 'In a translated stream, the first delta of a block comes before the block starts.',
    caughtBy: ['DIAL-11@messages/same-answer', 'DIAL-12@messages/indexes-lead-to-what-began'],
    hooks: oneLater(here, /"type":"content_block_start"/),
  },
  'blocks-overlap': {
    what: 'A block of a translated stream stops only after the next block has started.',
    caughtBy: ['MSG-02', 'MSG-03'],
    hooks: oneLater(here, /"type":"content_block_stop"/),
  },
  'spaces-between-deltas-are-lost': {
    what: 'Each text delta of a translated message loses leading and trailing spaces.',
    caughtBy: ['DIAL-11@messages/same-answer'],
    hooks: changeAnswer(isMessages, {
      event: ofDelta((delta) => (delta.text === undefined ? delta : { ...delta, text: delta.text.trim() })),
    }),
  },
  'ascii-only': {
    what: 'Non-ASCII characters become question marks in a whole translated message.',
    caughtBy: ['DIAL-11@messages/same-answer'],
    hooks: {
      body: (body, wanted) => (here(wanted) ? body.replace(/[^\x20-\x7e\s]/g, '?') : body),
    },
  },
  'ascii-only-in-streams': {
    what: 'Non-ASCII characters become question marks in a translated stream.',
    caughtBy: ['DIAL-11@messages/same-answer'],
    hooks: {
      event: (event, _, wanted) => [here(wanted) ? event.replace(/[^\x20-\x7e\s]/g, '?') : event],
    },
  },
  'translated-failures-end-well': {
    what: 'A translated Messages stream ends with message_stop although the provider failed.',
    caughtBy: ['DIAL-05', 'FLOW-09@messages'],
    hooks: cleanEnd(here, 'event: message_stop\ndata: {"type":"message_stop"}\n\n'),
  },
  'errors-are-spoken': {
    what: 'An error inside a translated Messages stream is sent as a text delta.',
    caughtBy: ['MSG-14'],
    hooks: {
      event: (event, _, wanted) => (isMessages(wanted) ? errorAsText(event) : [event]),
    },
  },
  'counts-the-last-turn': {
    what: 'A token count includes only the last turn of the conversation.',
    caughtBy: ['CNT-02/estimate-holds-all'],
    hooks: changeRequest(isCount, (json) => ({ ...json, messages: json.messages?.slice(-1) })),
  },
  'counts-to-zero': {
    what: "The gateway's token estimate is always 0.",
    caughtBy: ['CNT-02/estimate-holds-all'],
    hooks: {
      body: (body, wanted) =>
        toChat(isCount)(wanted) ? body.replace(/"input_tokens":\s*\d+/, '"input_tokens":0') : body,
    },
  },
} satisfies Record<string, MustFail>
