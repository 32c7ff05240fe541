// SRV-02: A stream is an event stream of JSON. It has one end mark with nothing after it, one reason for its end,
// and no error.
import { ref } from '../dialects/lookup.ts'
import { readAnswer } from '../dialects/registry.ts'
import { step } from '../evidence/step.ts'
import { type Check, finding } from '../runner/check.ts'
import { ANSWER_TIMEOUT_MS, answered, endMark, small } from './server.ts'

export const streamedCall = step('streamed call')

export const streamsEndOnce = {
  id: 'SRV-02',
  async exercise(session) {
    await session.chat(streamedCall, { stream: true, body: small(session, true), timeout: ANSWER_TIMEOUT_MS })
  },
  judge: ({ evidence }) =>
    streamedCall.in(evidence).flatMap((exchange) => {
      const { done, afterDone, finish, unreadable, errors } = readAnswer(exchange)
      const seen = [ref(exchange)]
      return [
        answered(exchange, 'a streamed call'),
        finding(
          'is-an-event-stream',
          /^text\/event-stream\b/i.test(exchange.headers['content-type'] ?? ''),
          'the content type of a streamed answer',
          { expected: 'text/event-stream', actual: exchange.headers['content-type'] ?? 'none' },
          seen,
        ),
        finding(
          'events-are-json',
          unreadable === 0,
          'events whose data is not JSON',
          { expected: 'none', actual: String(unreadable) },
          seen,
        ),
        finding(
          'ends-once',
          done === 1 && !afterDone,
          `${endMark(exchange)} at the end of the stream`,
          {
            expected: 'one, and nothing after it',
            actual: `${done}${afterDone ? ', and more after it' : ''}`,
          },
          seen,
        ),
        finding(
          'says-why-it-ended',
          finish.length === 1,
          'reasons for the end of the answer in the stream',
          { expected: 'one', actual: String(finish.length) },
          seen,
        ),
        finding(
          'has-no-error',
          errors.length === 0,
          'errors within the stream of an answered call',
          { expected: 'none', actual: JSON.stringify(errors).slice(0, 200) },
          seen,
        ),
      ]
    }),
} satisfies Check
