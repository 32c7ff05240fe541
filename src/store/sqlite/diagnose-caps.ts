// Compares the record's size with the configured limits, even while a gateway is writing to the database.

import type { DatabaseSync } from 'node:sqlite'
import { type Finding, fillFindings } from '../../core/findings.ts'
import { type Caps, fillOf } from './fill.ts'

/** Returns the findings. The database must have the newest schema. `now`: milliseconds since the epoch. */
export function capFindings(db: DatabaseSync, caps: Caps, running: boolean, now: number): Finding[] {
  return fillFindings(fillOf(db, caps, now).fills, running)
}
