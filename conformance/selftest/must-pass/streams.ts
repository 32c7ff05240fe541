// Gateways with unusual streams.

import { sleep } from '../../../src/shared/clock.ts'
import { changeEvent, type MustPass, onEvent, parseJson } from '../gateway.ts'
import type { Wanted } from '../wire.ts'

/** Splits each piece of text into two. */
function recut(event: string): readonly string[] {
  const text = /"content":\s*"([^"\\]{2,})"/.exec(event)?.[1]
  if (text === undefined) return [event]
  const letters = [...text]
  return [letters[0]!, letters.slice(1).join('')].flatMap((content) =>
    changeEvent(event, (json) => {
      json.choices[0].delta.content = content
      return json
    }),
  )
}

interface Tool {
  index: number
  id?: string
  function: { name?: string }
}

/** Ids and names of the tool calls so far in a request's stream. */
const toolsOf = new WeakMap<Wanted, Map<number, Tool>>()
/** Last event with a finish reason, held back until usage follows or the stream ends. */
const heldOf = new WeakMap<Wanted, string>()

export const mustPass = {
  'repeats-tool-ids': {
    what: 'Each delta of a tool call contains its id and name, which clients replace with the same values.',
    hooks: {
      event: (event, _, wanted) =>
        changeEvent(event, (json) => {
          const tools = toolsOf.get(wanted) ?? new Map<number, Tool>()
          toolsOf.set(wanted, tools)
          for (const call of json.choices?.[0]?.delta?.tool_calls ?? []) {
            const known = tools.get(call.index) ?? call
            tools.set(call.index, known)
            call.id = known.id
            call.function = { ...call.function, name: known.function.name }
          }
          return json
        }),
    },
  },
  'usage-with-the-finish': {
    what: 'Usage is in the chunk with the finish reason instead of a separate chunk.',
    hooks: {
      event(event, _, wanted) {
        const held = heldOf.get(wanted)
        const json = /^data: \{/m.test(event) ? parseJson(/^data: (.*)$/m.exec(event)![1]!) : null
        if (json?.choices?.[0]?.finish_reason != null && held === undefined) {
          heldOf.set(wanted, event)
          return []
        }
        if (held === undefined) return [event]
        heldOf.delete(wanted)
        if (json?.usage && json.choices?.length === 0)
          return changeEvent(held, (last) => ({ ...last, usage: json.usage }))
        return [held, event]
      },
    },
  },
  'cuts-texts-otherwise': {
    what: 'Each text delta is split in two.',
    hooks: { event: (event) => recut(event) },
  },
  'empty-deltas': {
    what: 'Streams have deltas without text between the other deltas.',
    hooks: {
      event: (event) =>
        /"content":\s*"[^"]/.test(event)
          ? [
              ...changeEvent(event, (json) => ({
                ...json,
                choices: [{ ...json.choices[0], delta: { content: '' }, finish_reason: null }],
              })),
              event,
            ]
          : [event],
    },
  },
  'null-members': {
    what: 'Fields without a value are null instead of missing.',
    hooks: {
      event: onEvent((json) => ({
        ...json,
        usage: json.usage ?? null,
        choices: json.choices?.map((choice: { delta?: object }) => ({
          logprobs: null,
          ...choice,
          delta: { refusal: null, function_call: null, ...choice.delta },
        })),
      })),
    },
  },
  'ends-lines-with-crlf': {
    what: 'Lines of a stream end with CR LF.',
    hooks: { event: (event) => [event.replace(/\r?\n/g, '\r\n')] },
  },
  'names-its-events': {
    what: 'Events have an id and the default name, which clients ignore.',
    hooks: {
      event: (event, index) =>
        event.startsWith('data:') ? [`id: ${index}\nevent: message\n${event}`] : [event],
    },
  },
  pings: {
    what: 'A comment precedes each event, so that proxies do not close the stream.',
    hooks: { event: (event) => [': still here\n\n', event] },
  },
  'spaces-around-the-end': {
    what: 'Streams have spaces around [DONE].',
    hooks: { event: (event) => [event.replace(/^data: ?\[DONE\]/m, 'data:  [DONE] ')] },
  },
  'streams-slowly': {
    what: 'A stream has 300 events per second, regardless of the provider’s pace.',
    hooks: {
      async event(event) {
        await sleep(3)
        return [event]
      },
    },
  },
  'drains-for-billing': {
    what: 'The gateway reads the provider’s stream to its end after the client has disconnected, because the rest is paid for.',
    mayWarn: ['FLOW-05'],
    // The reference behind these hooks does not notice that the client left, so its log cannot show it.
    target: (target) => {
      const { log } = target.observability
      const { state: _, ...fields } = log!.fields
      return { ...target, observability: { ...target.observability, log: { ...log!, fields } } }
    },
    hooks: { ignoresLeaving: true },
  },
} satisfies Record<string, MustPass>
