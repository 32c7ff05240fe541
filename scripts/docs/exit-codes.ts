// Writes tables of exit codes: for all commands, and for one.
import { EXIT_CODES } from '../../src/commands/exit-codes.ts'

export function exitCodesTable(): string {
  const codes = Math.max(...Object.values(EXIT_CODES).map(({ length }) => length))
  const columns = Array.from({ length: codes }, (_, code) => code)
  return [
    `| command | ${columns.join(' | ')} |`,
    `|---|${columns.map(() => '---|').join('')}`,
    ...Object.entries(EXIT_CODES).map(
      ([name, meanings]) => `| \`${name}\` | ${columns.map((code) => meanings[code] ?? '').join(' | ')} |`,
    ),
  ].join('\n')
}

export const exitCodesOfConform = (): string =>
  [
    '| exit code | meaning |',
    '|---|---|',
    ...EXIT_CODES.conform!.map((meaning, code) => `| ${code} | ${meaning} |`),
  ].join('\n')
