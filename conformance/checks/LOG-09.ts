// LOG-09: Pages have no gap and no repeat while calls are added; limits are bounded; a bad parameter is 400.
import { type Check, finding } from '../check.ts'
import { labelled, ref } from '../lookup.ts'
import { at, jsonOf } from '../reading.ts'
import { LOG, readAll, rowsIn } from '../request-log.ts'

export const pagesWithoutGaps = {
  id: 'LOG-09',
  timeout: 60_000,
  async exercise(session) {
    const id = `pages-${session.nonce()}`
    const headers = { 'x-gateway-session-id': id }
    for (let n = 0; n < 25; n++) await session.chat('call', { headers })
    let cursor: unknown = null
    for (let page = 0; page < 10; page++) {
      const path = `${LOG}?session_id=${id}&limit=7${cursor ? `&cursor=${cursor}` : ''}`
      const exchange = await readAll(session, 'page', path)
      cursor = at(jsonOf(exchange.body), '/next_cursor')
      if (!cursor) break
      await session.chat('meanwhile', { headers })
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
      await readAll(session, 'bad', `${LOG}?${bad}`)
  },
  judge({ evidence }) {
    const pages = labelled(evidence, 'page')
    const seen = pages.flatMap(rowsIn).map(({ id }) => id as string)
    const calls = labelled(evidence, 'call').map(({ headers }) => headers['x-gateway-request-id']!)
    const missing = calls.filter((id) => !seen.includes(id))
    const sorted = seen.every((id, index) => index === 0 || id < seen[index - 1]!)
    return [
      finding(
        'no-gap-no-repeat',
        missing.length === 0 && new Set(seen).size === seen.length && sorted,
        `${pages.length} pages, ${seen.length} rows, ${seen.length - new Set(seen).size} repeated, ${missing.length} missing, newest first`,
        pages.map(ref),
      ),
      ...labelled(evidence, 'bad').map((exchange) =>
        finding(
          'bad-parameter-is-400',
          exchange.status === 400,
          `${exchange.request.path.split('?')[1]}: ${exchange.status}`,
          [ref(exchange)],
        ),
      ),
    ]
  },
} satisfies Check
