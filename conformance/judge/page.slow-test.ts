// Tests the report page in a real browser: every kind of verdict, light and dark, narrow and wide, with the
// keyboard alone, and with axe. Skipped with a reason if Chromium is not installed.
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { type Browser, chromium, type Page } from 'playwright-core'
import { entry, evidence, exchange } from '../evidence/test-evidence.ts'
import { targetSchema } from '../target/schema.ts'
import { html } from './html.ts'
import { OUTCOMES, type Results, type RunFile, type Verdict } from './judge.ts'

const CHROMIUM = '/usr/bin/chromium'
const skip = existsSync(CHROMIUM) ? false : `${CHROMIUM} is not there`

/** Results with one requirement for each outcome, so that every colour and mark is on the page. */
const IDS = ['ROUTE-01', 'ROUTE-02', 'FLOW-01', 'USE-08', 'KEEP-01', 'PURE-01', 'CAT-03'] as const
const WORD = 'x'.repeat(120)
const LINES = Array.from({ length: 60 }, (_, n) => `data: {"n":${n}}`).join('\n\n')

const verdicts = OUTCOMES.map((outcome, index): Verdict => {
  const id = IDS[index]!
  const bad = !['pass', 'not-applicable', 'disabled'].includes(outcome)
  return {
    id,
    slug: 'an-example',
    level: outcome === 'warn' ? 'SHOULD' : 'MUST',
    scope: 'every gateway',
    text: `A sentence with \`code\` and one long word: ${WORD}.`,
    outcome,
    scored: outcome !== 'warn',
    reason: `it is ${outcome}, see ROUTE-01`,
    findings: ['harness-error', 'not-applicable', 'disabled'].includes(outcome)
      ? []
      : [
          {
            id: `${id}/an-example`,
            ok: true,
            what: 'what holds',
            expected: '200',
            actual: '200',
            see: ['#1'],
          },
          ...(bad
            ? [
                {
                  id: `${id}/another`,
                  ok: false,
                  ...(outcome === 'untestable' && { doubt: true }),
                  what: 'the answer to a call',
                  expected: 'openai/gpt-5-mini',
                  actual: WORD,
                  see: ['#1', '@1'],
                },
              ]
            : []),
        ],
    inferences: 1,
    duration: 120,
  }
})

const results: Results = {
  causes: [{ what: 'each streamed call was answered with 500 {"error":1}', verdicts: ['ROUTE-02'] }],
  suite: '2.0',
  profile: 'waybill',
  target: { name: 'An example', version: '1', sealed: false },
  started_at: '2026-11-22T00:00:00.000Z',
  duration: 1_000,
  conclusion: 'not conformant',
  reason: '1 failed: ROUTE-02',
  counts: Object.fromEntries(OUTCOMES.map((outcome) => [outcome, 1])) as Results['counts'],
  inferences: { total: 7, accounted: 7 },
  verdicts,
  environment: { node: 'v24' },
  set: '5.0',
  live: null,
  reproduce: 'waybill conform my-gateway.yaml',
}

const page = (): string =>
  html({
    results,
    run: {
      target: targetSchema.parse({
        name: 'An example',
        start: { url: 'http://127.0.0.1:1' },
        providers: { openai: {} },
        models: { direct: [{ id: 'm', provider: 'openai', model: 'm' }] },
      }),
    } as RunFile,
    evidence: new Map(
      IDS.map((check) => [check, evidence([exchange({ body: LINES })], [{ ...entry(), n: 1 }], { check })]),
    ),
  })

// Checks of the page, as text because they run in the browser.
const VIOLATIONS =
  'axe.run(document).then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes[0].html))'
const FOCUSED =
  "({ text: document.activeElement.innerText, shown: getComputedStyle(document.activeElement).outlineStyle !== 'none' })"
const STOPS =
  "[...document.querySelectorAll('a[href], summary, pre[tabindex]')].filter((each) => each.checkVisibility()).length"
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

async function opened(browser: Browser, colorScheme: 'light' | 'dark', width: number): Promise<Page> {
  const context = await browser.newContext({ colorScheme, viewport: { width, height: 900 } })
  const tab = await context.newPage()
  await tab.setContent(page())
  return tab
}

test('the report page passes the checks in a browser', { skip }, async (t) => {
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
  })
  t.after(() => browser.close())

  for (const scheme of ['light', 'dark'] as const)
    for (const width of [400, 1_400])
      await t.test(
        `axe finds no problem and nothing is cut off in ${scheme} mode at ${width} px`,
        async () => {
          const tab = await opened(browser, scheme, width)
          for (const opened of [false, true]) {
            await tab.evaluate(
              `for (const each of document.querySelectorAll('details')) each.open = ${opened}`,
            )
            await tab.evaluate(AXE)
            const said = await tab.evaluate<string[]>(VIOLATIONS)
            assert.deepEqual(said, [], opened ? 'everything open' : 'as it opens')
            const over = await tab.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
            assert.ok(over <= 0, `${over} px are beyond the right edge`)
          }
          if (process.env.WAYBILL_PICTURES)
            await tab.screenshot({
              path: `${process.env.WAYBILL_PICTURES}/${scheme}-${width}.png`,
              fullPage: true,
            })
          await tab.context().close()
        },
      )

  await t.test(
    'with only the keyboard, a user can skip to the content, reach a failure and open its transcript',
    async () => {
      const tab = await opened(browser, 'light', 1_400)
      const focused = () => tab.evaluate<{ text: string; shown: boolean }>(FOCUSED)
      await tab.keyboard.press('Tab')
      assert.match((await focused()).text, /Skip to what failed/)
      await tab.keyboard.press('Enter')
      await tab.keyboard.press('Tab')
      const first = await focused()
      assert.deepEqual([first.text, first.shown], ['ROUTE-02', true], 'the first failure comes next')
      await tab.keyboard.press('Enter')
      assert.ok(
        await tab.evaluate("document.querySelector('#ROUTE-02').closest('details').open"),
        'the link opens its requirement',
      )
      // Checks that every element that the Tab key reaches is visible and has a name.
      const stops = await tab.evaluate<number>(STOPS)
      let named = 0
      for (let n = 0; n < stops; n++) {
        await tab.keyboard.press('Tab')
        const { text, shown } = await focused()
        if (text.trim() !== '' && shown) named++
      }
      assert.ok(named >= stops - 2, `${named} of ${stops} stops can be seen`)
      await tab.context().close()
    },
  )
})
