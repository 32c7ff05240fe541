// Checks of the answers of a model server: shape, streams, usage, limits.
import type { DialectName } from '../../dialects/dialect.ts'
import { dialectOf, readAnswer, ref } from '../../dialects/lookup.ts'
import { type Details, type Exchange, listed, step } from '../../evidence/evidence.ts'
import { at, jsonOf, readEvents } from '../../evidence/reading.ts'
import { contradictions } from '../agreement.ts'
import { callEach, each, type Finding, family, finding, type Told } from '../check.ts'
import {
  ANSWER_TIMEOUT_MS,
  answered,
  endMark,
  FEW_TOKENS,
  isTokenCount,
  jsonIn,
  small,
  usageCounts,
} from './parts.ts'

const check = family()

const whole = step('call')

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

check('SRV-01', {
  exercise: (session) => session.chat(whole, { body: small(session, false), timeout: ANSWER_TIMEOUT_MS }),
  judge: each(whole, ({ exchange }) => {
    const members = Object.entries(MEMBERS[dialectOf(exchange).name] ?? {})
    const answer = jsonIn(exchange)
    const wrong = members.filter(([pointer, is]) => !is(at(answer, pointer)))
    return [
      answered(exchange, 'a whole call'),
      {
        'is-json': [
          /^application\/json\b/i.test(exchange.headers['content-type'] ?? ''),
          'the content type of a whole answer',
          'application/json',
          exchange.headers['content-type'] ?? 'none',
        ],
        'has-its-members': [
          wrong.length === 0,
          'members of the answer that are missing or of another type',
          'none',
          listed(wrong.map(([pointer]) => `${pointer} ${JSON.stringify(at(answer, pointer)) ?? 'missing'}`)),
        ],
      },
    ]
  }),
})

const isNoJson = ({ data }: { readonly data: string }): boolean =>
  data !== '[DONE]' && jsonOf(data) === undefined

const streamedCall = step('streamed call')

check('SRV-02', {
  exercise: (session) =>
    session.chat(streamedCall, { stream: true, body: small(session, true), timeout: ANSWER_TIMEOUT_MS }),
  judge: each(streamedCall, ({ exchange }) => {
    const { done, afterDone, finish, unreadable, errors } = readAnswer(exchange)
    return [
      answered(exchange, 'a streamed call'),
      {
        'is-an-event-stream': [
          /^text\/event-stream\b/i.test(exchange.headers['content-type'] ?? ''),
          'the content type of a streamed answer',
          'text/event-stream',
          exchange.headers['content-type'] ?? 'none',
        ],
        'events-are-json': [
          unreadable === 0,
          'events whose data is not JSON',
          'none',
          `${unreadable}, the first: ${readEvents(exchange.body).find(isNoJson)?.data.slice(0, 60)}`,
        ],
        'ends-once': [
          done === 1 && !afterDone,
          `${endMark(exchange)} at the end of the stream`,
          'one, and nothing after it',
          `${done}${afterDone ? ', and more after it' : ''}`,
        ],
        'says-why-it-ended': [
          finish.length === 1,
          'reasons for the end of the answer in the stream',
          'one',
          String(finish.length),
        ],
        'has-no-error': [
          errors.length === 0,
          'errors within the stream of an answered call',
          'none',
          JSON.stringify(errors).slice(0, 200),
        ],
      },
    ]
  }),
})

check('SRV-14', {
  shares: 'SRV-02',
  judge: each(streamedCall, ({ exchange }) => {
    const found = Object.values(contradictions(dialectOf(exchange).name, exchange.body)).flat()
    return [
      answered(exchange, 'a streamed call'),
      {
        'repeated-values-agree': [
          found.length === 0,
          'values that a stream repeats',
          'the same at each place',
          listed(found.slice(0, 3), 'so'),
        ],
      },
    ]
  }),
})

const atOnce = step<{ number: number }>('call')

const AT_ONCE = 4

check('SRV-13', {
  stress: true,
  async exercise(session) {
    const body = small(session, true)
    await Promise.all(
      Array.from({ length: AT_ONCE }, (_, number) =>
        session.chat(atOnce.with({ number }), { stream: true, body, timeout: 2 * ANSWER_TIMEOUT_MS }),
      ),
    )
  },
  judge: each(atOnce, ({ exchange }) => {
    const { done, finish } = readAnswer(exchange)
    return [
      answered(exchange, `one of ${AT_ONCE} calls at once`),
      {
        'is-whole': [
          done === 1 && finish.length === 1,
          `the end of one of ${AT_ONCE} streams at once`,
          'one end and one reason',
          `${done} and ${finish.length}`,
        ],
      },
    ]
  }),
})

const counted = step<{ stream: boolean; long: boolean }>('call')

/** Words that must increase the number of tokens on every server. */
const MANY_WORDS = Array.from({ length: 60 }, (_, index) => `Item ${index + 100} is here.`).join(' ')

check('SRV-04', {
  async exercise(session) {
    for (const [stream, long] of [
      [false, false],
      [true, false],
      [false, true],
    ] as const)
      await session.chat(counted.with({ stream, long }), {
        stream,
        body: small(session, stream),
        timeout: ANSWER_TIMEOUT_MS,
        ...(long && { prompt: MANY_WORDS }),
      })
  },
  judge({ evidence }) {
    const calls = counted.in(evidence)
    const good = calls.filter(({ status }) => status === 200)
    const [short, long] = [false, true].map((wanted) =>
      good.find(({ details }) => !details.stream && details.long === wanted),
    )
    return [
      calls.map((exchange): Told => [answered(exchange, nameOf(exchange)), ...countFindings(exchange)]),
      short && long ? [grows(short, long)] : [],
    ]
  },
})

const nameOf = ({ details }: { readonly details: Details }): string =>
  `a ${details.stream ? 'streamed' : 'whole'} call with a ${details.long ? 'long' : 'short'} prompt`

function countFindings(exchange: Exchange): Finding[] {
  const counts = usageCounts(exchange)
  const { prompt_tokens: input, completion_tokens: output, total_tokens: total } = counts ?? {}
  const actual = counts === null ? 'no usage' : JSON.stringify(counts)
  const see = [ref(exchange)]
  return [
    finding(
      'has-counts',
      isTokenCount(input) && input > 0 && isTokenCount(output),
      `usage of ${nameOf(exchange)}`,
      { expected: 'tokens of the input, at least one, and of the output', actual },
      see,
    ),
    finding(
      'output-is-within-its-limit',
      !isTokenCount(output) || output <= FEW_TOKENS,
      `tokens of the output of ${nameOf(exchange)}`,
      { expected: `at most ${FEW_TOKENS}, as asked`, actual: String(output) },
      see,
    ),
    finding(
      'total-is-the-sum',
      total === undefined || !isTokenCount(input) || !isTokenCount(output) || total === input + output,
      `the total in usage of ${nameOf(exchange)}`,
      { expected: 'the sum of both', actual },
      see,
    ),
  ]
}

function grows(short: Exchange, long: Exchange): Finding {
  const [less, more] = [short, long].map((exchange) => usageCounts(exchange)?.prompt_tokens)
  return finding(
    'input-grows-with-the-prompt',
    isTokenCount(less) && isTokenCount(more) && more > less,
    'tokens of the input of a short and of a long prompt',
    { expected: 'more for the long one', actual: `${less} and ${more}` },
    [ref(short), ref(long)],
  )
}

const limited = step<{ stream: boolean }>('call')

check('SRV-05', {
  exercise: callEach(limited, { stream: [false, true] }, ({ stream }, session) => ({
    stream,
    prompt: 'Count from one to one hundred in words.',
    body: small(session, stream),
    timeout: ANSWER_TIMEOUT_MS,
  })),
  judge: each(limited, ({ exchange, details }) => {
    const output = usageCounts(exchange)?.completion_tokens
    const reason = readAnswer(exchange).finish.at(-1)?.reason ?? 'none'
    const what = `the reason for the end of a ${details.stream ? 'streamed' : 'whole'} answer`
    const first = answered(exchange, 'a call with a small limit')
    if (!first.ok) return [first]
    // The model may have ended by itself before the limit or with its last token.
    if (!isTokenCount(output) || (output >= FEW_TOKENS && reason === 'stop'))
      return [first, { 'limit-is-reported': { absent: `${what} cannot be judged: usage is ${output}` } }]
    const isAtLimit = output >= FEW_TOKENS
    return [
      first,
      {
        'limit-is-reported': [
          isAtLimit ? reason === 'length' : reason !== 'length',
          `${what} of ${output} tokens, where ${FEW_TOKENS} were allowed`,
          isAtLimit ? 'the limit' : 'another one than the limit',
          reason,
        ],
      },
    ]
  }),
})

const stopping = step<{ stream: boolean }>('call')

/** Letters that occur in almost every text of any model. */
const STOPS = ['e', 'a', 'o', 'i']

check('SRV-06', {
  async exercise(session) {
    const name = session.dialect.name === 'messages' ? 'stop_sequences' : 'stop'
    for (const stream of [false, true])
      await session.chat(stopping.with({ stream }), {
        stream,
        body: { ...small(session, stream), [name]: STOPS },
        timeout: ANSWER_TIMEOUT_MS,
      })
  },
  judge: each(stopping, ({ exchange, details }) => {
    const { content } = readAnswer(exchange)
    const kind = details.stream ? 'streamed' : 'whole'
    const found = STOPS.filter((stop) => content.includes(stop))
    return [
      answered(exchange, `a ${kind} ${dialectOf(exchange).name} call with stop strings`),
      {
        'stop-strings-stay-out': [
          found.length === 0,
          `stop strings in the text of a ${kind} answer`,
          'none',
          `${found.join(', ') || 'none'} in ${JSON.stringify(content)}`,
        ],
      },
    ]
  }),
})
