// Builds the documentation as a static site: `npm run docs -- site` writes site/dist. The generator has its own package in
// site/, which is installed only to build the site. With --check, checks the site in a browser: every internal link has a
// target, and no page calls another host, logs errors, is wider than the window, or has a finding of axe. Links to other
// hosts are counted, not followed.
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { extname, join, posix } from 'node:path'
import { type Browser, chromium } from 'playwright-core'
import { writeContent } from './content.ts'

const EXECUTABLE = process.env.WAYBILL_CHROMIUM ?? '/usr/bin/chromium'
const VIEWS = [
  { colorScheme: 'light', width: 1_400 },
  { colorScheme: 'dark', width: 400 },
] as const
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.json': 'application/json',
}

/**
 * Checks the site. `pictures` is a directory for pictures of each page in each view. Throws with all
 * problems.
 */
async function checkSite(site: string, pictures?: string): Promise<void> {
  const all = globSync('**/*.html', { cwd: site }).toSorted()
  const pages = all.filter((page) => !page.startsWith('files/'))
  const { problems, inside, outside } = deadLinks(site, all)
  process.stdout.write(`site: ${pages.length} pages, ${inside} links inside, ${outside} to other hosts\n`)
  if (existsSync(EXECUTABLE) || process.env.WAYBILL_BROWSER === 'required') {
    problems.push(...(await look(site, pages, pictures)))
    process.stdout.write(`site: looked at in ${VIEWS.length} views each\n`)
  } else process.stdout.write(`site: not looked at in a browser, there is no ${EXECUTABLE}\n`)
  if (problems.length > 0) throw new Error([...new Set(problems)].join('\n'))
}

function deadLinks(site: string, pages: readonly string[]) {
  const base = process.env.WAYBILL_SITE_BASE ?? '/'
  const texts = new Map(pages.map((page) => [page, readFileSync(join(site, page), 'utf8')]))
  const problems: string[] = []
  let [inside, outside] = [0, 0]
  for (const [page, text] of texts)
    for (const [, link = ''] of text.matchAll(/ (?:href|src)="([^"]*)"/g)) {
      if (/^[a-z]+:/i.test(link)) {
        outside++
        continue
      }
      inside++
      const [path = '', anchor] = decodeURIComponent(link.replaceAll('&amp;', '&')).split('#')
      const target = path === '' ? page : posix.join(posix.dirname(`/${page}`), path).slice(1)
      const file = path.startsWith('/') ? path.slice(base.length) : target
      const found = [file, `${file}.html`, posix.join(file, 'index.html')].find(
        (each) => existsSync(join(site, each)) && statSync(join(site, each)).isFile(),
      )
      if (found === undefined) problems.push(`${page}: ${link} leads nowhere`)
      else if (anchor && texts.has(found) && !texts.get(found)!.includes(`id="${anchor}"`))
        problems.push(`${page}: ${link}: there is no such heading`)
    }
  return { problems, inside, outside }
}

async function look(site: string, pages: readonly string[], pictures?: string): Promise<string[]> {
  const server = createServer(({ url = '/' }, response) => {
    const path = decodeURIComponent(url.split(/[?#]/)[0]!)
    const file = join(site, path.endsWith('/') ? `${path}index.html` : path)
    if (!existsSync(file)) return response.writeHead(404).end()
    response.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream' })
    return response.end(readFileSync(file))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const browser = await chromium.launch({
    executablePath: EXECUTABLE,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
    ],
  })
  try {
    const problems: string[] = []
    for (const view of VIEWS) problems.push(...(await lookThrough(browser, origin, pages, view, pictures)))
    return problems
  } finally {
    await browser.close()
    server.close()
  }
}

async function lookThrough(
  browser: Browser,
  origin: string,
  pages: readonly string[],
  { colorScheme, width }: (typeof VIEWS)[number],
  pictures?: string,
): Promise<string[]> {
  const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
  const problems: string[] = []
  const page = await browser.newPage({ colorScheme, viewport: { width, height: 900 } })
  page.setDefaultTimeout(120_000) // ends what hangs, and judges no speed
  let where = ''
  const complain = (what: string) => problems.push(`${where}, ${colorScheme}, ${width} px: ${what}`)
  page.on('console', (message) => message.type() === 'error' && complain(message.text()))
  page.on('pageerror', (error) => complain(String(error)))
  page.on('request', (request) => {
    if (!request.url().startsWith(origin) && !request.url().startsWith('data:'))
      complain(`asked ${request.url()}`)
  })
  for (where of pages.filter((each) => each !== '404.html')) {
    await page.goto(`${origin}/${where}`, { waitUntil: 'load' })
    await page.waitForTimeout(150)
    if (pictures) {
      mkdirSync(pictures, { recursive: true })
      await page.screenshot({
        path: join(pictures, `${where.replaceAll('/', '-')}-${colorScheme}-${width}.png`),
      })
    }
    const wide = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
    if (Number(wide) > 0) complain(`${wide} px wider than the window`)
    await page.evaluate(axe)
    // Rules that do not depend on the colour scheme run in only one of them.
    const rules = colorScheme === 'light' ? undefined : ['color-contrast']
    for (const finding of await page.evaluate(findings, rules)) complain(finding)
  }
  where = 'the search'
  await page.goto(`${origin}/`, { waitUntil: 'networkidle' })
  const words = page.locator('.VPLocalSearchBox input')
  // The key works only after the page's scripts have started.
  for (let tries = 0; tries < 20 && !(await words.isVisible()); tries++) {
    await page.keyboard.press('Control+k')
    await words.waitFor({ timeout: 500 }).catch(() => {})
  }
  await words.fill('cooldown')
  await page
    .locator('.VPLocalSearchBox .result')
    .first()
    .waitFor()
    .catch(() => complain('finds nothing'))
  await page.close()
  return problems
}

interface Axe {
  run(options: object): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }>
}

/** Runs in the page. The first column of a table may have no name; this does not affect accessibility. */
async function findings(runOnly: string[] | undefined): Promise<string[]> {
  const { violations } = await (globalThis as unknown as { axe: Axe }).axe.run({
    runOnly,
    rules: { 'empty-table-header': { enabled: false } },
  })
  return violations.map(({ id, nodes }) => `axe: ${id}, ${nodes[0]?.html.slice(0, 120)}`)
}

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
