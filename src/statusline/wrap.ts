// Runs the user's previous status line and appends ours. Loaded only with `--wrap`.
import { spawn } from 'node:child_process'
import measure from 'fast-string-truncated-width'

const LIMIT_MS = 2_000

/**
 * Returns the output of a shell command that receives the client's input; '' if it prints nothing within two
 * seconds.
 */
export function outputOf(command: string, input: string): Promise<string> {
  return new Promise((resolve) => {
    const child = spawn(command, { shell: true, stdio: ['pipe', 'pipe', 'inherit'], timeout: LIMIT_MS })
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (part) => (output += part))
    child.stdin.on('error', () => {}).end(input) // some programs do not read stdin
    child.on('error', () => resolve(''))
    child.on('close', () => resolve(output.replace(/\n+$/, '')))
  })
}

/** Appends our line to the command's last row if both fit, otherwise as a separate row. */
export function append(theirs: string, ours: string, columns: number | null): string {
  if (theirs === '') return ours
  const row = `${theirs.slice(theirs.lastIndexOf('\n') + 1)} · ${ours}`
  const fits = columns === null || measure(row).width <= columns
  return `${theirs}${fits ? ' · ' : '\n'}${ours}`
}
