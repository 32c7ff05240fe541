// The gateway's own log: lines for a person in a terminal, JSON lines everywhere else, both on stdout. Knows pino.
import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino'

export const LOG_LEVELS = ['silent', 'error', 'warn', 'info', 'debug'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** Lines that nobody takes are dropped beyond this, so that a stuck reader does not fill the memory, bytes. */
const MOST_WAITING = 16 * 2 ** 20

export interface LogLook {
  /** Lines for a person; JSON otherwise. */
  readonly pretty: boolean
  readonly colour: boolean
  /** Stdout by default. */
  readonly stream?: DestinationStream
}

export interface OpenLog {
  readonly log: Logger
  /** Writes what still waits; to be called before the process ends. */
  flush(): void
}

export async function openLog(level: LogLevel, { pretty, colour, stream }: LogLook): Promise<OpenLog> {
  const options = {
    level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  }
  if (pretty) {
    const { prettyFactory } = await import('pino-pretty')
    const forPerson = prettyFactory({ colorize: colour, singleLine: true, translateTime: 'SYS:HH:MM:ss' })
    const terminal = stream ?? process.stdout
    const lines = { write: (line: string) => void terminal.write(forPerson(line)) }
    return { log: pino(options, lines), flush: () => {} }
  }
  if (stream) return { log: pino(options, stream), flush: () => {} }
  const lines = pino.destination({ dest: 1, sync: false, maxLength: MOST_WAITING })
  return { log: pino(options, lines), flush: () => lines.flushSync() }
}
