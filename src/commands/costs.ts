// `waybill costs`: what calls cost, and by whom, from the sums of a running gateway. `waybill whatif`: what they would have cost.

import { existsSync } from 'node:fs'
import { z } from 'zod'
import { loadConfig } from '../config/load.ts'
import { whatIfIn } from '../gateway/providers.ts'
import { repriceAll, type WhatIf } from '../routing/what-if.ts'
import type { UsageKey } from '../store/reads.ts'
import { openPastReads } from '../store/sqlite/call-logs.ts'
import { openUnchanged } from '../store/sqlite/diagnose.ts'
import { databaseFile } from '../store/sqlite/open.ts'
import { clean } from '../terminal/clean.ts'
import { costText, dollars, estimateText, formatCount, spentText } from '../terminal/numbers.ts'
import { table } from '../terminal/table.ts'
import { ANSWER_MS, gatewayAt, namedGateway } from './gateway-client.ts'
import { keyList } from './lists.ts'
import { complain, print, readTime, json as toJson, UsageError } from './output.ts'

interface CostsOptions {
  readonly of?: 'today' | 'month'
  /** Times in the format of `readTime`. */
  readonly since?: string
  readonly until?: string
  readonly by: 'day' | UsageKey
  readonly config: string
  readonly url?: string
  readonly keyFile?: string
  readonly json?: boolean
  readonly env: Readonly<Record<string, string | undefined>>
}

const amounts = {
  calls: z.number(),
  failed: z.number(),
  input_tokens: z.number().nullable(),
  output_tokens: z.number().nullable(),
  cost_usd: z.number().nullable(),
  cost_is_minimum: z.boolean(),
  cost_is_estimated: z.boolean().optional(), // absent in older gateways
  calls_without_cost: z.number(),
}
type Amounts = z.output<z.ZodObject<typeof amounts>>

const history = z.looseObject({
  window: z.looseObject({ since: z.string(), until: z.string() }),
  totals: z.looseObject(amounts),
  buckets: z.array(z.looseObject({ start: z.string(), by: z.string().nullish(), ...amounts })),
})

/** Prints the costs of a span of time and the budgets. Rejects if the gateway does not answer. */
export async function printCosts(options: CostsOptions): Promise<void> {
  const { by, config, url, keyFile, json, env } = options
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
  const { since, until } = spanOf(options, new Date())
  const get = gatewayAt(namedGateway(url, config, env), env, keyFile)
  const query = new URLSearchParams({
    since: since.toISOString(),
    ...(until && { until: until.toISOString() }),
    ...(by === 'day' ? { bucket: '1d', zone } : { bucket: 'all', by }),
  })
  const [costs, keys] = await Promise.all([
    get(`/api/usage/history?${query}`, history, AbortSignal.timeout(ANSWER_MS)),
    get('/api/keys', keyList, AbortSignal.timeout(ANSWER_MS)),
  ])
  const budgets = keys.data.flatMap(({ name, budgets }) => budgets.map((each) => ({ key: name, ...each })))
  if (json) return print(toJson({ zone, by, ...costs, budgets }, 2))
  const { totals, buckets } = costs
  const span = `${local(since)} to ${until ? local(until) : 'now'} (${zone})`
  print(`${costText(totals)} for ${totals.calls} ${totals.calls === 1 ? 'call' : 'calls'}, ${span}`)
  if (totals.calls_without_cost > 0)
    complain(`the cost of ${totals.calls_without_cost} of these calls is not fully known, or not yet`)
  const rows =
    by === 'day'
      ? buckets.map((each) => [local(new Date(each.start)).slice(0, 10), ...cellsOf(each)])
      : buckets
          .toSorted((a, b) => (b.cost_usd ?? 0) - (a.cost_usd ?? 0))
          .map((each) => [each.by ?? 'none', ...cellsOf(each)])
  if (rows.length > 0) show([by, 'calls', 'failed', 'tokens', 'cost'], rows)
  if (budgets.length === 0) return
  print('')
  show(
    ['budget of', 'spent', 'at this pace', 'limit', 'until'],
    budgets.map(({ key, usd, per, projected_usd, resets_at, ...spending }) => [
      key ?? '-',
      spentText(spending),
      projected_usd == null ? '-' : `${dollars(projected_usd)}${projected_usd > usd ? ' !' : ''}`,
      `${dollars(usd)} a ${per}`,
      resets_at == null ? '-' : local(new Date(resets_at)),
    ]),
  )
  print('At this pace: spent so far, and the average since the first call of the period until its end.')
}

/** Returns the span of time. `until` is absent if it ends now. Throws UsageError. */
function spanOf({ of, since, until }: CostsOptions, now: Date): { since: Date; until?: Date } {
  const [from, to] = [readTime('--since', since, +now), readTime('--until', until, +now)]
  if (of !== undefined && (from || to))
    throw new UsageError(`give either ${of}, or --since and --until, which name the time themselves`)
  if (to && !from) throw new UsageError('--until needs --since')
  if (from && +from >= +(to ?? now)) throw new UsageError('--since must be before --until')
  if (from) return { since: from, ...(to && { until: to }) }
  return { since: new Date(now.getFullYear(), now.getMonth(), of === 'month' ? 1 : now.getDate()) }
}

const cellsOf = ({ calls, failed, input_tokens, output_tokens, ...cost }: Amounts): string[] => {
  const figure = (value: number | null) => (value === null ? '-' : formatCount(value))
  return [String(calls), String(failed), `${figure(input_tokens)}→${figure(output_tokens)}`, costText(cost)]
}

const show = (head: readonly string[], rows: readonly string[][]): void => {
  const columns = process.stdout.columns ?? null
  const lines = [head, ...rows.map((row) => row.map(clean))]
  process.stdout.write(table(lines, { columns, right: head.slice(1), shrink: [head[0]!] }))
}

/** Formats a time in the zone of this machine: `2026-11-28 00:00`. */
const local = (time: Date): string => time.toLocaleString('sv').slice(0, 16)

interface WhatIfOptions {
  readonly route: string
  readonly config: string
  readonly data?: string
  readonly since: string
  readonly until?: string
  readonly direct?: boolean
  readonly json?: boolean
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Number of calls in one read. */
const CALLS_PER_READ = 5_000

/**
 * Prints what the calls on record would have cost on another route or with other prices. Reads the record beside a running
 * gateway. Rejects with ConfigError or UsageError.
 */
export async function printWhatIf(options: WhatIfOptions): Promise<void> {
  const { route, config: file, direct = false, env } = options
  const { config } = loadConfig(file, { env, replay: true })
  const repricing = whatIfIn(config)(route, direct)
  if (!repricing) throw new UsageError(`${file} has no route and no provider for ${JSON.stringify(route)}`)
  const directory = options.data ?? config.data
  const now = Date.now()
  const span = {
    since: readTime('--since', options.since, now)!.getTime(),
    until: readTime('--until', options.until, now)?.getTime() ?? now + 1,
  }
  if (!existsSync(databaseFile(directory)))
    throw new UsageError(`there is no record in ${directory}; name its directory with --data`)
  const db = openUnchanged(databaseFile(directory))
  try {
    const { past } = openPastReads(db)
    const read = (after: string) => past(span, after, CALLS_PER_READ)
    await repriceAll(repricing, read, CALLS_PER_READ, () => false)
  } finally {
    db.close()
  }
  const result = repricing.result()
  const { since, until } = span
  const window = { since: new Date(since).toISOString(), until: new Date(until).toISOString() }
  if (options.json) process.stdout.write(`${toJson({ window, route, ...result }, 2)}\n`)
  else showWhatIf(route, result)
}

function showWhatIf(
  route: string,
  { recorded, repriced, targets, left_out, outputs, assumed, statement }: ReturnType<WhatIf['result']>,
): void {
  const { cost_usd, cost_is_minimum, low_usd, high_usd, flat_usd } = repriced
  print(`on record: ${costText(recorded)}`)
  print(
    `${route}: ${estimateText(cost_usd, cost_is_minimum)}${outputs.length > 0 ? `, ${estimateText(low_usd)} to ${estimateText(high_usd)} if other models write less or more` : ''}`,
  )
  if (flat_usd > 0) print(`a subscription pays ${estimateText(flat_usd)} of it`)
  const rows = targets.map((each) => [
    clean(each.target),
    String(each.calls),
    formatCount(each.input_tokens),
    formatCount(each.cached_input_tokens),
    formatCount(each.output_tokens),
    estimateText(each.cost_usd),
  ])
  const head = ['target', 'calls', 'in', 'cached', 'out', 'cost']
  if (rows.length > 0)
    process.stdout.write(
      table([head, ...rows], {
        columns: process.stdout.columns ?? null,
        right: head.slice(1),
        shrink: ['target'],
      }),
    )
  print(statement)
  if (left_out.length > 0)
    print(`not repriced: ${left_out.map(({ calls, text }) => `${calls} that ${text}`).join(', ')}`)
  for (const { from, to, low, high, is_known } of outputs)
    print(
      `output of ${to} instead of ${from}: ${low.toFixed(2)} to ${high.toFixed(2)} times, ${is_known ? 'by their calls on record' : 'assumed'}`,
    )
  for (const each of assumed) print(each)
}
