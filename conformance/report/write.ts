// Writes what a run comes to, for every reader: programs, CI servers, people, badges.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Kept } from '../rejudge.ts'
import { badge } from './badge.ts'
import { html } from './html.ts'
import { junit } from './junit.ts'
import { markdown } from './markdown.ts'

const FILES: Readonly<Record<string, (kept: Kept) => string>> = {
  'results.json': ({ results }) => `${JSON.stringify(results, null, 2)}\n`,
  'junit.xml': ({ results }) => junit(results),
  'index.html': html,
  'summary.md': ({ results }) => markdown(results),
  'badge.json': ({ results }) => `${JSON.stringify(badge(results))}\n`,
}

/** Writes `results.json`, `junit.xml`, `index.html`, `summary.md` and `badge.json` into a directory. */
export function writeReports(directory: string, kept: Kept): void {
  mkdirSync(directory, { recursive: true })
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(directory, name), text(kept))
}

/** Makes the directory and takes the verdict of an earlier run out of it, so that nobody reads it as that of the next. */
export function clearReports(directory: string): void {
  mkdirSync(directory, { recursive: true })
  for (const name of [...Object.keys(FILES), 'run.json']) rmSync(join(directory, name), { force: true })
}
