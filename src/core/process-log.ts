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

/** Log for a program that embeds the gateway and wants no log. */
export const SILENT: Log = { error: nothing, warn: nothing, info: nothing, debug: nothing }
