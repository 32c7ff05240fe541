// Identity and location of this instance. The location distinguishes two gateways with the same identity.
import { createHash } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname } from 'node:path'

/** Returns a digest of the journal's location. The digest survives a restart and differs for a copy. */
export const locationDigest = (journal: string): string =>
  createHash('sha256')
    .update(`${hostname()} ${realpathSync(dirname(journal))}`)
    .digest('hex')
    .slice(0, 16)

export const digestOf = (config: object): string =>
  createHash('sha256').update(JSON.stringify(config)).digest('hex').slice(0, 16)
