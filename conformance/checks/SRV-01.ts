// SRV-01: A whole answer has status 200 and is JSON with the members that its dialect's clients read.
import type { DialectName } from '../dialects/dialect.ts'
import { ref } from '../dialects/lookup.ts'
import { dialectOf } from '../dialects/registry.ts'
import { at } from '../evidence/reading.ts'
import { step } from '../evidence/step.ts'
import { listed } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'
import { ANSWER_TIMEOUT_MS, answered, jsonIn, small } from './server.ts'

const call = step('call')

type Is = (value: unknown) => boolean
const text: Is = (value) => typeof value === 'string'
const filled: Is = (value) => typeof value === 'string' && value !== ''
const list: Is = Array.isArray
const filledList: Is = (value) => Array.isArray(value) && value.length > 0
const just =
  (wanted: string): Is =>
  (value) =>
    value === wanted
const textOrNull: Is = (value) => value === null || typeof value === 'string'

/** JSON pointer -> test of the member that a client reads there, by dialect. */
const MEMBERS: Readonly<Partial<Record<DialectName, Readonly<Record<string, Is>>>>> = {
  chat: {
    '/id': filled,
    '/object': just('chat.completion'),
    '/created': Number.isInteger,
    '/model': text,
    '/choices': filledList,
    '/choices/0/index': (value) => value === 0,
    '/choices/0/message/role': just('assistant'),
    '/choices/0/message/content': textOrNull,
    '/choices/0/finish_reason': filled,
  },
  messages: {
    '/id': filled,
    '/type': just('message'),
    '/role': just('assistant'),
    '/model': text,
    '/content': list,
    '/stop_reason': filled,
    '/usage': (value) => typeof value === 'object' && value !== null,
  },
  responses: {
    '/id': filled,
    '/object': just('response'),
    '/model': text,
    '/status': (value) => value === 'completed' || value === 'incomplete',
    '/output': list,
  },
}

export const wholeAnswersHaveTheirShape = {
  id: 'SRV-01',
  async exercise(session) {
    await session.chat(call, { body: small(session, false), timeout: ANSWER_TIMEOUT_MS })
  },
  judge: ({ evidence }) =>
    call.in(evidence).flatMap((exchange) => {
      const members = Object.entries(MEMBERS[dialectOf(exchange).name] ?? {})
      const answer = jsonIn(exchange)
      const wrong = members.filter(([pointer, is]) => !is(at(answer, pointer)))
      return [
        answered(exchange, 'a whole call'),
        finding(
          'is-json',
          /^application\/json\b/i.test(exchange.headers['content-type'] ?? ''),
          'the content type of a whole answer',
          { expected: 'application/json', actual: exchange.headers['content-type'] ?? 'none' },
          [ref(exchange)],
        ),
        finding(
          'has-its-members',
          wrong.length === 0,
          'members of the answer that are missing or of another type',
          {
            expected: 'none',
            actual: listed(
              wrong.map(([pointer]) => `${pointer} ${JSON.stringify(at(answer, pointer)) ?? 'missing'}`),
            ),
          },
          [ref(exchange)],
        ),
      ]
    }),
} satisfies Check
