// Errors of the record's files.
import { join } from 'node:path'

/** The data directory cannot be used; the message says why and what to do. */
export class StoreError extends Error {
  override readonly name = 'StoreError'
}

/** Returns the lock file of a running gateway. */
export const lockFile = (directory: string): string => join(directory, 'waybill.lock')

/** Throws if there is a reason not to start. */
export function refuseStart(directory: string, reason: string | null): void {
  if (reason !== null) throw new StoreError(`cannot use data directory ${directory}: ${reason}`)
}
