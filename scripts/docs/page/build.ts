// Builds only the page, into a given directory or into `dist/page`, because tests and pictures need the page
// of the current sources.
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'tsup'
import { PAGE_ASSETS, page } from '../../../tsup.config.ts'

export async function buildPage(directory: string): Promise<URL> {
  await build({ ...page, config: false, silent: true, outDir: directory, onSuccess: async () => {} })
  mkdirSync(directory, { recursive: true })
  for (const file of PAGE_ASSETS) copyFileSync(`src/page/${file}`, join(directory, file))
  return pathToFileURL(`${directory}/`)
}

if (import.meta.main) await buildPage(process.argv[2] ?? 'dist/page')
