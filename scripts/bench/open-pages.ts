// Thread of `npm run bench -- reads`: makes the requests of open pages with the view "now": the live events,
// each list once, and the routes every ten seconds.
import { setInterval } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { Pool } from 'undici'

const { origin, pages } = workerData as { origin: string; pages: number }
const ROUTES_MS = 10_000
const ROUTES = '/api/routes?window=24h'
const pool = new Pool(origin)

async function get(path: string): Promise<void> {
  const { statusCode, body } = await pool.request({ path, method: 'GET' })
  await body.dump({ limit: 100_000_000 })
  if (statusCode !== 200) throw new Error(`${path}: ${statusCode}`)
}

async function openPage(): Promise<void> {
  const live = await pool.request({ path: '/api/usage/live', method: 'GET' })
  if (live.statusCode !== 200) throw new Error(`live events: ${live.statusCode}`)
  live.body.resume()
  const since = new Date(Date.now() - 3_600_000).toISOString()
  await Promise.all(
    [
      `/api/usage/history?since=${since}&bucket=1m`,
      ROUTES,
      '/api/usage/request-logs?limit=50&state=routed',
      '/api/usage/request-logs?limit=50&state=streaming',
      '/api/usage/request-logs?limit=50',
      '/readyz',
    ].map(get),
  )
}

await Promise.all(Array.from({ length: pages }, openPage))
parentPort!.postMessage('open')
for await (const _ of setInterval(ROUTES_MS))
  await Promise.all(Array.from({ length: pages }, () => get(ROUTES)))
