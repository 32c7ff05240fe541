// What has no end never was.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Attempts that were open when it was killed are deleted at the next start.',
  caughtBy: ['LIFE-01'],
  asCommand: true,
  start: referenceWith({
    before(data) {
      const file = join(data, 'waybill.db')
      if (!existsSync(file)) return
      const database = new Database(file)
      database.exec('DELETE FROM call_attempts WHERE ended_at IS NULL')
      database.close()
    },
  }),
} satisfies Fault
