// Writes tables of endpoints from the gateway's own lists. Endpoints that differ only in their path share a
// row.
import { CALLS, OTHERS, READS } from '../../src/gateway/endpoints.ts'

const ALL = [
  ...CALLS.flatMap((each) => (each.methods ?? ['POST']).map((method) => ({ ...each, method }))),
  ...READS.map((each) => ({ ...each, method: 'GET' })),
  ...OTHERS,
]

/** Origins of the endpoints in the interface specification; all other endpoints have `B`. */
const ORIGINS: Readonly<Record<string, string>> = {
  '/v1/chat/completions': 'S',
  '/v1/models': 'S',
  '/v1/models/*': 'S, D',
  '/v1beta/models': 'S, B',
  '/api/usage/history': 'S, D',
  '/api/usage/logs': 'S, D',
  '/api/usage/request-logs': 'S, D',
  '/api/usage/request-logs/*': 'S, D',
  '/api/usage/request-logs/*/artifact': 'S, D',
  '/api/sessions': 'S, D',
  '/api/sessions/*': 'S, D',
  '/api/analytics/auto-routing': 'S, D',
  '/api/cloud/model/resolve': 'S, D',
}
for (const path of Object.keys(ORIGINS))
  if (!ALL.some((each) => each.path === path)) throw new Error(`there is no endpoint ${path}`)

const rows = [
  ...Map.groupBy(ALL, ({ method, summary, path }) => `${method} ${summary} ${ORIGINS[path]}`).values(),
].map((alike) => {
  const [{ method, summary, path }] = alike as [(typeof ALL)[number]]
  const paths = alike.map((each) => `\`${each.path.replace('*', '{id}')}\``).join(', ')
  return [method, paths, summary.replaceAll('|', '\\|'), ORIGINS[path] ?? 'B']
})

const table = (heading: readonly string[]): string =>
  [heading, heading.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.slice(0, heading.length).join(' | ')} |`)
    .join('\n')

export const endpointsTable = (): string => table(['method', 'path', 'what'])
export const endpointsTableWithOrigin = (): string => table(['method', 'path', 'what', 'origin'])
