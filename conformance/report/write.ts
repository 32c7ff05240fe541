// Writes what a run comes to, for every reader: programs, CI servers, people, badges.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Kept } from '../rejudge.ts'
import { badge } from './badge.ts'
import { html } from './html.ts'
import { junit } from './junit.ts'
import { markdown } from './markdown.ts'

/** Writes `results.json`, `junit.xml`, `index.html`, `summary.md` and `badge.json` into a directory. */
export function writeReports(directory: string, kept: Kept): void {
  mkdirSync(directory, { recursive: true })
  const write = (name: string, text: string) => writeFileSync(join(directory, name), text)
  write('results.json', `${JSON.stringify(kept.results, null, 2)}\n`)
  write('junit.xml', junit(kept.results))
  write('index.html', html(kept))
  write('summary.md', markdown(kept.results))
  write('badge.json', `${JSON.stringify(badge(kept.results))}\n`)
}
