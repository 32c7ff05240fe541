// Writes the results of a run for all readers: programs, CI servers, people, badges.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Comparison } from './compare.ts'
import { html } from './html.ts'
import type { Conclusion, Results } from './judge.ts'
import { junit } from './junit.ts'
import { comment, markdown } from './markdown.ts'
import type { KeptRun } from './rejudge.ts'
import { jsonFile } from './text.ts'

const FILES: Readonly<Record<string, (kept: KeptRun, comparison: Comparison | null) => string>> = {
  'results.json': ({ results }) => jsonFile(results),
  'junit.xml': ({ results }) => junit(results),
  'index.html': html,
  'summary.md': markdown,
  'comment.md': comment,
  'badge.json': ({ results }) => jsonFile(badge(results), 0),
}

/**
 * Writes `results.json`, `junit.xml`, `index.html`, `summary.md`, `comment.md` and `badge.json` into a
 * directory; `comparison` compares them with an earlier run.
 */
export function writeReports(directory: string, kept: KeptRun, comparison: Comparison | null = null): void {
  mkdirSync(directory, { recursive: true })
  for (const [name, text] of Object.entries(FILES))
    writeFileSync(join(directory, name), text(kept, comparison))
}

/**
 * Makes the directory and removes the verdict of an earlier run, so that it cannot be mistaken for the next
 * run's verdict.
 */
export function clearReports(directory: string): void {
  mkdirSync(directory, { recursive: true })
  for (const name of [...Object.keys(FILES), 'run.json']) rmSync(join(directory, name), { force: true })
}

const COLORS: Readonly<Record<Conclusion, string>> = {
  conformant: 'brightgreen',
  partial: 'yellow',
  'not conformant': 'red',
  error: 'lightgrey',
}

export const badge = ({ profile, set, conclusion, counts }: Results) => ({
  schemaVersion: 1,
  label: `waybill ${profile} ${set}`,
  message: conclusion === 'not conformant' ? `${counts.fail + counts.untestable} failed` : conclusion,
  color: COLORS[conclusion],
})
