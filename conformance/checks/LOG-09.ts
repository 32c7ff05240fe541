// LOG-09: Pages neither skip nor repeat records while calls are added. Limits are bounded. A bad parameter gets
// 400.

import { ref } from '../dialects/lookup.ts'
import { at, jsonOf } from '../evidence/reading.ts'
import { step } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'
import { acceptedCalls, onRecord } from './log.ts'
import { LOG, readAll, rowsIn } from './request-log.ts'

const steps = {
  call: step('call'),
  meanwhile: step('meanwhile'),
  page: step('page'),
  bad: step('bad'),
}

export const pagesWithoutGaps = {
  id: 'LOG-09',
  timeout: 60_000,
  async exercise(session) {
    const id = `pages-${session.nonce()}`
    const headers = { 'x-gateway-session-id': id }
    for (let n = 0; n < 25; n++) await onRecord(session, steps.call, { headers })
    let cursor: unknown = null
    for (let page = 0; page < 10; page++) {
      const path = `${LOG}?session_id=${id}&limit=7${cursor ? `&cursor=${cursor}` : ''}`
      const exchange = await readAll(session, steps.page, path)
      cursor = at(jsonOf(exchange.body), '/next_cursor')
      if (!cursor) break
      await onRecord(session, steps.meanwhile, { headers })
    }
    for (const bad of [
      'limit=0',
      'limit=201',
      'limit=x',
      'cursor=nonsense',
      'no_such_filter=1',
      'since=yesterday',
      'state=sleeping',
      'status=99',
    ])
      await readAll(session, steps.bad, `${LOG}?${bad}`)
  },
  judge({ evidence }) {
    const pages = steps.page.in(evidence)
    const seen = pages.flatMap(rowsIn).map(({ id }) => id as string)
    const calls = acceptedCalls(steps.call.in(evidence)).map(
      ({ headers }) => headers['x-gateway-request-id']!,
    )
    const missing = calls.filter((id) => !seen.includes(id))
    const sorted = seen.every((id, index) => index === 0 || id < seen[index - 1]!)
    return [
      finding(
        'no-gap-no-repeat',
        calls.length === 25 && missing.length === 0 && new Set(seen).size === seen.length && sorted,
        `${seen.length} rows of ${pages.length} pages`,
        {
          expected: 'each call once, newest first',
          actual: `${seen.length - new Set(seen).size} repeated, ${missing.length} missing, ${sorted ? '' : 'not '}newest first`,
        },
        pages.map(ref),
      ),
      ...steps.bad
        .in(evidence)
        .map((exchange) =>
          finding(
            'bad-parameter-is-400',
            exchange.status === 400,
            `the answer to ${exchange.request.path.split('?')[1]}`,
            { expected: '400', actual: endText(exchange) },
            [ref(exchange)],
          ),
        ),
    ]
  },
} satisfies Check
