// CC-03: `/v1/models?limit=1000` is answered within 3 s and without a redirect, for a key in `Authorization` and
// for a key in `x-api-key`.
import { ref } from '../dialects/lookup.ts'
import { step } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'

const list = step<{ credential: string }>('discovery')

/** Time after which the client continues without the list, ms. */
const DISCOVERY_MS = 3_000

export const discoveryIsQuick = {
  id: 'CC-03',
  needs: ['catalog'],
  dialect: 'messages',
  async exercise(session) {
    const { client } = session.running.keys
    // A gateway without keys may refuse an invented key.
    const credentials: Readonly<Record<string, Record<string, string>>> =
      client === null
        ? { 'no key': {} }
        : {
            'Authorization: Bearer': { authorization: `Bearer ${client}` },
            'x-api-key': { 'x-api-key': client },
          }
    for (const [credential, headers] of Object.entries(credentials))
      await session.open(list.with({ credential }), `${session.target.capabilities.catalog}?limit=1000`, {
        key: null,
        headers: { ...session.dialect.headers, ...headers },
      }).done
  },
  judge: ({ evidence }) =>
    evidence.exchanges.map((exchange) => {
      const took = exchange.end_at - exchange.at
      return finding(
        'list-comes-in-time',
        exchange.status === 200 && took <= DISCOVERY_MS,
        `the model list for a client with ${exchange.details.credential}`,
        {
          expected: `200 within ${DISCOVERY_MS} ms, and no redirect`,
          actual: `${endText(exchange)}${took > DISCOVERY_MS ? ` after ${Math.round(took)} ms` : ''}`,
        },
        [ref(exchange)],
      )
    }),
} satisfies Check
