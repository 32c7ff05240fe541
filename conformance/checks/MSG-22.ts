// MSG-22: `GET /v1/models` with `anthropic-version` returns a list in Anthropic's format.

import { ref } from '../dialects/lookup.ts'
import { type AnyJson, at, jsonOf } from '../evidence/reading.ts'
import { step } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'

const list = step('list')

/** String members that the official client needs to read entries and pages. */
const MEMBERS = ['id', 'type', 'display_name', 'created_at']

export const modelsInItsShape = {
  id: 'MSG-22',
  needs: ['messages', 'catalog'],
  dialect: 'messages',
  async exercise(session) {
    const { catalog } = session.target.capabilities
    const { client } = session.running.keys
    // Sends the key in the official client's header, or in the target's own header.
    const headers = { ...session.dialect.headers, ...(client !== null && { 'x-api-key': client }) }
    await session.ask(list, catalog!, { headers })
  },
  judge: ({ evidence }) =>
    list.in(evidence).map((exchange) => {
      const json = jsonOf(exchange.body)
      const data = at(json, '/data')
      const entries: AnyJson[] = Array.isArray(data) ? data : []
      const bad = entries.find((each) => MEMBERS.some((name) => typeof each?.[name] !== 'string'))
      const pages = typeof at(json, '/has_more') === 'boolean'
      return finding(
        'list-of-messages',
        exchange.status === 200 && entries.length > 0 && bad === undefined && pages,
        'the list of models for a client of messages',
        {
          expected: `has_more, and entries with ${MEMBERS.join(', ')}`,
          actual: `${endText(exchange)}, ${entries.length} entries, ${pages ? '' : 'no '}has_more${bad === undefined ? '' : `, one like ${JSON.stringify(bad).slice(0, 120)}`}`,
        },
        [ref(exchange)],
      )
    }),
} satisfies Check
