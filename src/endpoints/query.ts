// Query parameters that several endpoints share, and the rows that a caller may see.

import { z } from 'zod'
import { GatewayError } from '../core/errors.ts'
import { CALL_FIELDS, type Field, type FieldFilter, type Kind } from '../core/record.ts'
import type { Caller } from '../http/caller.ts'
import type { CallFilter, Page, Reads, Span } from '../store/reads.ts'
import type { ReadContext } from './context.ts'

/** Schema for an endpoint without parameters. */
export const noQuery = z.strictObject({})

/** Selects the calls of all gateways that share a log, or only those of this one. */
export const scope = { scope: z.enum(['fleet', 'instance']).default('fleet') }
export const scopeOnly = z.strictObject(scope)

export const readsOf = (
  { scope }: { readonly scope: 'fleet' | 'instance' },
  { calls, instanceCalls }: Pick<ReadContext, 'calls' | 'instanceCalls'>,
): Reads => (scope === 'instance' ? instanceCalls : calls)

const text = z.string().min(1).optional()
const time = z.iso
  .datetime({ offset: true, error: 'expected a time such as 2026-11-21T07:00:00Z' })
  .transform((iso) => Date.parse(iso))
  .optional()

const status = z
  .union(
    [
      z.enum(['ok', 'error']),
      z
        .string()
        .regex(/^[1-5]\d\d$/)
        .transform(Number),
    ],
    'expected ok, error or an HTTP status',
  )
  .optional()

/** Parameters of keyset pages: the number of rows, and the row after which to start. */
export const pageQuery = {
  limit: z
    .string()
    .regex(/^\d{1,3}$/, 'expected a number')
    .transform(Number)
    .pipe(z.number().min(1).max(200))
    .default(50),
  cursor: z.uuid('not a cursor of this list').optional(),
}

/** Filters whose kinds are not plain text. */
const OF_KIND: { readonly [Each in Kind]?: z.ZodType } = { status, count: z.enum(['some']).optional() }

/** Accepted values of each filter of `src/core/record.ts`. */
const filters = Object.fromEntries<z.ZodType>(
  Object.values<Field>(CALL_FIELDS).flatMap(({ kind, filter, values }) =>
    filter ? [[filter, kind === 'enum' ? z.enum(values!).optional() : (OF_KIND[kind] ?? text)]] : [],
  ),
) as { [Name in keyof FieldFilter]-?: z.ZodType<FieldFilter[Name]> }

/** Parameters of a page of calls, with filters. See the contract's section "Lists". */
export const callList = z.strictObject({ ...pageQuery, ...filters, ...scope, since: time, until: time })

/** Returns the arguments for a list of calls, based on its query and its caller. */
export function listArguments(
  { limit, cursor, scope: _, ...filter }: z.output<typeof callList>,
  caller: Caller,
): [CallFilter, Page] {
  const own = ownKey(caller)
  if (own !== undefined && filter.key_name !== undefined && filter.key_name !== own)
    throw new GatewayError('forbidden', 'Only an admin key may ask for the calls of another key.')
  return [
    { ...filter, key_name: own ?? filter.key_name },
    { limit, cursor },
  ]
}

/** Returns the gateway key whose rows this caller may see; undefined for all rows. */
export const ownKey = ({ role, name }: Caller): string | undefined =>
  role === 'client' ? (name ?? undefined) : undefined

const HOUR = 3_600_000
const WINDOWS = { '24h': 24 * HOUR, '7d': 7 * 24 * HOUR, '30d': 30 * 24 * HOUR }

/** Parameters of a span of time: a `window` that ends now, or `since` and `until`. */
export const spanQuery = {
  window: z.enum(Object.keys(WINDOWS) as (keyof typeof WINDOWS)[]).optional(),
  since: time,
  until: time,
}

/** Returns the requested span. The default is the last 24 hours, including the current millisecond. */
export function spanOf(
  {
    window,
    since,
    until,
  }: { [Name in keyof typeof spanQuery]?: z.output<(typeof spanQuery)[Name]> | undefined },
  now: number,
): Span {
  if (window !== undefined && (since !== undefined || until !== undefined))
    throw invalid('window', 'give either a window, or since and until')
  const end = until ?? now + 1
  const begin = since ?? end - WINDOWS[window ?? '24h']
  if (begin >= end) throw invalid('since', 'must be before until')
  return { since: begin, until: end }
}

export const invalid = (param: string, message: string): GatewayError =>
  new GatewayError('invalid_request', `${JSON.stringify(param)}: ${message}`, { param })

/** Returns a span in the form used in answers. */
export const spanAnswer = ({ since, until }: Span) => ({
  since: new Date(since).toISOString(),
  until: new Date(until).toISOString(),
})
