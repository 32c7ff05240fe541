// MSG-04: The joined parts of a tool call's input are its JSON. A call without arguments gives `{}`.
import { isDeepStrictEqual } from 'node:util'
import { modelsOf, refs, servedBy } from '../dialects/lookup.ts'
import { readAnswer } from '../dialects/registry.ts'
import { jsonOf } from '../evidence/reading.ts'
import { step, stepText } from '../evidence/step.ts'
import { type Check, finding } from '../runner/check.ts'
import { blocksIn } from './messages.ts'

const call = step<{ model: string; stream: boolean }>('call')

const CALLS = [
  { id: 'call_1', name: 'nothing', arguments: {} },
  { id: 'call_2', name: 'much', arguments: { deep: [{ text: 'naïve "café" \\ 🙂', none: null }] } },
]

export const inputIsJson = {
  id: 'MSG-04',
  needs: ['messages'],
  dialect: 'messages',
  timeout: 60_000,
  async exercise(session) {
    for (const model of modelsOf(session))
      for (const stream of [false, true])
        await session.chat(call.with({ model, stream }), {
          model,
          stream,
          script: [{ say: { calls: CALLS } }],
        })
  },
  judge: ({ evidence }) =>
    call.in(evidence).flatMap((exchange) => {
      const { tools } = readAnswer(exchange)
      const got = tools.map((tool) => [tool.name, jsonOf(tool.arguments)])
      const see = refs(exchange, servedBy(evidence, exchange))
      // Input must be complete or empty: clients keep the member unchanged until a delta arrives.
      const inputs = blocksIn(exchange.body)
        .filter(({ type }) => type === 'tool_use')
        .map(({ input }) => input)
      return [
        finding(
          'input-is-an-object',
          inputs.length > 0 && inputs.every((input) => typeof input === 'object' && input !== null),
          `the member input of the calls of "${stepText(exchange)}"`,
          { expected: 'an object each, if only {}', actual: JSON.stringify(inputs) },
          see,
        ),
        finding(
          'input-is-whole',
          isDeepStrictEqual(
            got,
            CALLS.map((each) => [each.name, each.arguments]),
          ),
          `the calls of "${stepText(exchange)}"`,
          {
            expected: 'the two that the model made, the first without arguments',
            actual: JSON.stringify(got),
          },
          see,
        ),
      ]
    }),
} satisfies Check
