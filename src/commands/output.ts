// Output of commands. A closed reader is not a failure, and foreign text cannot control the terminal.
import { getSystemErrorMessage } from 'node:util'
import { clean, safeJson } from '../terminal/clean.ts'
import { fileReason } from '../terminal/file-error.ts'

/** Ignores a closed reader (`waybill … | head`): later output is dropped, and the command continues. */
export function forgiveLeavingReaders(): void {
  let told = false
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE' || told) return
      told = true
      process.exitCode = 1
      complain(reasonOf(error))
    })
}

/** Prints a line on stdout. */
export const print = (line: string): void => {
  process.stdout.write(`${clean(line)}\n`)
}

/** Prints one line on stderr. */
export const complain = (message: string): void => {
  process.stderr.write(`waybill: ${clean(message.replaceAll(/\s*[\r\n]+\s*/g, '; '))}\n`)
}

/** Formats a value as JSON that parses to the same value and contains no control characters. */
export const json = (value: unknown, indent?: number): string => safeJson(JSON.stringify(value, null, indent))

/** Returns the reason for a failure as text. */
export function reasonOf(error: Error): string {
  const { code, errno, syscall, path } = error as NodeJS.ErrnoException
  if (path !== undefined) return `${path}: ${fileReason(error)}`
  return syscall === 'write' && errno !== undefined && code !== 'EPIPE'
    ? `the output cannot be written: ${getSystemErrorMessage(errno)}`
    : error.message
}

/** Error for wrong arguments of a command, exit code 2. The message says what is wrong and how to fix it. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

const UNITS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
}

/** Parses `1h` before `now`, a local date or time, or a moment with its zone. Throws UsageError. */
export function readTime(option: string, text: string | undefined, now: number): Date | undefined {
  if (text === undefined) return undefined
  const [, amount, unit] = /^(\d+(?:\.\d+)?)([smhdw])$/.exec(text) ?? []
  const isDate = /^\d{4}-\d\d-\d\d$/.test(text)
  const isMoment = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?$/.test(text)
  // Without the time of day, a bare date would be read as midnight UTC.
  const time = amount
    ? new Date(now - Number(amount) * UNITS[unit!]!)
    : new Date(isDate ? `${text}T00:00` : isMoment ? text.replace(' ', 'T') : Number.NaN)
  if (Number.isFinite(time.getTime())) return time
  throw new UsageError(
    `${option} takes a time ago such as 90s, 15m, 1h, 7d or 2w, a date, or a moment such as 2026-11-21T07:00:00Z, not ${JSON.stringify(text)}`,
  )
}
