// DIAL-02: Unknown body fields, unknown headers of the dialect (`anthropic-*`, `openai-*`, `x-codex-*`), unknown
// values of `anthropic-beta` and an unknown query reach the provider; the client's credentials do not.
import { type Check, finding } from '../check.ts'
import { refs, servedBy } from '../lookup.ts'
import { at } from '../reading.ts'
import { inWords, step } from '../step.ts'
import { isCrossed } from '../surfaces.ts'

const call = step('call')

/** Headers of the dialects that no gateway can know. */
const HEADERS = {
  'anthropic-beta': 'waybill-probe-2026-01-01,waybill-other-2026-02-02',
  'anthropic-x-probe': 'one',
  'openai-x-probe': 'two',
  'x-codex-probe': 'three',
}
/** Those that each dialect calls its own. */
const OWN: Readonly<Record<string, readonly (keyof typeof HEADERS)[]>> = {
  messages: ['anthropic-beta', 'anthropic-x-probe'],
  responses: ['openai-x-probe', 'x-codex-probe'],
}

export const unknownPartsArrive = {
  id: 'DIAL-02',
  needs: ['messages'],
  surface: 'messages',
  relays: true,
  async exercise(session) {
    session.note('surface', session.surface.name)
    await session.chat(call, { headers: HEADERS, body: { x_waybill_probe: 'four' } })
  },
  judge: ({ evidence }) =>
    call.in(evidence).flatMap((exchange) => {
      const entry = servedBy(evidence, exchange)
      if (entry && isCrossed(exchange, entry)) return []
      const names = OWN[String(evidence.facts.surface)]!
      const missing = names.filter((name) => {
        const got = (entry?.headers[name] ?? '').split(/,\s*/)
        return !HEADERS[name].split(',').every((value) => got.includes(value))
      })
      const field = at(entry?.body, '/x_waybill_probe') === 'four'
      const see = refs(exchange, entry)
      return [
        finding(
          'unknown-parts-arrive',
          missing.length === 0 && field,
          `what the provider got of "${inWords(exchange)}"`,
          {
            expected: `${names.join(', ')} and the field x_waybill_probe`,
            actual:
              [...missing, ...(field ? [] : ['x_waybill_probe'])].map((name) => `no ${name}`).join(', ') ||
              'all of them',
          },
          see,
        ),
        finding(
          'credentials-stay',
          entry?.credential === 'match' && !entry.canaries.some((name) => name.startsWith('key.')),
          'whose key the provider was shown',
          {
            expected: "the gateway's own",
            actual: entry ? [entry.credential, ...entry.canaries].join(', ') : 'none',
          },
          see,
        ),
      ]
    }),
} satisfies Check
