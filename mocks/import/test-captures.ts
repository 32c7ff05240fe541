// Location of the optional captures: real traffic that other projects recorded. It is read in place, never
// copied. A plain `npm test` uses every tenth file of each folder; WAYBILL_TESTS=full uses all.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { IS_FULL } from '../../src/test/test-size.ts'
import type { Interaction } from './interaction.ts'
import { exchangesOf } from './read.ts'

/** Folder of the captures. It may be missing. */
export const CAPTURES =
  process.env.WAYBILL_CASSETTES ?? fileURLToPath(new URL('../../../shared/cassettes', import.meta.url))

/** `skip` option of a test that needs the captures. */
export const withoutCaptures = existsSync(CAPTURES)
  ? false
  : `no optional captures in ${CAPTURES}; WAYBILL_CASSETTES names another place`

const EVERY = IS_FULL ? 1 : 10

/**
 * Minimum number expected in this run if there are `all` in total. It is a little less than the share of
 * files, because files differ in size.
 */
export const atLeast = (all: number): number => (EVERY === 1 ? all : Math.floor(all / EVERY / 2))

/** Files that this run uses, relative to the folder, sorted by name. */
export function captureFiles(): string[] {
  const seen = new Map<string, number>()
  return readdirSync(CAPTURES, { recursive: true, encoding: 'utf8' })
    .sort()
    .filter((file) => {
      if (!/\.(ya?ml|har)$/.test(file)) return false
      const folder = file.split(/[\\/]/)[0]!
      const n = seen.get(folder) ?? 0
      seen.set(folder, n + 1)
      return n % EVERY === 0
    })
}

export interface Capture {
  /** File, and position within the file. */
  readonly name: string
  readonly interaction: Interaction
}

/** POST requests to a path, from the captures. */
export const capturedCalls = (path: RegExp): Capture[] =>
  captureFiles().flatMap((file) =>
    exchangesOf(file, readFileSync(join(CAPTURES, file), 'utf8'))
      .map((interaction, index) => ({ name: `${file}#${index + 1}`, interaction }))
      .filter(
        ({ interaction }) => interaction.method.toUpperCase() === 'POST' && path.test(interaction.path),
      ),
  )
