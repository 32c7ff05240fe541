// How quick the page is with a million calls on record: `node scripts/page/measure.ts [CALLS] [SECONDS]`. First paint of the
// list, a filter, and the memory of the tab while calls come in for so many seconds. Prints what it saw; asserts nothing.
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { chromium } from 'playwright-core'
import { startDemo } from './demo.ts'

const calls = Number(process.argv[2] ?? 1_000_000)
const seconds = Number(process.argv[3] ?? 60)
const RATE = 50
const say = (line: string) => process.stdout.write(`${line}\n`)

const demo = await startDemo({ calls, pace: 5 })
const browser = await chromium.launch({
  executablePath: process.env.WAYBILL_CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--js-flags=--expose-gc'],
})
try {
  const page = await browser.newPage()
  const times = { paint: [] as number[], filter: [] as number[] }
  for (let n = 0; n < 7; n++) {
    await page.goto(`${demo.gateway.url}/calls`)
    await page.locator('tbody tr').first().waitFor()
    // From the beginning of the navigation to the frame after the rows are there, by the page's own clock.
    times.paint.push(
      await page.evaluate(
        () => new Promise<number>((done) => requestAnimationFrame(() => done(performance.now()))),
      ),
    )
    for (const value of ['failed', 'deepseek']) {
      const [parameter, name] = value === 'failed' ? ['state', 'failed'] : ['provider', 'deepseek']
      times.filter.push(
        await page.evaluate(
          async ([parameter, name]) => {
            const began = performance.now()
            history.pushState(null, '', `/calls?${parameter}=${name}`)
            dispatchEvent(new PopStateEvent('popstate'))
            const isThere = () => {
              const cells = [
                ...document.querySelectorAll(
                  `td[data-column=${parameter === 'state' ? 'state' : 'resolved_provider'}]`,
                ),
              ]
              return cells.length > 0 && cells.every((cell) => cell.textContent!.includes(name!))
            }
            while (!isThere()) await new Promise((done) => setTimeout(done, 2))
            return performance.now() - began
          },
          [parameter, name],
        ),
      )
    }
  }
  const told = (all: number[]) => {
    const sorted = all.toSorted((a, b) => a - b)
    return `median ${Math.round(sorted[sorted.length >> 1]!)} ms, ${Math.round(sorted[0]!)} to ${Math.round(sorted.at(-1)!)} ms`
  }
  say(`${calls} calls: first rows of the list ${told(times.paint)}; a filter ${told(times.filter)}`)
  await page.goto(`${demo.gateway.url}/calls`)
  const session = await page.context().newCDPSession(page)
  const whole = await browser.newBrowserCDPSession()
  /** The heap of the page's own code, and what its process has for itself alone, MB. */
  const memory = async () => {
    await session.send('HeapProfiler.collectGarbage')
    const { usedSize } = (await session.send('Runtime.getHeapUsage')) as { usedSize: number }
    const { processInfo } = await whole.send('SystemInfo.getProcessInfo')
    const own = processInfo
      .filter(({ type }) => type === 'renderer')
      .map(({ id }) => /^Private_Dirty: +(\d+)/m.exec(readFileSync(`/proc/${id}/smaps_rollup`, 'utf8'))?.[1])
    return `heap of the tab ${(usedSize / 1e6).toFixed(1)} MB, its process ${Math.max(...own.map(Number)) >> 10} MB`
  }
  say(`at the start: ${await memory()}`)
  const began = Date.now()
  let sent = 0
  for (const part of [1 / 6, 1 / 2, 1]) {
    while (Date.now() < began + part * seconds * 1_000) {
      void demo.call({ stream: false }).catch(() => {})
      await sleep(Math.max(0, began + (++sent * 1_000) / RATE - Date.now()))
    }
    const passed = Math.round((Date.now() - began) / 1_000)
    say(
      `after ${passed} s and ${sent} calls (${(sent / passed).toFixed(1)}/s): ${await memory()}; ${await page.locator('tbody tr').count()} rows, the newest of ${await page.locator('tbody tr').first().locator('td').first().innerText()}`,
    )
  }
} finally {
  await browser.close()
  await demo.close()
}
