// SRV-08: An answer to a request with a strict JSON schema fits the schema, or the request is refused with a 4xx.
import { ref } from '../dialects/lookup.ts'
import { readAnswer } from '../dialects/registry.ts'
import { jsonOf } from '../evidence/reading.ts'
import { step } from '../evidence/step.ts'
import { type Check, finding } from '../runner/check.ts'
import {
  ANSWER_TIMEOUT_MS,
  answered,
  cutByLimit,
  FORM,
  FORM_TOKENS,
  fitsForm,
  isNotOffered,
  notOffered,
  small,
} from './server.ts'

const call = step('call')

const NAMED = { name: 'city', strict: true, schema: FORM }

export const structuredOutputFits = {
  id: 'SRV-08',
  async exercise(session) {
    const form =
      session.dialect.name === 'responses'
        ? { text: { format: { type: 'json_schema', ...NAMED } } }
        : { response_format: { type: 'json_schema', json_schema: NAMED } }
    await session.chat(call, {
      prompt: 'Pick a city, as JSON.',
      body: { ...small(session, false, FORM_TOKENS), ...form },
      timeout: ANSWER_TIMEOUT_MS,
    })
  },
  judge: ({ evidence }) =>
    call.in(evidence).flatMap((exchange) => {
      if (isNotOffered(exchange)) return [notOffered(exchange, 'a JSON schema for its answer')]
      const first = answered(exchange, 'a call with a JSON schema for its answer')
      const cut = cutByLimit(exchange, 'answer-fits', 'the JSON')
      if (first.ok && cut) return [first, cut]
      const { content } = readAnswer(exchange)
      return [
        first,
        finding(
          'answer-fits',
          fitsForm(jsonOf(content)),
          'the text of the answer',
          { expected: 'JSON that fits the schema', actual: content.slice(0, 200) || 'nothing' },
          [ref(exchange)],
        ),
      ]
    }),
} satisfies Check
