// How checks of this interface read: its request log, and any path with the key that may see everything.
import type { Exchange } from './evidence.ts'
import { at, type Json, jsonOf } from './reading.ts'
import type { Session } from './session.ts'
import type { Step } from './step.ts'

export const LOG = '/api/usage/request-logs'

/** Reads a path as the operator. */
export const readAll = (session: Session, step: Step, path: string): Promise<Exchange> =>
  session.ask(step, path, { key: session.running.keys.reader })

/** The items of a list; none where the answer is no list. */
export const rowsIn = (exchange: Exchange | undefined): Json[] =>
  (at(jsonOf(exchange?.body ?? ''), '/data') ?? []) as Json[]
