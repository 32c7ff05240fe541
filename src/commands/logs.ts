// `waybill logs`: the newest calls in the terminal, and with --follow those that come, each once, as it ends; beside them
// those that were refused. Reads a running gateway and nothing else.
import { setTimeout as sleep } from 'node:timers/promises'
import { styleText } from 'node:util'
import { z } from 'zod'
import { PURPOSES, timeOfId } from '../call.ts'
import type { FieldFilter } from '../record.ts'
import { columnsOf } from '../terminal/environment.ts'
import { GatewayTrouble, gatewayAt, namedGateway } from './gateway-client.ts'
import { createTable, refusedCall, type ShownCall, shownCall, shownRefusal } from './logs-table.ts'
import { complain, json as toJson } from './output.ts'
import { readTime } from './read-time.ts'
import { UsageError } from './usage-error.ts'

export interface LogsOptions {
  readonly url?: string
  /** Where the address stands that the gateway listens on; a file that is not there says nothing. */
  readonly config: string
  readonly keyFile?: string
  readonly follow?: boolean
  readonly json?: boolean
  /** How many calls to begin with. */
  readonly limit: string
  /** Times as `readTime` takes them. */
  readonly since?: string | undefined
  readonly until?: string | undefined
  /** Further filters of the request log, as they are called there; those that were not given are undefined. */
  readonly filters: { readonly [Name in keyof FieldFilter]?: string | undefined }
  readonly env: Readonly<Record<string, string | undefined>>
}

const POLL_MS = 1_000
/**
 * A call is on record when its body has come, under the time at which it began to come. So each look goes back a
 * little, and one in `FAR_EVERY` as far as a body may take (Node's limit for a request is five minutes).
 */
const NEAR_MS = 10_000
const FAR_MS = 310_000
const FAR_EVERY = 15
const PAGE = '200'

const refusedOf = z.looseObject({ data: z.array(refusedCall) })
const pageOf = z.looseObject({ data: z.array(shownCall), next_cursor: z.string().nullable() })
type Page = z.infer<typeof pageOf>

/** Resolves when everything is shown, when the reader has gone, or on Ctrl-C. Rejects when the gateway does not answer. */
export async function logs({
  url,
  config,
  keyFile,
  follow = false,
  json = false,
  limit,
  since,
  until,
  filters,
  env,
}: LogsOptions): Promise<void> {
  const { stdout } = process
  const stop = new AbortController()
  stdout.on('error', () => stop.abort()) // whoever read has what he wanted
  process.once('SIGINT', () => stop.abort())

  const base = namedGateway(url, config, env)
  const narrowed = filtersOf({ follow, limit, since, until, filters })
  const get = gatewayAt(base, env, keyFile)
  const list = (query: Record<string, string>) =>
    get(`/api/usage/request-logs?${new URLSearchParams({ ...narrowed, ...query })}`, pageOf, stop.signal)

  // Of a refused call is known when it came, and nothing that the other filters ask for. JSON lines are records.
  const isNarrow = Object.keys(narrowed).some((name) => name !== 'since' && name !== 'until')
  const refused = async (): Promise<ShownCall[]> => {
    if (json || isNarrow) return []
    const path = `/api/usage/refused-calls?limit=${PAGE}`
    const { data } = await get(path, refusedOf, stop.signal).catch((error) => {
      if (error instanceof GatewayTrouble && error.status === 404) return { data: [] } // an older gateway
      throw error
    })
    const [from, to] = [narrowed.since ?? '', narrowed.until ?? 'until the end']
    return data.filter(({ created_at: at }) => at >= from && at < to).map(shownRefusal)
  }

  const width = stdout.isTTY ? (columnsOf(env) ?? stdout.columns) : null
  const table = createTable(width, (format, text) => styleText(format, text, { stream: stdout }))
  const print = (calls: readonly ShownCall[]) => {
    for (const call of calls) stdout.write(`${json ? toJson(call) : table.row(call)}\n`)
  }
  try {
    const newest = (await list({ limit })).data.reverse()
    const refusals = await refused()
    const begin = [...newest, ...refusals].sort(byTime).slice(-Number(limit))
    if (!json) stdout.write(`${table.header()}\n`)
    if (!follow) return print(begin)
    print(begin.filter(isOver))
    await followCalls({ list, refused, newest, refusals, print, signal: stop.signal })
  } catch (error) {
    if (!stop.signal.aborted) throw error
  }
}

/** The filters of the request log. Throws UsageError. */
function filtersOf({
  follow,
  limit,
  since,
  until,
  filters,
}: Pick<LogsOptions, 'follow' | 'limit' | 'since' | 'until' | 'filters'>): Record<string, string> {
  if (!/^\d+$/.test(limit) || Number(limit) < 1 || Number(limit) > 200)
    throw new UsageError(`--limit takes a number from 1 to 200, not ${JSON.stringify(limit)}`)
  if (follow && until !== undefined)
    throw new UsageError('--follow shows new calls, so it cannot be combined with --until')
  const { status } = filters
  if (status !== undefined && !/^(ok|error|[1-5]\d\d)$/.test(status))
    throw new UsageError(`--status takes ok, error or an HTTP status, not ${JSON.stringify(status)}`)
  const { purpose } = filters
  if (purpose !== undefined && !(PURPOSES as readonly string[]).includes(purpose))
    throw new UsageError(`--purpose takes ${PURPOSES.join(', ')}, not ${JSON.stringify(purpose)}`)
  const now = Date.now()
  const [from, to] = [readTime('--since', since, now), readTime('--until', until, now)]
  if (from !== undefined && to !== undefined && from >= to)
    throw new UsageError('--since must be before --until')
  const given = Object.entries({ ...filters, since: from?.toISOString(), until: to?.toISOString() })
  return Object.fromEntries(given.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))
}

interface Following {
  readonly list: (query: Record<string, string>) => Promise<Page>
  readonly refused: () => Promise<ShownCall[]>
  /** What was there at the beginning; those that are over were printed. */
  readonly newest: readonly ShownCall[]
  readonly refusals: readonly ShownCall[]
  readonly print: (calls: readonly ShownCall[]) => void
  readonly signal: AbortSignal
}

/** Prints each call once, when it is over. Rejects when the gateway does not answer, or on abort. */
async function followCalls({ list, refused, newest, refusals, print, signal }: Following): Promise<never> {
  const printed = new Set<string>(newest.filter(isOver).map(({ id }) => id))
  /** Id and beginning of calls that were seen open: they may end long after they have left the window. */
  const open = new Map<string, number>(
    newest.filter((call) => !isOver(call)).map(({ id }) => [id, timeOfId(id)]),
  )
  const first = newest[0] ? timeOfId(newest[0].id) : Date.now() - NEAR_MS
  let known = new Set(refusals.map(({ id }) => id))
  let looked = Date.now()
  for (let look = 1; ; look++) {
    const far = look % FAR_EVERY === 0
    const since = Math.min(Math.max(first, looked - (far ? FAR_MS : NEAR_MS)), ...open.values())
    const calls = await listWhenReadable(list, new Date(since).toISOString(), signal)
    looked = Date.now()
    for (const { id } of calls.filter((call) => !isOver(call))) open.set(id, timeOfId(id))
    const over = calls.filter((call) => isOver(call) && !printed.has(call.id))
    const now = await refused()
    print([...over, ...now.filter(({ id }) => !known.has(id))].sort(byEnd))
    known = new Set(now.map(({ id }) => id))
    for (const { id } of over) {
      printed.add(id)
      open.delete(id)
    }
    if (far) for (const id of printed) if (timeOfId(id) < since) printed.delete(id)
    await sleep(POLL_MS, undefined, { signal })
  }
}

/** All calls since then; asks again for as long as the record cannot be read, and says so once. */
async function listWhenReadable(
  list: Following['list'],
  since: string,
  signal: AbortSignal,
): Promise<ShownCall[]> {
  for (let tries = 1; ; tries++) {
    try {
      return await listAll(list, since)
    } catch (error) {
      if (!(error instanceof GatewayTrouble && error.kind === 'unreadable')) throw error
      if (tries === 1) complain(`${error.message} Asking again.`)
    }
    await sleep(POLL_MS, undefined, { signal })
  }
}

/** All calls since then, of every page. */
async function listAll(list: Following['list'], since: string): Promise<ShownCall[]> {
  const calls: ShownCall[] = []
  let cursor: string | null = null
  do {
    const page: Page = await list({ limit: PAGE, since, ...(cursor && { cursor }) })
    calls.push(...page.data)
    cursor = page.next_cursor
  } while (cursor)
  return calls
}

const byTime = (a: ShownCall, b: ShownCall): number => (a.created_at < b.created_at ? -1 : 1)
const byEnd = (a: ShownCall, b: ShownCall): number => (a.completed_at! < b.completed_at! ? -1 : 1)

const isOver = ({ completed_at }: ShownCall): boolean => completed_at !== null
