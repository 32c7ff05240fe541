// GEM-04: Errors, including the gateway's own and those inside streams, are
// `{"error":{"code","message","status","details"}}`. A provider's 4xx arrives word for word. A broken stream never
// ends cleanly.
import { refs, servedBy } from '../dialects/lookup.ts'
import { dialectOf, readAnswer } from '../dialects/registry.ts'
import { step, stepText } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'
import type { ChatOptions } from '../runner/context.ts'
import { geminiAnswer, geminiEvent, refusedInShape, sameBytes } from './gemini.ts'

const steps = {
  refused: step<{ status: number; stream: boolean }>('the provider refuses it'),
  malformed: step<{ fault: string }>('malformed'),
  broken: step<{ how: string }>('the stream breaks'),
}

const REFUSAL = {
  error: {
    ...{ code: 400, message: 'Unable to process “input image”.', status: 'INVALID_ARGUMENT' },
    details: [
      { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: [{ field: 'contents' }] },
    ],
  },
}

const FAILURE = { error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } }

type Events = NonNullable<NonNullable<ChatOptions['script']>[number]['events']>

const BREAKS: Readonly<Record<string, Events>> = {
  'in the middle': [geminiEvent(geminiAnswer([{ text: 'From here' }])), { end: 'cut' }],
  'with a reset': [geminiEvent(geminiAnswer([{ text: 'From here' }])), { end: 'reset' }],
  'with an error': [geminiEvent(geminiAnswer([{ text: 'From here' }])), geminiEvent(FAILURE)],
}

export const googleErrors = {
  id: 'GEM-04',
  needs: ['gemini'],
  dialect: 'gemini',
  async exercise(session) {
    for (const stream of [false, true])
      await session.chat(steps.refused.with({ status: 400, stream }), {
        ...{ stream, script: [{ status: 400, body: REFUSAL }] },
      })
    const path = session.dialect.pathOf!({ model: session.model, stream: false, prompt: '', body: {} })
    for (const [fault, body] of Object.entries({ ...session.dialect.malformed, 'no JSON': '{"contents":' }))
      await session.ask(steps.malformed.with({ fault }), path, {
        ...{ method: 'POST', headers: session.callHeaders, body },
      })
    for (const [how, events] of Object.entries(BREAKS))
      await session.chat(steps.broken.with({ how }), { stream: true, script: [{ events }] })
  },
  judge: ({ evidence }) => [
    ...steps.refused
      .in(evidence)
      .flatMap((exchange) => [
        finding(
          'refusal-keeps-its-status',
          exchange.status === exchange.details.status,
          `the answer to "${stepText(exchange)}"`,
          { expected: String(exchange.details.status), actual: endText(exchange) },
          refs(exchange, servedBy(evidence, exchange)),
        ),
        ...sameBytes('refusal-arrives-word-for-word', evidence, exchange),
        refusedInShape('error-is-in-shape', evidence, exchange),
      ]),
    ...steps.malformed
      .in(evidence)
      .map((exchange) => refusedInShape('error-is-in-shape', evidence, exchange)),
    ...steps.broken.in(evidence).map((exchange) => {
      const { finish, errors } = readAnswer(exchange)
      const shaped = errors.filter((error) => dialectOf(exchange).isError(JSON.stringify({ error })))
      return finding(
        'broken-stream-has-no-end',
        finish.length === 0 &&
          errors.length === shaped.length &&
          (exchange.end !== 'complete' || shaped.length > 0),
        `the end of "${stepText(exchange)}"`,
        {
          expected: 'a connection that breaks, or an error of Google’s; no finishReason',
          actual: `${endText(exchange)}, ${errors.length} errors, ${shaped.length} in shape, ${finish.length} finish reasons`,
        },
        refs(exchange, servedBy(evidence, exchange)),
      )
    }),
  ],
} satisfies Check
