// Predicates for requests, and hooks that change one part of a request or its answer. Must-fail gateways of
// the dialects other than chat share them. Also knows which models of the reference's target file are
// translated.
import { CHAT, changeEvent, changeJson, type Json } from './gateway.ts'
import type { GatewayHooks, Wanted } from './wire.ts'

export const isMessages = ({ path }: Wanted): boolean => /^\/v1\/messages(\?|$)/.test(path)
export const isResponses = ({ path }: Wanted): boolean => path.startsWith('/v1/responses')
export const isCount = ({ path }: Wanted): boolean => path.startsWith('/v1/messages/count_tokens')
export const isEmbeddings = ({ path }: Wanted): boolean => path.startsWith('/v1/embeddings')
export const isGemini = ({ path }: Wanted): boolean => /:(g|streamG)enerateContent/.test(path)
export const isImages = ({ path }: Wanted): boolean => path.startsWith('/v1/images/generations')
export type Is = (wanted: Wanted) => boolean

export const isChat: Is = ({ path }) => path === CHAT

/** Returns true for chat calls that go to a Messages provider. */
export const toMessages: Is = (wanted) => isChat(wanted) && wanted.body.includes('"anthropic/')

/** Matches calls of a dialect that go to a chat provider. */
export const toChat =
  (is: Is): Is =>
  (wanted) =>
    is(wanted) && wanted.body.includes('"groq/')

/** Changes the JSON of each event. */
export const eachEvent =
  (is: Is, change: (json: Json) => object | null): NonNullable<GatewayHooks['event']> =>
  (event, _, wanted) =>
    is(wanted) ? changeEvent(event, change) : [event]

/** Changes the JSON of each whole answer. */
export const eachBody =
  (is: Is, change: (json: Json) => unknown): NonNullable<GatewayHooks['body']> =>
  (body, wanted) =>
    is(wanted) ? changeJson(body, change) : body

/** Changes the request of these calls. */
export const changeRequest = (is: Is, change: (body: Json) => object): GatewayHooks => ({
  request(wanted) {
    if (is(wanted)) wanted.body = Buffer.from(changeJson(wanted.body.toString('utf8'), change))
  },
})

/** Holds events back until a matching event arrives. */
export const until = (is: Is, last: RegExp) => (): GatewayHooks => {
  const held: string[] = []
  return {
    event(event, _, wanted) {
      if (!is(wanted)) return [event]
      held.push(event)
      return last.test(event) ? held.splice(0) : []
    },
  }
}

export const withoutMember = (json: Json, name: string) => {
  const { [name]: _, ...rest } = json
  return rest
}

/** Changes the blocks of one type in a Messages answer or in a call's history. */
const eachBlock =
  (type: string) =>
  (json: Json, change: (block: Json) => object): object => {
    // biome-ignore lint/suspicious/noExplicitAny: foreign JSON
    const within = (content: any) =>
      Array.isArray(content)
        ? content.map((block) => (block?.type === type ? change(block) : block))
        : content
    return {
      ...json,
      ...(json.content && { content: within(json.content) }),
      ...(Array.isArray(json.messages) && {
        messages: json.messages.map((each) => ({ ...each, content: within(each.content) })),
      }),
    }
  }
export const eachResult = eachBlock('tool_result')
export const eachCallOf = eachBlock('tool_use')

/** Changes the client's answers to these calls. */
export const changeAnswer = (
  is: Is,
  change: { readonly event?: (json: Json) => object | null; readonly whole?: (json: Json) => object },
): GatewayHooks => ({
  event: (event, _, wanted) => (is(wanted) && change.event ? changeEvent(event, change.event) : [event]),
  body: (body, wanted) => (is(wanted) && change.whole ? changeJson(body, change.whole) : body),
})

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
