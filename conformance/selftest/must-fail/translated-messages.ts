// Must-fail gateways that make mistakes when they translate Messages answers or token counts.

import { eachCallOf, isMessages } from '../dialect-hooks.ts'
import { changeEvent, type Json, type MustFail, roundNumbers } from '../gateway.ts'
import { changeAnswer, toChat } from '../translated-hooks.ts'
import type { Wanted } from '../wire.ts'

const here = toChat(isMessages)

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
  'calls-are-spoken': {
    what: 'In a whole translated message, tool calls are written into the text.',
    caughtBy: ['DIAL-11@messages/same-answer'],
    hooks: changeAnswer(isMessages, {
      whole: (json) =>
        eachCallOf(json, ({ name, input }) => ({ type: 'text', text: JSON.stringify({ name, input }) })),
    }),
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
  'errors-are-spoken': {
    what: 'An error inside a translated Messages stream is sent as a text delta.',
    caughtBy: ['MSG-14'],
    hooks: {
      event: (event, _, wanted) => (isMessages(wanted) ? errorAsText(event) : [event]),
    },
  },
} satisfies Record<string, MustFail>
