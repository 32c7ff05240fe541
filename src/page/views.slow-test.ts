// Every view of the page in a real browser: its text, accessibility by axe in both schemes, keyboard use, and
// a phone. Also checks that no click on the page makes a call. Over 250 lines, because most tests use the
// same busy gateway.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import { answer, fail, streamed } from '../../mocks/test-upstream.ts'
import { openLearnedRefusals } from '../models/learned.ts'
import { costText } from '../terminal/numbers.ts'
import { ask, type TestGateway, temporaryDirectory, testGateway } from '../test/test-gateway.ts'
import { sample } from '../test/test-size.ts'
import { until } from '../test/test-until.ts'
import { openTab, pageFiles, withoutBrowser } from './test-browser.ts'

const skip = withoutBrowser
const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

const CONFIG = `
models: { beta/model-b: { price: { input: 1, output: 2 } }, alpha/model-a: { price: { input: 3, output: 4 } } }
artifacts: { bodies: true }
routes:
  auto: { description: everyday, cache: true, targets: [ { model: alpha/model-a, tier: balanced }, { model: beta/model-b, tier: cheap } ] }
  auto/long:
    strategy: weighted
    sticky: session
    rules: [ { when: { input_tokens: { over: 1000 } }, use: { target: beta/model-b } } ]
    targets: [ { model: alpha/model-a, weight: 3 }, { model: beta/model-b, weight: 1 } ]`

const HOSTILE = '</script><img src=x onerror=alert(1)>'

/**
 * A gateway with recorded calls of each kind: a fallback, failures, streams, a cache hit, agents, hostile
 * texts.
 */
async function busyGateway(t: TestContext) {
  const gateway = await testGateway(t, {
    providers: { alpha: fail(503), beta: streamed('to', ' the', ' sea') },
    config: CONFIG,
    options: {
      page: await pageFiles(),
      recordings: {
        notes: ['Answers come from a test.'],
        list: [
          {
            name: 'alpha/chat',
            provider: 'alpha',
            endpoint: 'chat/completions',
            model: 'model-a',
            stream: false,
            scenario: 'plain',
            status: 200,
            bytes: 812,
            chunks: 1,
            origin: 'authored',
            date: '2026-11-01',
            api_version: 'v1',
            shape: 'a test',
          },
        ],
      },
      replay: true,
    },
  })
  const call = (model: string, more: object, headers: Record<string, string> = {}) =>
    gateway.chat(ask(model, more), { 'x-session-id': 'conversation', ...headers })
  const { headers } = await call('auto', { stream: true })
  gateway.upstream.beta!.script = answer(HOSTILE)
  await call('auto', {}, { 'x-claude-code-agent-id': 'explorer' })
  await call('auto', {}, { 'x-claude-code-agent-id': 'explorer' })
  await call('beta/model-b', { messages: [{ role: 'user', content: HOSTILE }] })
  gateway.upstream.beta!.script = fail(400, {}, { message: HOSTILE })
  await call('beta/model-b', {})
  await gateway.chat(ask('nowhere'))
  const id = headers.get('x-gateway-request-id')!
  await gateway.record(id)
  return { gateway, id }
}

/** Each view, with a text that it shows once loaded. */
const VIEWS = (id: string): readonly (readonly [path: string, text: string])[] => [
  ['/', 'Just ended'],
  ['/calls', 'beta/model-b'],
  [`/calls/${id}`, 'after 1 fallback'],
  ['/sessions', 'conversation'],
  ['/sessions/conversation', 'explorer'],
  ['/routes', 'Where would a call go?'],
  ['/costs', 'By model'],
  ['/recordings', 'Answers come from a test.'],
  ['/health', 'No route and no provider/model is called'],
]

async function goTo(page: Page, url: string, text: string): Promise<void> {
  await page.goto(url)
  await page.getByText(text).first().waitFor()
}

/** Returns the findings of axe, each with its first element. */
async function findings(page: Page, axe: string, rules: readonly string[]): Promise<string[]> {
  await page.evaluate(axe)
  return page.evaluate(async (rules) => {
    const { violations } = await (window as any).axe.run(document, {
      resultTypes: ['violations'],
      ...(rules.length > 0 && { runOnly: { type: 'rule', values: rules } }),
    })
    return violations.map((each: any) => `${location.pathname} ${each.id}: ${each.nodes[0].html}`)
  }, rules)
}

test('a list of calls never appears empty before it has loaded', { skip }, async (t) => {
  const { gateway } = await busyGateway(t)
  const { page } = await openTab(t, gateway.url)
  await page.addInitScript(() => {
    new MutationObserver(() => {
      if (document.body?.innerText.includes('No call is on record')) document.documentElement.id = 'flashed'
    }).observe(document, { subtree: true, childList: true, characterData: true })
  })
  for (let times = 0; times < 5; times++) {
    await goTo(page, `${gateway.url}/calls`, 'beta/model-b')
    assert.equal(await page.locator('#flashed').count(), 0)
  }
})

// Checks that do not depend on the scheme run in only one of them.
for (const colorScheme of sample(['light', 'dark'] as const, 2))
  test(`the accessibility checker axe finds no problem in any view, in a wide window or on a phone, ${colorScheme} (PAGE-09)`, {
    skip,
  }, async (t) => {
    const { gateway, id } = await busyGateway(t)
    const axe = await readFile(AXE, 'utf8')
    for (const width of [1400, 400]) {
      const { page } = await openTab(t, gateway.url, { colorScheme, viewport: { width, height: 900 } })
      for (const [path, text] of VIEWS(id)) {
        await goTo(page, gateway.url + path, text)
        await page.waitForTimeout(150)
        assert.deepEqual(await findings(page, axe, colorScheme === 'light' ? [] : ['color-contrast']), [])
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
        assert.ok(wide <= 0, `${path} is ${wide} px wider than a window of ${width}`)
      }
    }
  })

test('nothing is cut off or covered, in tables at 1280 px or in tabs and value names on a phone', {
  skip,
}, async (t) => {
  const { gateway, id } = await busyGateway(t)
  const { page } = await openTab(t, gateway.url, { viewport: { width: 1280, height: 500 } })
  for (const [path, text] of VIEWS(id)) {
    await goTo(page, gateway.url + path, text)
    const cut = await page.evaluate(() =>
      [...document.querySelectorAll('.table-frame')].map((each) => each.scrollWidth - each.clientWidth),
    )
    assert.deepEqual(
      cut.filter((px) => px > 0),
      [],
      `${path}: a table is wider than its frame`,
    )
    const covered = await page.evaluate(() => {
      const { left, right, top, bottom } = document.querySelector('.help-button')!.getBoundingClientRect()
      const main = document.querySelector('main')!.getBoundingClientRect()
      return left < main.right && right > main.left && top < main.bottom && bottom > main.top
    })
    assert.equal(covered, false, `${path}: the help lies over the view`)
  }
  await page.setViewportSize({ width: 390, height: 844 })
  await goTo(page, `${gateway.url}/calls`, 'beta/model-b')
  for (const tab of await page.getByRole('navigation', { name: 'Views' }).getByRole('link').all()) {
    const { x, width } = (await tab.boundingBox())!
    assert.ok(x >= 0 && x + width <= 390, await tab.innerText())
  }
  const before = await page
    .locator('td[data-column=requested_model]')
    .first()
    .evaluate((cell) => getComputedStyle(cell, '::before').content)
  assert.match(before, /asked for/)
})

/** Elements that can be clicked, except plain links to another view. */
const CLICKED = 'main :is(button, summary, input[type=checkbox])'

test('no click makes a call or adds a record (PAGE-01)', {
  skip,
}, async (t) => {
  const { gateway, id } = await busyGateway(t)
  const before = [gateway.received(), (await gateway.get('/api/usage/request-logs')).json.data.length]
  const { page } = await openTab(t, gateway.url, { permissions: ['clipboard-write'] })
  let clicks = 0
  for (const [path, text] of VIEWS(id)) {
    await goTo(page, gateway.url + path, text)
    clicks += await page.evaluate(async (selector) => {
      const address = location.href
      const all = () => document.querySelectorAll<HTMLElement>(selector)
      const settle = () => new Promise((done) => setTimeout(done, 20))
      let count = 0
      for (; count < all().length && count < 80; count++) {
        for (const details of document.querySelectorAll('details')) details.open = true
        // Clicks like a person would, even if something covers the element at the moment.
        all()[count]!.click()
        await settle()
        if (location.href === address) continue
        history.pushState(null, '', address)
        dispatchEvent(new PopStateEvent('popstate'))
        await settle()
      }
      return count
    }, CLICKED)
    await page.waitForTimeout(100) // waits for the requests of the last click
  }
  assert.ok(clicks > 60, `${clicks} clicks`)
  assert.deepEqual(
    [gateway.received(), (await gateway.get('/api/usage/request-logs')).json.data.length],
    before,
  )
})

test('the view of a call shows the fallback, price and exchange, and shows markup as text (PAGE-02)', {
  skip,
}, async (t) => {
  const { gateway, id } = await busyGateway(t)
  const { page } = await openTab(t, `${gateway.url}/calls/${id}`)
  await page.getByText('after 1 fallback').waitFor()
  assert.deepEqual(await page.locator('.waterfall b').allInnerTexts(), ['alpha / model-a', 'beta / model-b'])
  await page.locator('.waterfall').getByText('e503', { exact: true }).waitFor()
  await page.getByText('the longest gap is').waitFor()
  const price = page.locator('.panel', { has: page.getByRole('heading', { name: /^Price/ }) })
  assert.match(
    await price.innerText(),
    /input\s+\$1\.00 per million tokens\s+output\s+\$2\.00 per million tokens/,
  )
  const hostile = (await gateway.get('/api/usage/request-logs?requested_model=beta/model-b&status=ok')).json
    .data[0].id
  await page.goto(`${gateway.url}/calls/${hostile}`)
  await page.getByText('Exchange').first().waitFor()
  for (const body of await page.getByText(/^Body, /).all()) await body.click()
  await page.locator('pre.body', { hasText: HOSTILE }).first().waitFor()
  assert.equal(await page.locator('main img, main script').count(), 0)
})

test('a session is a tree of its agents; routes and costs add up to the record', { skip }, async (t) => {
  const { gateway } = await busyGateway(t)
  const { page } = await openTab(t, `${gateway.url}/sessions/conversation`)
  await page.locator('.tree').getByText('explorer').waitFor()
  const tree = await page.locator('.tree').innerText()
  assert.match(tree, /the conversation\s+main\s+3 calls/)
  assert.match(tree, /explorer[\s\S]*subagent\s+2 calls/)
  await goTo(
    page,
    `${gateway.url}/routes?model=auto/long&input_tokens=5000`,
    'input_tokens over 1000 → beta/model-b',
  )
  await page.locator('.sentence').getByText('beta / model-b').waitFor()
  await page.locator('.panel', { hasText: 'everyday' }).getByText('cooling').first().waitFor()
  await goTo(page, `${gateway.url}/costs?by=provider`, 'By provider')
  const { totals } = (await gateway.get('/api/usage/history?window=30d&bucket=1d')).json
  assert.ok(totals.cost_usd > 0)
  const shown = page.locator('.figure', { hasText: 'Cost' }).getByText(costText(totals)).first()
  await shown.waitFor()

  await goTo(page, gateway.url, 'Cost today')
  await page.getByRole('link', { name: 'Cost today' }).click()
  await page.getByText('00:00 to now').waitFor()
  await shown.waitFor()
  await page.getByRole('link', { name: 'this month' }).click()
  await page.getByText(/ 00:00 to now/).waitFor()
  await page.getByRole('link', { name: 'client', exact: true }).click()
  await page.getByRole('heading', { name: 'By client' }).waitFor()
  assert.deepEqual(await page.locator('.amounts .name').allInnerTexts(), ['node'])
  await page.getByLabel('from').fill('2026-01-05')
  await page.getByLabel('to', { exact: true }).fill('2026-01-06')
  await page.getByText('5 Jan 00:00 to 7 Jan 00:00').waitFor()
  await page.getByText('No call was made in this period').waitFor()
})

test('the routes view ends with a list of parameters that providers have refused (FIT-03)', {
  skip,
}, async (t) => {
  const data = temporaryDirectory(t)
  const learned = openLearnedRefusals(data)
  learned.add({ provider: 'alpha', model: 'm', parameter: 'reasoning_effort', value: '"max"' })
  learned.add({ provider: 'alpha', model: 'm', parameter: 'max_tokens', value: null, isReplaced: true })
  const gateway = await testGateway(t, {
    providers: { alpha: answer() },
    config: 'routes: { auto: { targets: [ { model: alpha/m } ] } }',
    options: { page: await pageFiles() },
    data,
  })
  const { page } = await openTab(t, gateway.url)
  await goTo(page, `${gateway.url}/routes`, 'Refused by providers')
  const rows = page.locator('section', { hasText: 'Refused by providers' }).locator('tbody tr')
  const texts = await rows.allInnerTexts()
  assert.match(texts[0]!, /alpha\/m\s+reasoning_effort\s+"max"\s+without it/)
  assert.match(texts[1]!, /alpha\/m\s+max_tokens\s+any\s+replaced/)
  assert.deepEqual(await findings(page, await readFile(AXE, 'utf8'), []), [])
})

test('help, another view, a filter, a call and the way back can be used with the keyboard alone (PAGE-09)', {
  skip,
}, async (t) => {
  const { gateway } = await busyGateway(t)
  const { page } = await openTab(t, gateway.url)
  await page.getByText('Just ended').waitFor()
  const { keyboard } = page
  await keyboard.press('?')
  await page.getByRole('dialog').getByText('go to calls').waitFor()
  await keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'hidden' })
  await keyboard.press('g')
  await keyboard.press('c')
  await page.waitForURL(/\/calls$/)
  await page.locator('tbody tr').nth(4).waitFor()
  await keyboard.press('j')
  await keyboard.press('ArrowDown')
  await keyboard.press('ArrowRight')
  await keyboard.press('ArrowRight')
  await keyboard.press('Enter')
  await page.waitForURL(/requested_model=/)
  await keyboard.press('x')
  await page.waitForURL(/\/calls$/)
  await keyboard.press('/')
  await keyboard.type('status:400')
  await keyboard.press('Enter')
  await page.waitForURL(/status=400/)
  await page.locator('tbody tr').first().waitFor()
  await page.locator('tbody tr').nth(1).waitFor({ state: 'detached' })
  await keyboard.press('Escape')
  await keyboard.press('j')
  await keyboard.press('Enter')
  await page.waitForURL(/\/calls\/[0-9a-f-]{36}$/)
  await page.getByRole('heading', { name: 'Attempts' }).waitFor()
  await keyboard.press('u')
  await page.waitForURL(/status=400/)
})

test('an export is a file with every call that matches the filters (PAGE-08)', { skip }, async (t) => {
  const { gateway } = await busyGateway(t)
  const { page } = await openTab(t, `${gateway.url}/calls?provider=beta`)
  await page.locator('tbody tr').first().waitFor()
  await page.getByText('Export').click()
  const [csv] = await Promise.all([
    page.waitForEvent('download'),
    page.getByText('CSV, these columns').click(),
  ])
  const lines = (await readFile((await csv.path())!, 'utf8')).trim().split('\r\n')
  assert.match(lines[0]!, /^created_at,state,requested_model,/)
  const { data } = (await gateway.get('/api/usage/request-logs?provider=beta')).json
  assert.equal(lines.length, 1 + data.length)
  const [json] = await Promise.all([
    page.waitForEvent('download'),
    page.getByText('JSON, whole records').click(),
  ])
  assert.deepEqual(JSON.parse(await readFile((await json.path())!, 'utf8')), data)
})

test('a hidden page keeps no connection open, and reloads its data when it is shown again (PAGE-05)', {
  skip,
}, async (t) => {
  const { gateway } = await busyGateway(t)
  const { page } = await openTab(t, `${gateway.url}/calls`)
  await page.locator('.connection.on').waitFor()
  await page.locator('tbody tr').first().waitFor()
  const setHidden = (hidden: boolean) =>
    page.evaluate((hidden) => {
      Object.defineProperty(document, 'hidden', { value: hidden, configurable: true })
      document.dispatchEvent(new Event('visibilitychange'))
    }, hidden)
  await setHidden(true)
  await page.locator('.connection.off').waitFor({ state: 'attached' })
  const rows = await page.locator('tbody tr').count()
  gateway.upstream.beta!.script = answer()
  await gateway.chat(ask('beta/model-b'))
  await page.waitForTimeout(400)
  assert.equal(await page.locator('tbody tr').count(), rows)
  await setHidden(false)
  await page.locator('tbody tr').nth(rows).waitFor()
})

test('the view of a session shows what was new in each step, why the dearest cost that much, and the branches (STEP-06)', {
  skip,
}, async (t) => {
  const gateway = await testGateway(t, {
    config: CONFIG.replace('artifacts: { bodies: true }', ''),
    env: { WAYBILL_RESPONSES_KEY: 'k'.repeat(44) },
    providers: { alpha: answer('To the sea.'), beta: answer(HOSTILE) },
    options: { page: await pageFiles() },
  })
  const keep = async (session: string, messages: object[], headers: Record<string, string> = {}) => {
    const sent = { 'content-type': 'application/json', 'x-session-id': session, ...headers }
    const body = JSON.stringify(ask('alpha/model-a', { messages }))
    const answered = await gateway.get('/keep/v1/chat/completions', { method: 'POST', headers: sent, body })
    const id = answered.headers.get('x-gateway-request-id')!
    const path = `/api/usage/request-logs/${id}/kept`
    await until('the call is kept', async () => (await gateway.get(path)).status === 200)
    return id
  }
  const first = { role: 'user', content: 'where to?' }
  const said = { role: 'assistant', content: 'To the sea.' }
  const id = await keep('walk', [first])
  await keep('walk', [{ role: 'user', content: 'a task of its own' }], { 'x-claude-code-agent-id': 'scout' })
  await keep('walk', [first, said, { role: 'user', content: `and then ${HOSTILE}` }])
  await keep('fork-1', [first], { 'x-gateway-parent': id })
  const axe = await readFile(AXE, 'utf8')
  for (const [colorScheme, width] of [
    ['light', 1280],
    ['dark', 390],
  ] as const) {
    const { page } = await openTab(t, gateway.url, { colorScheme, viewport: { width, height: 900 } })
    await goTo(page, `${gateway.url}/sessions/walk`, '1 new part')
    const steps = page.locator('.steps > li')
    assert.equal(await steps.count(), 3)
    await steps.nth(2).locator('summary').first().click()
    await steps.nth(1).locator('summary').first().click()
    assert.match(
      await steps.nth(2).innerText(),
      /Continues step 1\.\s+new: user, text, .*and then <\/script>/s,
    )
    assert.doesNotMatch(await steps.nth(2).innerText(), /where to/)
    assert.match(await steps.nth(1).innerText(), /subagent .* 1 new part\s+Started by step 1\./s)
    await page.getByText('the dearest steps').waitFor()
    await page.getByRole('link', { name: 'fork-1' }).waitFor()
    assert.deepEqual(await findings(page, axe, []), [])
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
    assert.ok(wide <= 0, `${wide} px wider than a window of ${width}`)
    await page.getByRole('link', { name: 'fork-1' }).click()
    await page.getByRole('link', { name: 'walk' }).last().waitFor()
    await page.getByText('0 new parts').waitFor()
  }
  assert.equal(gateway.received(), 4)
})

test('the page’s files are smaller than 181 kB in total, and contain no other server’s address', async () => {
  const directory = await pageFiles()
  const files = await Promise.all(
    ['index.html', 'page.js', 'page.css', 'icon.svg'].map((name) => readFile(new URL(name, directory))),
  )
  const bytes = files.reduce((sum, { length }) => sum + length, 0)
  assert.ok(bytes < 181_000, `${bytes} bytes`)
  const addresses =
    Buffer.concat(files)
      .toString()
      .match(/https?:\/\/[\w.-]+/g) ?? []
  // Names of markup languages, which are never requested.
  assert.deepEqual(
    [...new Set(addresses)].filter((each) => each !== 'http://www.w3.org'),
    [],
  )
})

/** The budget of a client, and the data hidden from another key. */
test('a client sees its own budget, and an admin sees all budgets; only an admin sees the health view (PAGE-04)', {
  skip,
}, async (t) => {
  const digest = (key: string) => `sha256:${createHash('sha256').update(key).digest('hex')}`
  const gateway: TestGateway = await testGateway(t, {
    config: `routes: { auto: { targets: [ { model: alpha/model-a } ] } }
keys:
  - { name: ann, digest: "${digest('key-of-ann')}", budget: { usd: 5, per: month, unpriced: allow } }
  - { name: bob, digest: "${digest('key-of-bob')}", budget: { usd: 7, per: month, unpriced: allow } }
  - { name: boss, role: admin, digest: "${digest('key-of-boss')}" }`,
    options: { page: await pageFiles() },
  })
  for (const [name, budgets] of [
    ['ann', ['ann']],
    ['boss', ['ann', 'bob']],
  ] as const) {
    const { page } = await openTab(t, `${gateway.url}/costs`)
    await page.getByLabel('Gateway key').fill(`key-of-${name}`)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Budgets').waitFor()
    const panel = page.locator('.panel', { hasText: 'Budgets' })
    assert.deepEqual(await panel.locator('.name').allInnerTexts(), budgets)
    await page.getByRole('link', { name: 'Health' }).click()
    await page.getByText(name === 'ann' ? 'it needs an admin key' : 'the record can be read').waitFor()
  }
})
