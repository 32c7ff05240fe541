// TELL-06: A hostile model or session name cannot break a header, a log line or a terminal.

import { ref, refs, requestIdOf } from '../dialects/lookup.ts'
import { at, jsonOf } from '../evidence/reading.ts'
import { recordExchange, step } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'

const steps = {
  model: step('model'),
  line: step('line'),
}

/** Names that could end a header or a log line, or disturb a terminal. */
const HOSTILE = [
  'a\r\nx-evil: 1',
  '\u001b[31mred\u001b]8;;http://evil\u0007',
  'bidi \u202e gnirts',
  '../../etc/passwd',
  '%0d%0ax-evil: 1',
  '日本\u0000語',
]

const ESC = '\u001b'

const COLOUR = new RegExp(`${ESC}\\[[\\d;]*m`, 'g')

export const hostileNames = {
  id: 'TELL-06',
  hostile: true,
  async exercise(session) {
    for (const name of HOSTILE) {
      const exchange = await session.chat(steps.model, {
        model: `openai/${name}`,
        body: { prompt_cache_key: name },
      })
      await session.record(exchange)
      await session.ask(steps.line, `/api/statusline?model=${encodeURIComponent(`openai/${name}`)}`)
    }
  },
  judge: ({ evidence, target }) => [
    ...steps.model.in(evidence).flatMap((exchange) => {
      const asked = (jsonOf(exchange.request.body!) as { model: string }).model
      const reading = recordExchange(evidence, exchange)
      const printable = Object.values(exchange.headers).every((value) => /^[\x20-\x7e]*$/.test(value))
      const onRecord =
        requestIdOf(target, exchange) === null ||
        at(jsonOf(reading?.body ?? ''), '/requested_model') === asked
      const ok = exchange.headers['x-evil'] === undefined && printable && exchange.status !== null && onRecord
      return [
        finding(
          'hostile-name-is-harmless',
          ok,
          `a call of the model ${JSON.stringify(asked)}`,
          {
            expected: 'an answer, printable headers, no header of its own, and byte for byte on record',
            actual: `${endText(exchange)}, ${printable ? '' : 'not '}printable${exchange.headers['x-evil'] === undefined ? '' : ', a header of its own'}, ${onRecord ? 'byte for byte' : 'changed'} on record`,
          },
          refs(exchange, reading),
        ),
      ]
    }),
    ...steps.line.in(evidence).map((exchange) => {
      // The line may have its own colours, but a name must not add any.
      const { body } = exchange
      const rest = body.replaceAll(COLOUR, '').replaceAll('\n', '')
      const hostile = /\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u.test(rest) || body.includes(`${ESC}[31mred`)
      return finding(
        'hostile-name-in-the-status-line',
        !hostile,
        `control characters of a name in the status line for ${exchange.request.path.slice(-40)}`,
        { expected: 'none', actual: hostile ? JSON.stringify(rest) : 'none' },
        [ref(exchange)],
      )
    }),
  ],
} satisfies Check
