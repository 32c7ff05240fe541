// Runs the status line that the user had before and puts ours after it. Loaded only where `--wrap` is given.
import { spawn } from 'node:child_process'
import measure from 'fast-string-truncated-width'

const LIMIT_MS = 2_000

/** What a shell command prints when it is given the client's input; '' when it prints nothing in two seconds. */
export function outputOf(command: string, input: string): Promise<string> {
  return new Promise((resolve) => {
    const child = spawn(command, { shell: true, stdio: ['pipe', 'pipe', 'inherit'], timeout: LIMIT_MS })
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (part) => (output += part))
    child.stdin.on('error', () => {}).end(input) // not every program reads it
    child.on('error', () => resolve(''))
    child.on('close', () => resolve(output.replace(/\n+$/, '')))
  })
}

/** Ours behind the last of their rows where both fit, else in a row of its own. */
export function append(theirs: string, ours: string, columns: number | null): string {
  if (theirs === '') return ours
  const row = `${theirs.slice(theirs.lastIndexOf('\n') + 1)} · ${ours}`
  const fits = columns === null || measure(row).width <= columns
  return `${theirs}${fits ? ' · ' : '\n'}${ours}`
}
