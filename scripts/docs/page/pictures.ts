// Takes the pictures of the page for the documentation: `npm run docs -- pictures`.
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { chromium } from 'playwright-core'
import { build } from 'tsup'
import { PAGE_ASSETS, page } from '../../../tsup.config.ts'
import { startDemo } from './demo.ts'

const PICTURES = [
  { name: 'calls-light', path: '/calls', colorScheme: 'light', width: 1280, height: 720 },
  { name: 'costs-dark', path: '/costs', colorScheme: 'dark', width: 1280, height: 720 },
  { name: 'now-phone', path: '/', colorScheme: 'light', width: 400, height: 800 },
] as const

/** Builds only the page of the current sources, into a directory. Tests need it, too. */
export async function buildPage(directory: string): Promise<URL> {
  await build({ ...page, config: false, silent: true, outDir: directory, onSuccess: async () => {} })
  mkdirSync(directory, { recursive: true })
  for (const file of PAGE_ASSETS) copyFileSync(`src/page/${file}`, join(directory, file))
  return pathToFileURL(`${directory}/`)
}

async function takePictures(): Promise<void> {
  const files = mkdtempSync(join(tmpdir(), 'waybill-pictures-'))
  const demo = await startDemo({ calls: 20_000, page: await buildPage(files) })
  const browser = await chromium.launch({
    executablePath: process.env.WAYBILL_CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
  })
  try {
    for (let n = 0; n < 30; n++) await demo.call()
    for (const { name, path, colorScheme, width, height } of PICTURES) {
      const page = await browser.newPage({ colorScheme, viewport: { width, height } })
      await page.goto(demo.gateway.url + path)
      await page.locator('main :is(.calls, .amounts)').first().waitFor()
      await page.waitForTimeout(500)
      await page.screenshot({ path: `docs/page/${name}.png` })
      await page.close()
    }
  } finally {
    await browser.close()
    await demo.close()
    rmSync(files, { recursive: true })
  }
}

if (import.meta.main) await takePictures()
