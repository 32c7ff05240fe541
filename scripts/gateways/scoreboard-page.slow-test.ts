// Tests the scoreboard page: every mark links to its findings, markup from a gateway has no effect, and the
// filter narrows the table and can be linked. Runs in a browser with both colour schemes, on wide and narrow
// screens, and with axe.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { openTab, withoutBrowser } from '../../src/page/test-browser.ts'
import { sample } from '../../src/test/test-size.ts'
import { readAbsent, readNotes, readOutcomes } from './scoreboard.ts'
import { readProofs } from './scoreboard-evidence.ts'
import { scoreboardHtml } from './scoreboard-page.ts'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const VIOLATIONS =
  'axe.run(document).then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes[0].html))'
const html = scoreboardHtml(readOutcomes(), readNotes(), readProofs, readAbsent())
const directory = mkdtempSync(join(tmpdir(), 'waybill-scoreboard-'))
const FILE = pathToFileURL(join(directory, 'scoreboard.html'))
writeFileSync(FILE, html)
after(() => rmSync(directory, { recursive: true }))
const skip = withoutBrowser

test('each gateway’s verdicts have cells with links to the verdicts', () => {
  const verdicts = readOutcomes().flatMap(({ name, verdicts }) => verdicts.map(({ id }) => `${name}.${id}`))
  assert.ok(verdicts.length > 200)
  const places = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id!)
  assert.equal(new Set(places).size, places.length, 'no place twice')
  for (const verdict of verdicts)
    assert.ok(html.includes(`href="#${verdict}"`) && places.includes(verdict), verdict)
  for (const [, to] of html.matchAll(/ href="#([^"]+)"/g)) assert.ok(places.includes(to!), to)
})

test('the scoreboard page is small, loads no resources, and contains no path of the machine that ran the suite', () => {
  assert.ok(html.length < 1_100_000, `${html.length} characters`)
  assert.doesNotMatch(html, /<(img|link|iframe|script)[^>]* (src|href)=/)
  assert.doesNotMatch(html, /\/(tmp|home|root|work)\/\w/)
})

test('text from a gateway is escaped, and additional gateways make the excerpts shorter instead of the page longer', () => {
  const hostile = '</script><img src=x onerror=alert(1)>'
  const [one] = readOutcomes().filter(({ results }) => results !== null)
  const verdicts = one!.verdicts.map((each) => ({ ...each, outcome: 'fail' as const, reason: hostile }))
  const proof = readProofs('one-api').get('FLOW-09')!
  const seen = Object.fromEntries(
    Object.entries(proof.seen).map(([ref, each]) => [ref, { ...each, body: hostile.repeat(100) }]),
  )
  const findings = proof.findings.map((each) => ({ ...each, what: hostile }))
  const made = scoreboardHtml(
    Array.from({ length: 12 }, (_, n) => ({ ...one!, name: `g${n}`, title: hostile, verdicts })),
    {},
    () => new Map(verdicts.map(({ id }) => [id, { ...proof, id, findings, seen }])),
  )
  assert.doesNotMatch(made, /<img/)
  assert.match(made, /Not looked at yet, not to be quoted/)
  const failures = 12 * verdicts.length
  assert.ok(made.length < 1_200 * failures, `${made.length} characters for ${failures} failures`)
})

test('the filter narrows the table, updates the link, and opens no other page', {
  skip,
}, async (t) => {
  const { page } = await openTab(t, FILE.href)
  const rows = page.locator('.matrix tbody tr:visible')
  const all = await rows.count()
  await page.getByLabel('Find').fill('FLOW-0')
  const some = await rows.count()
  assert.ok(some > 0 && some < all, `${some} of ${all}`)
  await page.getByText(`${some} of ${all} requirements`).waitFor()
  await page.getByLabel('only what did not hold').check()
  assert.ok((await rows.count()) < some)
  assert.match(page.url(), /#find=FLOW-0&bad=1$/)
  await page.getByText('Gateways', { exact: true }).click()
  const gateways = page.getByRole('group', { name: 'Gateways in the table' }).getByRole('checkbox')
  for (let n = 1; n < (await gateways.count()); n++) await gateways.nth(n).uncheck()
  assert.equal(await page.locator('.matrix thead th:visible').count(), 2)
  const linked = await openTab(t, page.url())
  assert.equal(await linked.page.locator('.matrix tbody tr:visible').count(), await rows.count())
  await page.getByRole('button', { name: 'All' }).click()
  await page.waitForURL(/#$/)
  assert.equal(await rows.count(), all)
})

test("a mark links to its verdict, and opens the verdict's section", { skip }, async (t) => {
  const { page } = await openTab(t, FILE.href)
  for (const kind of ['fail', 'pass']) {
    const mark = page.locator(`.matrix a.${kind}`).first()
    const place = (await mark.getAttribute('href'))!.slice(1)
    await mark.click()
    await page.locator(`[id="${place}"]`).waitFor({ state: 'visible' })
    await page.goBack()
  }
})

for (const colorScheme of ['light', 'dark'] as const)
  for (const width of sample([400, 1_400], 2))
    test(`axe finds no problem and nothing is cut off in ${colorScheme} mode at ${width} px`, {
      skip,
    }, async (t) => {
      const { page } = await openTab(t, FILE.href, { colorScheme, viewport: { width, height: 900 } })
      await page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
      await page.evaluate(AXE)
      assert.deepEqual(await page.evaluate<string[]>(VIOLATIONS), [])
      const over = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
      assert.ok(over <= 0, `${over} px are beyond the right edge`)
    })
