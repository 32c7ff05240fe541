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
