// `waybill whatif`: the estimated cost that the calls on record would have had on another route or with other
// prices. Reads the record beside a running gateway, and changes nothing.
import { existsSync } from 'node:fs'
import { loadConfig } from '../config/load.ts'
import { whatIfIn } from '../gateway/providers.ts'
import { repriceAll, type WhatIf } from '../routing/what-if.ts'
import { openUnchanged } from '../store/sqlite/diagnose.ts'
import { databaseFile } from '../store/sqlite/open.ts'
import { openPastReads } from '../store/sqlite/past.ts'
import { clean } from '../terminal/clean.ts'
import { costText, estimateText, formatCount } from '../terminal/numbers.ts'
import { table } from '../terminal/table.ts'
import { print, json as toJson } from './output.ts'
import { readTime } from './read-time.ts'
import { UsageError } from './usage-error.ts'

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

/** Prints the estimate. Rejects with ConfigError or UsageError. */
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
  else show(route, result)
}

function show(
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
