// A real browser for the tests of the page. Fails on an error on its console, a report of a policy violation,
// or a request to another host. A machine without Chromium skips these tests and says so; with
// WAYBILL_BROWSER=required, as in CI, it fails.
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext } from 'node:test'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { buildPage } from '../../scripts/docs/page/pictures.ts'

const EXECUTABLE = process.env.WAYBILL_CHROMIUM ?? '/usr/bin/chromium'
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** Value for a test's `skip`: the reason why there is no browser, or false. */
export const withoutBrowser: string | false =
  existsSync(EXECUTABLE) || process.env.WAYBILL_BROWSER === 'required'
    ? false
    : `there is no ${EXECUTABLE}; install Chromium, or name one with WAYBILL_CHROMIUM`

let browser: Promise<Browser> | undefined
let files: Promise<URL> | undefined
let directory: string | undefined

after(async () => {
  await (await browser)?.close()
  if (directory !== undefined) rmSync(directory, { recursive: true, force: true })
})

/** The page, built from the current sources once for a test file. */
export function pageFiles(): Promise<URL> {
  files ??= (async () => {
    directory = mkdtempSync(join(tmpdir(), 'waybill-page-'))
    return buildPage(directory)
  })()
  return files
}

export interface Tab {
  readonly page: Page
  /** Errors that the browser has reported so far. */
  readonly complaints: string[]
}

/** Opens an address in a fresh profile. When the test ends, checks that no error was reported. */
export async function openTab(
  t: TestContext,
  url: string,
  options: BrowserContextOptions = {},
): Promise<Tab> {
  browser ??= chromium.launch({ executablePath: EXECUTABLE, args: FLAGS })
  const context = await (await browser).newContext({ viewport: { width: 1400, height: 900 }, ...options })
  const page = await context.newPage()
  const goto = page.goto.bind(page)
  // Chromium drops its connections when an interface of the machine appears, such as that of a container.
  page.goto = (...to) =>
    goto(...to).catch((error) => {
      if (!String(error).includes('ERR_NETWORK_CHANGED')) throw error
      return goto(...to)
    })
  page.setDefaultTimeout(120_000) // ends what hangs, and judges no speed
  const complaints: string[] = []
  const { origin } = new URL(url)
  page.on('console', (message) => {
    // The browser itself prints a line for each failed answer. Only the test knows whether one is expected,
    // and at the test's end, the gateway may stop before the page.
    const isAnswer = /^Failed to load resource: (the server responded with a status of|net::ERR_)/.test(
      message.text(),
    )
    if (!isAnswer && ['error', 'warning'].includes(message.type())) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('request', (request) => {
    const { protocol, origin: asked } = new URL(request.url())
    if (asked !== origin && protocol !== 'data:' && protocol !== 'blob:')
      complaints.push(`asked ${request.url()}`)
  })
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) =>
      console.error(`policy: ${event.violatedDirective}`),
    )
  })
  t.after(async () => {
    await context.close()
    assert.deepEqual(complaints, [])
  })
  await page.goto(url)
  return { page, complaints }
}
