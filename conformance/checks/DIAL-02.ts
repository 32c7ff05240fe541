// DIAL-02: Unknown body fields, unknown headers of the dialect (`anthropic-*`, `openai-*`, `x-codex-*`), the
// client's `anthropic-version`, unknown values of `anthropic-beta` and an unknown query reach the provider. The
// client's credentials do not reach the provider. The only exception is a caller's own credential, if the provider
// is configured to accept it (KEEP-07).

import { refs, servedBy } from '../dialects/lookup.ts'
import { isCrossed } from '../dialects/registry.ts'
import { at } from '../evidence/reading.ts'
import { step, stepText } from '../evidence/step.ts'
import { type Check, finding } from '../runner/check.ts'

const call = step('call')

/** Headers of the dialect with values that no gateway can know. */
const HEADERS = {
  'anthropic-beta': 'waybill-probe-2026-01-01,waybill-other-2026-02-02',
  'anthropic-x-probe': 'one',
  // Version other than the usual one.
  'anthropic-version': '2023-01-01',
  'openai-x-probe': 'two',
  'x-codex-probe': 'three',
}
/** Two query parameters that no gateway can know; one has characters that must be escaped. */
const QUERY = { 'waybill-probe': 'five', other: 'a b&c' }

/** Headers that belong to each dialect. */
const OWN: Readonly<Record<string, readonly (keyof typeof HEADERS)[]>> = {
  messages: ['anthropic-beta', 'anthropic-x-probe', 'anthropic-version'],
  responses: ['openai-x-probe', 'x-codex-probe'],
}

export const unknownPartsArrive = {
  id: 'DIAL-02',
  since: 4,
  needs: ['messages'],
  dialect: 'messages',
  relays: true,
  async exercise(session) {
    session.note('dialect', session.dialect.name)
    await session.chat(call, {
      ...{ headers: HEADERS, body: { x_waybill_probe: 'four' } },
      query: `?${new URLSearchParams(QUERY)}`,
    })
  },
  judge: ({ evidence }) =>
    call.in(evidence).flatMap((exchange) => {
      const entry = servedBy(evidence, exchange)
      if (entry && isCrossed(exchange, entry)) return []
      // Evidence of earlier runs contains the usual version.
      const sent = { ...HEADERS, 'anthropic-version': exchange.request.headers['anthropic-version'] ?? '' }
      const names = OWN[String(evidence.facts.dialect)]!
      const missing = names.filter((name) => {
        const got = (entry?.headers[name] ?? '').split(/\s*,\s*/)
        return !sent[name].split(',').every((value) => got.includes(value))
      })
      const field = at(entry?.body, '/x_waybill_probe') === 'four'
      const query = new URLSearchParams(entry?.query)
      const lost = Object.entries(QUERY).filter(([name, value]) => query.get(name) !== value)
      const see = refs(exchange, entry)
      return [
        finding(
          'unknown-parts-arrive',
          missing.length === 0 && field,
          `what the provider got of "${stepText(exchange)}"`,
          {
            expected: `${names.join(', ')} and the field x_waybill_probe`,
            actual:
              [...missing, ...(field ? [] : ['x_waybill_probe'])].map((name) => `no ${name}`).join(', ') ||
              'all of them',
          },
          see,
        ),
        finding(
          'unknown-query-arrives',
          lost.length === 0,
          `the query that the provider got of "${stepText(exchange)}"`,
          { expected: String(new URLSearchParams(QUERY)), actual: entry?.query || 'none' },
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
