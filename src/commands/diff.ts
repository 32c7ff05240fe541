// `waybill diff`: the first step at which two sessions differ, and what each cost from there. Reads only.
import { firstDifference, type SessionStep } from '../core/steps.ts'
import { clean } from '../terminal/clean.ts'
import { costText } from '../terminal/numbers.ts'
import { table } from '../terminal/table.ts'
import { complain, json as toJson } from './output.ts'
import {
  detailsOf,
  FORK,
  type GatewayAccess,
  type Recorded,
  readSteps,
  type SessionSteps,
  type ShownStep,
  stepJson,
  stepRows,
} from './steps.ts'

interface DiffOptions extends GatewayAccess {
  readonly a: string
  readonly b: string
  readonly json?: boolean
}

const BY = {
  input: 'what is sent differs',
  output: 'the same is sent, and the answers differ',
  record: 'their records differ (model, tokens or state)',
  end: 'only one of the sessions has this step',
}

/** Prints the first difference of two sessions. Rejects if the gateway does not answer, or has no such session. */
export async function printDiff({ a: nameA, b: nameB, json, ...access }: DiffOptions): Promise<void> {
  const read = [await readSteps(nameA, access), await readSteps(nameB, access)] as const
  const [a, b] = [since(read[0], read[1]), since(read[1], read[0])]
  const difference = firstDifference<Recorded>(a, b)
  const sides = [a, b].map((steps, side) => {
    const first = difference?.[side === 0 ? 'a' : 'b'] ?? null
    const from =
      Math.max(first?.n ?? 0, difference?.[side === 0 ? 'b' : 'a']?.n ?? 0) || Number.POSITIVE_INFINITY
    return {
      session_id: read[side]!.session.session_id,
      first: steps.find(({ n }) => n === first?.n) ?? null,
      later: costOf(steps.filter(({ n }) => n >= (first?.n ?? from))),
      all: costOf(read[side]!.steps),
    }
  })
  const missing = read[0].missing ?? read[1].missing
  if (json) {
    const shown = sides.map(({ first, ...rest }) => ({ ...rest, first: first && stepJson(first) }))
    process.stdout.write(`${toJson({ differs_by: difference?.by ?? null, missing, sessions: shown }, 2)}\n`)
    return
  }
  const head = difference === null ? 'no step differs' : `the first difference: ${BY[difference.by]}`
  process.stdout.write(`${head}\n`)
  for (const { session_id, first } of difference ? sides : []) {
    process.stdout.write(`\n${clean(session_id)}${first ? '' : ' has no such step'}\n`)
    if (first) process.stdout.write(`${stepRows([first]).join('\n')}\n${detailsOf(first, false)}`)
  }
  const rows = sides.map(({ session_id, later, all }) => [
    session_id,
    ...(difference ? [`${later.calls}`, costText(later)] : []),
    `${all.calls}`,
    costText(all),
  ])
  const names = [
    'session',
    ...(difference ? ['calls from there', 'cost from there'] : []),
    'calls in all',
    'cost in all',
  ]
  const columns = process.stdout.columns ?? null
  process.stdout.write(
    `\n${table([names, ...rows], { columns, right: names.slice(1), shrink: ['session'] })}`,
  )
  if (missing !== null) complain(`${missing}. The rest is compared by the record`)
}

/** Returns the steps of a session that can be compared: of the origin of a branch, those from there on. */
function since({ steps }: SessionSteps, other: SessionSteps): readonly ShownStep[] {
  const parent = other.steps[0]?.call.parent_id
  const at = steps.findIndex(({ call }) => call.id === parent)
  // A fork repeats the call, and a branch goes on after it.
  return at < 0 ? steps : steps.slice(other.session.session_id.startsWith(FORK) ? at : at + 1)
}

/** Returns the cost of some steps, without those that were answered from a recording. */
function costOf(steps: readonly SessionStep<Recorded>[]) {
  const calls = steps.map(({ call }) => call)
  const spent = calls.filter(({ replayed }) => !replayed)
  return {
    calls: calls.length,
    cost_usd: spent.reduce((sum, { cost_usd }) => sum + (cost_usd ?? 0), 0),
    cost_is_minimum: spent.some(
      ({ cost_usd, cost_missing }) => cost_usd === null || (cost_missing ?? []).length > 0,
    ),
    cost_is_estimated: spent.some(({ tokens }) => tokens.source === 'estimated'),
  }
}
