// Reads Waybill's own interface with the administrator's key: its request log, and any path.
import type { Exchange } from '../evidence/evidence.ts'
import { type AnyJson, at, jsonOf } from '../evidence/reading.ts'
import type { Step } from '../evidence/step.ts'
import type { CheckContext } from '../runner/context.ts'

export const LOG = '/api/usage/request-logs'

/** Reads a path as the operator. */
export const readAll = (session: CheckContext, step: Step, path: string): Promise<Exchange> =>
  session.ask(step, path, { key: session.running.keys.reader })

/** Returns the items of a list; an empty list if the answer has none. */
export const rowsIn = (exchange: Exchange | undefined): AnyJson[] =>
  (at(jsonOf(exchange?.body ?? ''), '/data') ?? []) as AnyJson[]
