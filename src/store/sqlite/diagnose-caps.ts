// How full the record is, compared with the limits of the configuration. Reads a database that a gateway may be writing to.

import type { DatabaseSync } from 'node:sqlite'
import { type Finding, fillFindings } from '../../findings.ts'
import { type Caps, fillOf } from './fill.ts'

/** The database must have the newest schema. `now`: milliseconds since the epoch. */
export function capFindings(db: DatabaseSync, caps: Caps, running: boolean, now: number): Finding[] {
  return fillFindings(fillOf(db, caps, now).fills, running)
}
