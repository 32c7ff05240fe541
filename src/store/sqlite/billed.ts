// The record as a bill: the cost of each model on each day (UTC). Sums by attempt, because each attempt is
// billed. Reads a database that a gateway may be writing to, and changes nothing.
import type { DatabaseSync } from 'node:sqlite'
import type { RecordUsage } from '../../core/served.ts'
import { isOtherModel } from '../../shared/model-names.ts'

interface BilledLine {
  readonly day: string
  readonly model: string
  readonly usd: number | null
  readonly input: number | null
  readonly output: number | null
  readonly calls: number
  /** Calls with a count that no price explains. */
  readonly unexplained: number
}

interface Row {
  readonly day: string
  readonly model: string
  readonly usd: number | null
  readonly input: number | null
  readonly output: number | null
  readonly usage: string | null
  readonly fees: string | null
  readonly answered: string | null
  readonly calls: number
  readonly unexplained: number
}

/**
 * Sums plain costs; a call with parts or fees has its own row. Bills contain no replayed calls and no calls
 * that a subscription covers.
 */
const ROWS = `
  WITH billed AS (
    SELECT strftime('%Y-%m-%d', a.started_at / 1000, 'unixepoch') AS day, a.model, a.cost_usd AS usd,
      CASE WHEN a.outcome = 'answered' THEN c.response_model END AS answered,
      coalesce(instr(c.usage, '"unknown_usage"') > 0, 0) AS unexplained,
      a.tokens_input AS input, a.tokens_output AS output,
      CASE WHEN a.outcome = 'answered' AND json_extract(c.usage, '$.parts') IS NOT NULL THEN c.usage END AS parts,
      CASE WHEN a.outcome = 'answered' AND json_extract(c.usage, '$.tools') IS NOT NULL THEN c.usage END AS tools,
      CASE WHEN json_extract(c.usage, '$.tools') IS NOT NULL THEN json_extract(p.snapshot, '$.fees') END AS fees
    FROM call_attempts a JOIN call_logs c ON c.id = a.call_id LEFT JOIN prices p ON p.id = c.price_id
    WHERE a.provider = ? AND a.started_at >= ? AND a.started_at < ? AND NOT c.replayed AND c.flat_usd IS NULL
      AND (a.cost_usd > 0 OR a.tokens_output > 0)
  )
  SELECT day, model, sum(usd) AS usd, sum(input) AS input, sum(output) AS output, NULL AS usage, NULL AS fees, answered,
    count(*) AS calls, sum(unexplained) AS unexplained
    FROM billed WHERE parts IS NULL AND fees IS NULL GROUP BY day, model, answered
  UNION ALL
  SELECT day, model, usd, input, output, coalesce(parts, tools), fees, answered, 1, unexplained
    FROM billed WHERE parts IS NOT NULL OR fees IS NOT NULL`

/** Returns the bill lines of one provider between two moments, ms since the epoch. */
export function billedLines(db: DatabaseSync, provider: string, since: number, until: number): BilledLine[] {
  const rows = db.prepare(ROWS).all(provider, since, until) as unknown as Row[]
  return rows.flatMap(({ usage, fees, answered, ...row }): BilledLine[] => {
    const line = isOtherModel(row.model, answered) ? { ...row, model: answered } : row
    if (usage === null) return [line]
    const { parts, tools = {} } = JSON.parse(usage) as RecordUsage
    const each = JSON.parse(fees ?? '{}') as Record<string, number>
    const uses = Object.entries(each).map(([tool, fee]) => ({
      ...line,
      model: `(${tool})`,
      usd: fee * (tools[tool] ?? 0),
      input: null,
      output: null,
      calls: 0,
      unexplained: 0,
    }))
    const ofTools = uses.reduce((sum, { usd }) => sum + usd, 0)
    if (!parts) return [{ ...line, usd: line.usd === null ? null : line.usd - ofTools }, ...uses]
    const ofParts = parts.map(({ model, cost_usd: usd, input, output }, index) => ({
      ...line,
      model: model ?? row.model,
      usd,
      input: usd === 0 ? 0 : input,
      output,
      calls: index === 0 ? 1 : 0,
    }))
    return [...ofParts, ...uses]
  })
}
