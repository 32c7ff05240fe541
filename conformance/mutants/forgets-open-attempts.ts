// What has no end never was.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Attempts that were open when it was killed are deleted at the next start.',
  kills: ['LIFE-01'],
  asCommand: true,
  start: bent({
    before(data) {
      const file = join(data, 'waybill.db')
      if (!existsSync(file)) return
      const database = new Database(file)
      database.exec('DELETE FROM call_attempts WHERE ended_at IS NULL')
      database.close()
    },
  }),
} satisfies Mutant
