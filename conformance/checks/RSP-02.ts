// RSP-02: Every item of a translated stream has `output_item.done` and is in the response of the last event.
import { isDeepStrictEqual } from 'node:util'
import { refs, servedBy } from '../dialects/lookup.ts'
import { stepText } from '../evidence/step.ts'
import { type Check, finding } from '../runner/check.ts'
import { eventsOfResponse, responseStreams } from './RSP-01.ts'

export const itemsAreDone = {
  id: 'RSP-02',
  needs: ['responses'],
  dialect: 'responses',
  shares: 'RSP-01',
  judge: ({ evidence }) =>
    responseStreams.in(evidence).map((exchange) => {
      const events = eventsOfResponse(exchange.body)
      const of = (type: string) => events.filter((event) => event.type === `response.output_item.${type}`)
      const ids = of('done').map(({ item }) => item?.id)
      const last = events.at(-1)?.response?.output
      const whole = Array.isArray(last) ? last.map(({ id }) => id) : []
      return finding(
        'items-are-done',
        ids.length > 0 &&
          of('added').length === ids.length &&
          isDeepStrictEqual(ids.toSorted(), whole.toSorted()),
        `the items of "${stepText(exchange)}"`,
        {
          expected: 'each done, and in the response of the last event',
          actual: `${of('added').length} begun, ${ids.length} done, ${whole.length} in the last event`,
        },
        refs(exchange, servedBy(evidence, exchange)),
      )
    }),
} satisfies Check
