// Builds the documentation as a static site: `npm run docs -- site` writes site/dist; with --check, follows
// its links and opens every page in a browser. The generator has its own package in site/, which is installed
// only to build the site.
import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { checkSite } from './check.ts'
import { writeContent } from './content.ts'

const root = join(import.meta.dirname, '../../..')
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
