// Checks what reaches the client when a provider deviates from the documents of its dialect. Only deviations from which
// the official clients, at the provider directly, conclude what the mock says (`concludes`) are sent.
import { isDeepStrictEqual } from 'node:util'
import { dialectOf, readAnswer } from '../dialects/lookup.ts'
import { endText, step } from '../evidence/evidence.ts'
import { at, jsonOf } from '../evidence/reading.ts'
import { callEach, each, family } from './check.ts'
import type { CheckContext } from './context.ts'
import { INCLUDE } from './log/parts.ts'

const check = family({ relays: true })

type ByDialect = Readonly<Record<string, readonly string[]>>

/** Calls in pieces, framing, labels and places of usage. */
export const WHOLE: ByDialect = {
  chat: [
    ...['call-with-the-end', 'values-in-text-too', 'tool-calls-null', 'text-with-reason', 'comments'],
    ...['stream-without-type', 'stream-as-text', 'stream-as-json', 'no-space-after-colon', 'line-ends-crlf'],
    ...['line-ends-cr', 'only-chunk-has-all', 'choices-empty-first', 'in-choice-and-chunk', 'null-until-end'],
  ],
  messages: [
    ...['input-in-start', 'input-absent-in-start', 'input-never', 'no-delta-at-all', 'two-deltas-at-end'],
    ...['no-space-after-colon', 'line-ends-crlf', 'zeros-at-start', 'cached-only-at-end'],
  ],
  responses: [
    ...['data-only', 'stream-as-json', 'line-ends-crlf', 'no-space-after-colon', 'line-ends-cr'],
    ...['byte-order-mark', 'no-text-done', 'text-done-empty', 'mark-after-last-response'],
    ...['details-absent', 'number-in-details-null'],
  ],
  gemini: [
    ...['args-absent', 'id-empty', 'end-in-event-of-its-own', 'one-call-an-event', 'stop-in-every-event'],
    ...['text-after-stop', 'line-ends-crlf', 'no-space-after-colon', 'signature-last'],
    ...['index-and-ids-absent', 'in-each-event-so-far'],
  ],
  interactions: [
    ...['calls-interleaved', 'arguments-in-start', 'call-never-stops', 'signature-before-call'],
    ...['search-after-text', 'text-in-start', 'steps-again-at-end', 'summary-in-start', 'id-empty'],
    ...['no-mark-at-end', 'update-after-completed', 'data-only'],
  ],
}

/** Answers that have failed, whatever their status. */
export const FAILED: ByDialect = {
  chat: [
    ...['empty-at-end', 'never-any-reason', 'word-error', 'word-insufficient-resource', 'error-in-stream'],
    ...['error-beside-choices', 'error-in-choice'],
  ],
  messages: ['no-end-events', 'block-closed-then-nothing', 'overloaded-in-stream', 'error-then-end'],
  responses: [
    'no-last-response',
    'mark-instead-of-last-response',
    'failed-after-text',
    'error-with-code-at-top',
  ],
  gemini: ['malformed', 'unexpected-call', 'no-reason-and-end'],
  interactions: ['no-completed', 'done-without-completed', 'error-event', 'refusal-as-bare-line'],
}

const whole = step<{ deviation: string }>('a whole answer')
const failed = step<{ deviation: string }>('a failed answer')

const asking = (steps: typeof whole, deviations: ByDialect) =>
  callEach(
    steps,
    { deviation: ({ dialect }: CheckContext) => deviations[dialect.name] ?? [] },
    ({ deviation }, { dialect: { name } }) => ({
      stream: true,
      ...(name === 'chat' && { body: INCLUDE }),
      script: [{ scenario: `deviation:${name}/${deviation}` }],
    }),
  )

const GOOD = ['stop', 'tool_calls', 'length']
const WORDS: Readonly<Record<string, string>> = { stop: 'stop', calls: 'tool_calls', length: 'length' }

const UNSENT = 'The provider was asked in another dialect.'

check('ARR-01', {
  exercise: asking(whole, WHOLE),
  judge: each(whole, ({ exchange, entry, quoted }) => {
    const concludes = entry?.answer.concludes
    if (!concludes) return { 'text-arrives': { doubt: UNSENT } }
    const { content, tools, finish, usage, errors } = readAnswer(exchange)
    if (exchange.status !== 200 || errors.length > 0 || exchange.end === 'cut')
      return { 'text-arrives': { absent: `The answer to ${quoted} is an error.` } }
    // Gemini has no word of its own for an end with calls.
    const words = dialectOf(exchange).name === 'gemini' ? { ...WORDS, calls: 'stop' } : WORDS
    const calls = tools.map((tool) => ({ name: tool.name, arguments: jsonOf(tool.arguments || '{}') }))
    const counts = ['prompt_tokens', 'completion_tokens'].map((name) => at(usage.at(-1), `/${name}`))
    const { input, output } = concludes.usage === 'none' ? {} : (concludes.usage ?? {})
    const compared = (what: string, expected: unknown, got: unknown) =>
      [
        isDeepStrictEqual(got, expected),
        `${what} of ${quoted}`,
        JSON.stringify(expected),
        JSON.stringify(got) ?? 'nothing',
      ] as const
    return {
      'text-arrives': compared('the text', concludes.text, content),
      'calls-arrive': compared('the calls', concludes.calls, calls),
      'end-arrives': compared('the last finish reason', words[concludes.end], finish.at(-1)?.reason),
      'usage-arrives':
        input !== undefined &&
        output !== undefined &&
        compared('the usage', { input, output }, { input: counts[0] ?? null, output: counts[1] ?? null }),
    }
  }),
})

check('ARR-02', {
  exercise: asking(failed, FAILED),
  judge: each(failed, ({ exchange, entry, quoted }) => {
    if (!entry?.answer.concludes) return { 'failure-is-no-good-end': { doubt: UNSENT } }
    const { finish, errors } = readAnswer(exchange)
    const good = finish.filter(({ reason }) => GOOD.includes(reason))
    return {
      'failure-is-no-good-end': [
        exchange.status !== 200 || exchange.end === 'cut' || errors.length > 0 || good.length === 0,
        `the end of ${quoted}`,
        'an error, a connection that breaks, or no word of a good end',
        `${endText(exchange)}, ${good.map(({ reason }) => reason).join(', ')}`,
      ],
    }
  }),
})
