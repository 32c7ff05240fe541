// What pages that are open cost the calls: `node scripts/page/beside.ts [RATE] [ROUNDS]`. The same calls at the same rate,
// by turns without a page and with three, on a gateway in a process of its own; page, gateway, providers and caller share
// this machine. Prints the percentiles of both and their ratios; asserts nothing.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Browser, chromium } from 'playwright-core'
import { Pool } from 'undici'

const [rate = 50, rounds = 5] = process.argv.slice(2).map(Number)
const SECONDS = 8
const PAGES = ['/', '/calls', '/costs']
const say = (line: string) => process.stdout.write(`${line}\n`)

const demo = spawn(process.execPath, ['scripts/page/demo.ts', '100000', '', '0', '0', '0'], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
const url = String((await once(demo.stdout!, 'data'))[0]).trim()
const pool = new Pool(url, { connections: 64 })
const browser = await chromium.launch({
  executablePath: process.env.WAYBILL_CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
})

/** Milliseconds that each call of a turn took, sorted. */
async function turn(seconds: number): Promise<number[]> {
  const times: number[] = []
  const began = performance.now()
  const open: Promise<void>[] = []
  for (let n = 0; n < seconds * rate; n++) {
    await sleep(Math.max(0, began + (n * 1_000) / rate - performance.now()))
    open.push(call(times))
  }
  await Promise.all(open)
  return times.sort((a, b) => a - b)
}

async function call(times: number[]): Promise<void> {
  const began = performance.now()
  const { body } = await pool.request({
    method: 'POST',
    path: '/v1/chat/completions',
    headers: { 'content-type': 'application/json' },
    body: '{"model":"deepseek/deepseek-chat","messages":[{"role":"user","content":"Where do you go?"}]}',
  })
  await body.dump()
  times.push(performance.now() - began)
}

async function openPages(browser: Browser) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
  for (const path of PAGES) {
    const page = await context.newPage()
    await page.goto(url + path)
    await page.locator('main :is(.calls, .amounts)').first().waitFor()
    if (path !== '/costs') await page.locator('.connection.on').waitFor()
  }
  return context
}

const at = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!
const told = (times: readonly number[]): string =>
  `p50 ${at(times, 0.5).toFixed(2)}, p99 ${at(times, 0.99).toFixed(2)} ms of ${times.length}`

await turn(3)
const all = { without: [] as number[], with: [] as number[] }
const ratios: number[] = []
for (let n = 0; n < rounds; n++) {
  const one: Record<keyof typeof all, number[]> = { without: [], with: [] }
  for (const which of n % 2 === 0 ? (['without', 'with'] as const) : (['with', 'without'] as const)) {
    const pages = which === 'with' ? await openPages(browser) : null
    await sleep(1_000)
    one[which] = await turn(SECONDS)
    await pages?.close()
    all[which].push(...one[which])
  }
  ratios.push(at(one.with, 0.99) / at(one.without, 0.99))
  say(`round ${n + 1}: without a page ${told(one.without)}; with three ${told(one.with)}`)
}
for (const times of Object.values(all)) times.sort((a, b) => a - b)
ratios.sort((a, b) => a - b)
say(`at ${rate} calls/s, all rounds: without a page ${told(all.without)}; with three ${told(all.with)}`)
say(
  `p99 with three pages: ${(at(all.with, 0.99) / at(all.without, 0.99)).toFixed(2)} times that without; by round median ${at(ratios, 0.5).toFixed(2)}, ${ratios[0]!.toFixed(2)} to ${ratios.at(-1)!.toFixed(2)}`,
)
await browser.close()
await pool.close()
demo.kill('SIGTERM')
