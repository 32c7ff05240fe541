// The interface of the process log. Imports no logger; `serve` passes in pino, which fits as it is.

/** Logs one entry: its fields, then a sentence. */
type Say = (fields: object, message: string) => void

export interface Log {
  readonly error: Say
  readonly warn: Say
  readonly info: Say
  readonly debug: Say
}

const nothing = () => {}

/** For a program that embeds the gateway without a log. */
export const SILENT: Log = { error: nothing, warn: nothing, info: nothing, debug: nothing }
