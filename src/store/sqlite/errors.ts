// Errors of the record's files.
import { join } from 'node:path'

/** Thrown when the data directory cannot be used. The message says why, and how to fix it. */
export class StoreError extends Error {
  override readonly name = 'StoreError'
}

/** Returns the lock file of a running gateway. */
export const lockFile = (directory: string): string => join(directory, 'waybill.lock')

/** Throws if a gateway must not start. */
export function refuseStart(directory: string, reason: string | null): void {
  if (reason !== null) throw new StoreError(`cannot use data directory ${directory}: ${reason}`)
}
