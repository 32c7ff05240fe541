// Which instance this is, and where it runs, so that two gateways with one identity can be told apart.
import { createHash } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname } from 'node:path'

/** Where the journal is, as a digest. The same after a restart; a copy of the directory is somewhere else. */
export const placeOf = (journal: string): string =>
  createHash('sha256')
    .update(`${hostname()} ${realpathSync(dirname(journal))}`)
    .digest('hex')
    .slice(0, 16)

export const digestOf = (config: object): string =>
  createHash('sha256').update(JSON.stringify(config)).digest('hex').slice(0, 16)
