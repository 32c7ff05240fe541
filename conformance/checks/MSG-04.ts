// MSG-04: The parts of a tool call's input, joined, are its JSON; a call without arguments gives `{}`.
import { isDeepStrictEqual } from 'node:util'
import { type Check, finding } from '../check.ts'
import { modelsOf, refs, servedBy } from '../lookup.ts'
import { jsonOf } from '../reading.ts'
import { inWords, step } from '../step.ts'
import { readAnswer } from '../surfaces.ts'

const call = step<{ model: string; stream: boolean }>('call')

const CALLS = [
  { id: 'call_1', name: 'nothing', arguments: {} },
  { id: 'call_2', name: 'much', arguments: { deep: [{ text: 'naïve "café" \\ 🙂', none: null }] } },
]

export const inputIsJson = {
  id: 'MSG-04',
  needs: ['messages'],
  surface: 'messages',
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
    call.in(evidence).map((exchange) => {
      const { tools } = readAnswer(exchange)
      const got = tools.map((tool) => [tool.name, jsonOf(tool.arguments)])
      return finding(
        'input-is-whole',
        isDeepStrictEqual(
          got,
          CALLS.map((each) => [each.name, each.arguments]),
        ),
        `the calls of "${inWords(exchange)}"`,
        { expected: 'the two that the model made, the first without arguments', actual: JSON.stringify(got) },
        refs(exchange, servedBy(evidence, exchange)),
      )
    }),
} satisfies Check
