// The interface of the process log. Imports no logger; `serve` passes in pino, which has this interface.
import { type Fault, guarded } from '../shared/boundary.ts'

/** Logs one entry: its fields, then a sentence. */
type Say = (fields: object, message: string) => void

export interface Log {
  readonly error: Say
  readonly warn: Say
  readonly info: Say
  readonly debug: Say
  /**
   * The same as `info`, with the fields as the members of an object in JSON, safe for a terminal. Absent if the log does
   * not write JSON.
   */
  readonly infoText?: ((members: string, message: string) => void) | undefined
}

/** Drops an entry. Nobody needs to make entries for it. */
export const UNSAID: Say = () => {}

/** Returns a log whose functions never throw, because the log of a program may fail. Lost entries go to `fault`. */
export function unfailing(log: Log, fault: Fault): Log {
  const calm = (name: 'error' | 'warn' | 'info' | 'debug'): Say =>
    log[name] === UNSAID ? UNSAID : guarded((...entry: Parameters<Say>) => log[name](...entry), fault)
  const { infoText } = log
  return {
    ...{ error: calm('error'), warn: calm('warn'), info: calm('info'), debug: calm('debug') },
    infoText: infoText && guarded((...entry: Parameters<typeof infoText>) => infoText(...entry), fault),
  }
}

/** Log for a program that embeds the gateway and wants no log. */
export const SILENT: Log = { error: UNSAID, warn: UNSAID, info: UNSAID, debug: UNSAID }
