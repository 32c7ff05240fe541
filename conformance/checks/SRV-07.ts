// SRV-07: A forced tool is called once, with an id, its name and arguments that fit its schema, or the request is
// refused with a 4xx.
import type { DialectName } from '../dialects/dialect.ts'
import { ref } from '../dialects/lookup.ts'
import { readAnswer } from '../dialects/registry.ts'
import { jsonOf } from '../evidence/reading.ts'
import { step } from '../evidence/step.ts'
import { type Check, type Finding, finding } from '../runner/check.ts'
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

const call = step<{ stream: boolean }>('call')

const NAME = 'pick_a_city'
const about = { name: NAME, description: 'Picks a city.' }

/** Members of a body that force a call of the tool. */
const FORCED: Readonly<Partial<Record<DialectName, object>>> = {
  chat: {
    tools: [{ type: 'function', function: { ...about, parameters: FORM } }],
    tool_choice: { type: 'function', function: { name: NAME } },
  },
  messages: { tools: [{ ...about, input_schema: FORM }], tool_choice: { type: 'tool', name: NAME } },
  responses: {
    tools: [{ type: 'function', ...about, parameters: FORM, strict: true }],
    tool_choice: { type: 'function', name: NAME },
  },
}

export const forcedToolsAreCalled = {
  id: 'SRV-07',
  async exercise(session) {
    for (const stream of [false, true])
      await session.chat(call.with({ stream }), {
        stream,
        body: { ...small(session, stream, FORM_TOKENS), ...FORCED[session.dialect.name] },
        timeout: ANSWER_TIMEOUT_MS,
      })
  },
  judge({ evidence }) {
    const calls = call.in(evidence)
    const refused = calls.find(isNotOffered)
    if (refused && calls.every(isNotOffered)) return [notOffered(refused, 'a forced tool')]
    return calls.flatMap((exchange): Finding[] => {
      const { tools } = readAnswer(exchange)
      const kind = exchange.details.stream ? 'streamed' : 'whole'
      const first = answered(exchange, `a ${kind} call with a forced tool`)
      const cut = cutByLimit(exchange, 'is-called', 'the arguments')
      if (first.ok && cut) return [first, cut]
      const [tool] = tools
      return [
        first,
        finding(
          'is-called',
          tools.length === 1 && tool!.name === NAME && tool!.id !== '',
          `tool calls in a ${kind} answer`,
          {
            expected: `one call of ${NAME} with an id`,
            actual:
              tools.map(({ name, id }) => `${name || 'no name'} (${id || 'no id'})`).join(', ') || 'none',
          },
          [ref(exchange)],
        ),
        finding(
          'arguments-fit',
          tool !== undefined && fitsForm(jsonOf(tool.arguments)),
          `arguments of the call in a ${kind} answer`,
          { expected: 'JSON that fits the schema', actual: tool?.arguments ?? 'no call' },
          [ref(exchange)],
        ),
      ]
    })
  },
} satisfies Check
