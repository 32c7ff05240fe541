// The documentation as a static site: `npm run site` builds it into site/dist; with --check, its links are followed and
// every page is looked at in a browser. The generator has a package of its own in site/, so that only who builds the site
// installs it.
import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { checkSite } from './site/check.ts'
import { writeContent } from './site/content.ts'

const root = join(import.meta.dirname, '..')
const site = join(root, 'site')

function run(command: string, ...args: string[]): void {
  const { status } = spawnSync(command, args, { cwd: site, stdio: 'inherit' })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}`)
}

const installed = join(site, 'node_modules/.package-lock.json')
const lock = join(site, 'package-lock.json')
if (!existsSync(installed) || statSync(installed).mtimeMs < statSync(lock).mtimeMs)
  run('npm', 'ci', '--no-audit', '--no-fund', '--loglevel=error')
try {
  writeContent(root, join(site, 'content'))
  run('npx', 'vitepress', 'build')
  if (process.argv.includes('--check')) await checkSite(join(site, 'dist'))
} catch (error) {
  process.stderr.write(`site: ${(error as Error).message}\n`)
  process.exitCode = 1
}
