// The interface of the process log. Imports no logger; `serve` passes in pino, which has this interface.

/** Logs one entry: its fields, then a sentence. */
type Say = (fields: object, message: string) => void

export interface Log {
  readonly error: Say
  readonly warn: Say
  readonly info: Say
  readonly debug: Say
}

const nothing = () => {}

/** Returns a log whose functions never throw, because the log of a program may fail. */
export function unfailing(log: Log): Log {
  const calm = (name: keyof Log): Say => {
    return (fields, message) => {
      try {
        log[name](fields, message)
      } catch {
        // Nothing is left that could report it.
      }
    }
  }
  return { error: calm('error'), warn: calm('warn'), info: calm('info'), debug: calm('debug') }
}

/** Log for a program that embeds the gateway and wants no log. */
export const SILENT: Log = { error: nothing, warn: nothing, info: nothing, debug: nothing }
