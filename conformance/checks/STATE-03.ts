// STATE-03: A call may name an object that a provider keeps: a container, a file, a conversation, a stored prompt,
// an item, a vector store, a skill or cached content. It then goes only to the provider that keeps the object. If
// several providers of a route might keep it and the gateway does not know which one does, the call is refused
// without an inference. A translation may omit an object that holds no part of the conversation, if it names the
// loss in a header.
import type { DialectName } from '../dialects/dialect.ts'
import { modelsOf, ref, refs, requestsOf, where } from '../dialects/lookup.ts'
import { isCrossed } from '../dialects/registry.ts'
import { step, stepText } from '../evidence/step.ts'
import { endText, listed } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'
import { namesLoss } from './asked.ts'
import { isAnswered, isRefused } from './STATE-01.ts'

/** Step of a call; `what` is the name of an object in OBJECTS. */
const call = step<{ model: string; what: string }>('call')

/** Mark that occurs in each id. */
const MARK = 'of_nobody_waybill'

/** Only object here that is not part of the conversation. */
const CONTAINER = 'a container'

/** Objects that only a provider of this dialect can store, in the form in which a request names them. */
const OBJECTS: Readonly<Partial<Record<DialectName, Readonly<Record<string, object>>>>> = {
  messages: { [CONTAINER]: { container: `container_${MARK}` } },
  responses: {
    'a conversation': { conversation: `conv_${MARK}` },
    'a stored prompt': { prompt: { id: `pmpt_${MARK}` } },
    'an item': {
      input: [
        { type: 'item_reference', id: `msg_${MARK}` },
        { role: 'user', content: 'Go on. {nonce}' },
      ],
    },
  },
}

export const storedObjectsStay = {
  id: 'STATE-03',
  needs: ['messages'],
  dialect: 'messages',
  async exercise(session) {
    for (const [what, body] of Object.entries(OBJECTS[session.dialect.name] ?? {}))
      for (const model of modelsOf(session)) await session.chat(call.with({ model, what }), { model, body })
  },
  judge: ({ evidence }) =>
    call.in(evidence).map((exchange) => {
      const entries = requestsOf(evidence, exchange)
      const answered = entries.filter(isAnswered)
      const others = answered.filter(
        (entry) => isCrossed(exchange, entry) || !JSON.stringify(entry.body).includes(MARK),
      )
      return finding(
        'only-its-keeper-is-asked',
        (others.length === 0 && (answered.length > 0 || isRefused(exchange, entries))) ||
          (exchange.details.what === CONTAINER && namesLoss(exchange)),
        `who was asked in "${stepText(exchange)}"`,
        {
          expected: 'a provider that may have it, with its id, or nobody, and a 4xx',
          actual: `${endText(exchange)}; without it, or where it cannot be: ${listed(others.map(where), 'nobody')}`,
        },
        [...refs(exchange), ...entries.map(ref)],
      )
    }),
} satisfies Check
