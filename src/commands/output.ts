// What commands print. A closed reader is not a failure of the command; text from elsewhere cannot control the reader's
// terminal.
import { getSystemErrorMessage } from 'node:util'
import { clean, escaped } from '../terminal/clean.ts'

/** Takes the reader's leaving (`waybill … | head`) quietly: what is written then goes nowhere, the command goes on. */
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

/** A line on stdout. */
export const print = (line: string): void => {
  process.stdout.write(`${clean(line)}\n`)
}

/** One line on stderr. */
export const complain = (message: string): void => {
  process.stderr.write(`waybill: ${clean(message.replaceAll(/\s*[\r\n]+\s*/g, '; '))}\n`)
}

/** JSON of what a gateway or a file says: the same when it is read again, and without a character that steers. */
export const json = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).split('\n').map(escaped).join('\n')

/** What failed, in words. */
export function reasonOf(error: Error): string {
  const { code, errno, syscall } = error as NodeJS.ErrnoException
  return syscall === 'write' && errno !== undefined && code !== 'EPIPE'
    ? `the output cannot be written: ${getSystemErrorMessage(errno)}`
    : error.message
}
