// `waybill sessions` and `waybill key list`: lists from a running gateway, as a table or as JSON.
import { z } from 'zod'
import { clean } from '../terminal/clean.ts'
import { costText, dollars, formatCount, spentText } from '../terminal/numbers.ts'
import { table } from '../terminal/table.ts'
import { ANSWER_MS, gatewayAt, namedGateway } from './gateway-client.ts'
import { complain, json as toJson, UsageError } from './output.ts'

interface ListOptions {
  readonly config: string
  readonly url?: string
  readonly keyFile?: string
  readonly json?: boolean
  readonly env: Readonly<Record<string, string | undefined>>
}

const sessionList = z.looseObject({
  data: z.array(
    z.looseObject({
      session_id: z.string(),
      first_seen: z.string(),
      last_seen: z.string(),
      last_requested_model: z.string(),
      last_provider: z.string(),
      last_model: z.string(),
      last_client: z.string().nullish(), // absent in older gateways
      calls: z.number(),
      failed: z.number(),
      tokens: z.looseObject({ input: z.number().nullable(), output: z.number().nullable() }),
      cost_usd: z.number().nullable(),
      cost_is_minimum: z.boolean().optional(), // absent in older gateways
      cost_is_estimated: z.boolean().optional(),
    }),
  ),
})

/** Prints the sessions. Rejects if the gateway does not answer. */
export async function printSessions({
  limit,
  order,
  ...options
}: ListOptions & { limit: string; order: string }): Promise<void> {
  if (!/^\d+$/.test(limit) || Number(limit) < 1 || Number(limit) > 200)
    throw new UsageError(`--limit takes a number from 1 to 200, not ${JSON.stringify(limit)}`)
  const query = new URLSearchParams({ limit, order })
  const { data } = await listOf(`/api/sessions?${query}`, sessionList, options)
  const figure = (value: number | null) => (value === null ? '-' : formatCount(value))
  const shown = order === 'newest' ? data.toSorted((a, b) => (a.last_seen < b.last_seen ? 1 : -1)) : data
  const rows = shown.map((each) => [
    each.session_id,
    each.last_client ?? '-',
    each.first_seen,
    each.last_seen,
    `${each.last_requested_model || '-'} → ${[each.last_provider, each.last_model].filter(Boolean).join('/')}`,
    String(each.calls),
    String(each.failed),
    `${figure(each.tokens.input)}→${figure(each.tokens.output)}`,
    costText(each),
  ])
  show(
    shown,
    ['session', 'client', 'began', 'last call', 'last asked → went', 'calls', 'failed', 'tokens', 'cost'],
    rows,
    {
      options,
      right: ['calls', 'failed', 'tokens', 'cost'],
      shrink: ['last asked → went', 'session'],
      drop: ['began', 'last call', 'tokens', 'failed', 'client', 'calls'],
      least: { 'last asked → went': 24, session: 41 }, // an id that can be copied
      none: 'there are no sessions on record yet',
    },
  )
}

const spending = {
  spent_usd: z.number().nullable(),
  spent_is_minimum: z.boolean().nullish(),
  estimated_usd: z.number().nullish(),
}
const budget = z.looseObject({
  usd: z.number(),
  per: z.string(),
  projected_usd: z.number().nullish(), // absent in older gateways
  resets_at: z.string().nullish(),
  ...spending,
})
/** The keys with their budgets, as `/api/keys` answers. */
export const keyList = z.looseObject({
  data: z.array(
    z.looseObject({
      name: z.string().nullable(),
      role: z.string(),
      rate: z.looseObject({ requests: z.number(), per_ms: z.number() }).nullable(),
      budgets: z.array(budget),
      ...spending,
    }),
  ),
})

/** Prints the keys. Rejects if the gateway does not answer. */
export async function printKeys(options: ListOptions): Promise<void> {
  const { data } = await listOf('/api/keys', keyList, options)
  const rows = data.map(({ name, role, rate, budgets, ...rest }) => [
    name ?? '-',
    role,
    rate === null ? '-' : `${rate.requests} in ${rate.per_ms / 1_000} s`,
    budgets.map((budget) => budgetText(budget)).join(', ') || '-',
    spentText(rest),
  ])
  show(data, ['key', 'role', 'rate', 'budgets', 'spent this month'], rows, {
    options,
    right: ['spent this month'],
    shrink: ['key'],
    none: 'the gateway has no keys, so it serves this machine only; make one with `waybill key new`',
  })
}

/** Describes the spent part of a budget, if it is known. */
const budgetText = ({ usd, per, ...use }: z.output<typeof budget>): string =>
  `${use.spent_usd === null ? '' : `${spentText(use)} of `}${dollars(usd)} a ${per}`

const listOf = <Answer>(path: string, shape: z.ZodType<Answer>, options: ListOptions): Promise<Answer> => {
  const { url, config, keyFile, env } = options
  const get = gatewayAt(namedGateway(url, config, env), env, keyFile)
  return get(path, shape, AbortSignal.timeout(ANSWER_MS))
}

interface Look extends Pick<Parameters<typeof table>[1], 'right' | 'shrink' | 'drop' | 'least'> {
  readonly options: ListOptions
  /** Text printed instead of an empty list. */
  readonly none: string
}

function show(data: unknown, head: readonly string[], rows: string[][], look: Look): void {
  const { options, none, ...widths } = look
  if (rows.length === 0) complain(none)
  if (options.json) process.stdout.write(`${toJson(data, 2)}\n`)
  else if (rows.length > 0)
    process.stdout.write(
      table([head, ...rows.map((row) => row.map(clean))], {
        columns: process.stdout.columns ?? null,
        ...widths,
      }),
    )
}
