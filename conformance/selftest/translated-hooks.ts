// Hooks that change translated calls: the client's answer, and the provider's request. Knows which models of
// the reference's target file are translated; does not change native calls.

import type { Is } from './dialect-hooks.ts'
import { CHAT, changeEvent, changeJson, type Json } from './gateway.ts'
import type { GatewayHooks, Wanted } from './wire.ts'

export const isChat: Is = ({ path }) => path === CHAT

/** Returns true for chat calls that go to a Messages provider. */
export const toMessages: Is = (wanted) => isChat(wanted) && wanted.body.includes('"anthropic/')

/** Matches calls of a dialect that go to a chat provider. */
export const toChat =
  (is: Is): Is =>
  (wanted: Wanted) =>
    is(wanted) && wanted.body.includes('"groq/')

interface Change {
  /** Changes an event of a stream; `null` removes it. */
  readonly event?: (json: Json) => object | null
  readonly whole?: (json: Json) => object
}

/** Changes the client's answers to these calls. */
export const readBy = (is: Is, change: Change): GatewayHooks => ({
  event: (event, _, wanted) => (is(wanted) && change.event ? changeEvent(event, change.event) : [event]),
  body: (body, wanted) => (is(wanted) && change.whole ? changeJson(body, change.whole) : body),
})

/** Changes the client's answers that are translated from chat. */
export const changeAnswer = (is: Is, change: Change): GatewayHooks => readBy(toChat(is), change)

/** Changes the response in the first and the last events. */
export const eachResponse =
  (change: (response: Json) => object) =>
  (json: Json): Json =>
    json.response ? { ...json, response: change(json.response) } : json

/** Changes the items of the last event. */
export const eachLast = (change: (item: Json) => object) =>
  eachResponse((response) => ({ ...response, output: response.output?.map(change) }))

/** Sends the matching event after the next one. */
export const oneLater = (is: Is, late: RegExp) => (): GatewayHooks => {
  const held = new WeakMap<Wanted, string>()
  return {
    event(event, _, wanted) {
      if (!is(wanted)) return [event]
      const before = held.get(wanted)
      held.delete(wanted)
      if (before !== undefined) return [event, before]
      if (!late.test(event)) return [event]
      held.set(wanted, event)
      return []
    },
  }
}
