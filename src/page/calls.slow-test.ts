// The page in a real browser: signing in, the list of calls, its filters, and calls as they arrive.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { answer, chunk, DONE, fail, stream } from '../../mocks/test-upstream.ts'
import { ask, type TestGateway, TWO_TARGETS, testGateway } from '../test/test-gateway.ts'
import { openTab, pageFiles, withoutBrowser } from './test-browser.ts'

const skip = withoutBrowser
const digest = (key: string) => `sha256:${createHash('sha256').update(key).digest('hex')}`
const KEYS = `
keys:
  - { name: ann, digest: "${digest('key-of-ann')}" }
  - { name: boss, role: admin, digest: "${digest('key-of-boss')}" }`
const as = (name: string) => ({ authorization: `Bearer key-of-${name}` })

test('an empty list explains how to make a call; a call appears while it runs, and its row is updated when it ends (PAGE-01)', {
  skip,
}, async (t) => {
  let goOn = () => {}
  const held = new Promise<void>((resolve) => {
    goOn = resolve
  })
  const gateway = await testGateway(t, {
    providers: {
      alpha: async (response, received) => {
        await held
        stream(chunk({ content: 'hello' }), chunk({}, { finish_reason: 'stop' }), DONE)(response, received)
      },
    },
    options: { page: await pageFiles() },
  })
  const { page } = await openTab(t, `${gateway.url}/calls`)
  await page.getByText('No call is on record yet').waitFor()
  await page.getByText(`curl -s ${gateway.url}/v1/chat/completions`).waitFor()
  await page.locator('.connection.on').waitFor()
  const called = gateway.chat(ask('auto', { stream: true }), { 'x-session-id': 's-1' })
  await page.locator('tbody .state.routed').waitFor()
  goOn()
  await called
  await page.locator('tbody .state.completed').waitFor()
  assert.equal(await page.locator('tbody tr').count(), 1)
  assert.equal(gateway.received(), 1)
})

test('a click on a value filters the list, including new calls; the Back button undoes the filter (PAGE-06, PAGE-07)', {
  skip,
}, async (t) => {
  const gateway = await testGateway(t, {
    providers: { alpha: answer(), beta: answer() },
    config: 'routes: { one: { targets: [ { model: alpha/a } ] }, two: { targets: [ { model: beta/b } ] } }',
    options: { page: await pageFiles() },
  })
  for (const model of ['one', 'two', 'one']) await gateway.chat(ask(model))
  const { page } = await openTab(t, `${gateway.url}/calls`)
  const rows = page.locator('tbody tr')
  await page.getByRole('button', { name: 'beta', exact: true }).click()
  await page.waitForURL(/provider=beta/)
  await page.locator('tbody:not(:has-text("alpha"))').waitFor()
  assert.equal(await rows.count(), 1)
  await page.mouse.move(0, 0)
  await gateway.chat(ask('one'))
  await gateway.chat(ask('two'))
  await rows.nth(1).waitFor()
  assert.deepEqual(
    await page.locator('td[data-column=resolved_provider]').allInnerTexts(),
    ['beta', 'beta'],
    'what came while it was open is filtered, too',
  )
  await page.goBack()
  await rows.nth(4).waitFor()
  await page.goForward()
  await page.locator('tbody:not(:has-text("alpha"))').waitFor()
  await page.getByRole('button', { name: 'Remove the filter provider beta' }).click()
  await rows.nth(4).waitFor()
  assert.equal(new URL(page.url()).search, '')
})

test('a typed filter reports mistakes, and can find a call by its error', { skip }, async (t) => {
  const gateway = await testGateway(t, {
    providers: { alpha: fail(400, {}, { code: 'odd' }), beta: answer() },
    config: TWO_TARGETS,
    options: { page: await pageFiles() },
  })
  await gateway.chat(ask('auto'))
  await gateway.chat(ask('beta/model-b'))
  const { page } = await openTab(t, `${gateway.url}/calls`)
  const input = page.getByLabel('Add a filter')
  await input.fill('nonsense')
  await input.press('Enter')
  await page.getByText('Write a name and a value, for example provider:groq').waitFor()
  await input.fill('colour:red')
  await input.press('Enter')
  await page.getByText('There is no filter "colour"').waitFor()
  for (const [typed, meant] of [
    ['provder:beta', 'provider:beta'],
    ['state:faild', 'state:failed'],
    ['status:eror', 'status:error'],
    ['fallbacks:som', 'fallbacks:some'],
  ] as const) {
    await input.fill(typed)
    await input.press('Enter')
    await page.getByText(`Did you mean ${meant}?`).waitFor()
    assert.equal(new URL(page.url()).search, '', typed)
  }
  await input.fill('error_code:odd')
  await input.press('Enter')
  await page.waitForURL(/error_code=odd/)
  await page.locator('tbody tr').nth(1).waitFor({ state: 'detached' })
  await page.locator('tbody tr').first().waitFor()
  assert.deepEqual(await page.locator('td[data-column=state]').allInnerTexts(), ['failed 400'])
})

test('a list with a mistake in its address shows no calls, and links to the corrected address', {
  skip,
}, async (t) => {
  const gateway = await testGateway(t, {
    providers: { alpha: answer(), beta: answer() },
    config: TWO_TARGETS,
    options: { page: await pageFiles() },
  })
  await gateway.chat(ask('alpha/model-a'))
  await gateway.chat(ask('beta/model-b'))
  for (const [address, text] of [
    ['provder=beta', 'There is no filter "provder".'],
    ['provider=beta&state=complete', '"complete" is not a value of state.'],
    ['provider=beta&since=yesterday', '"yesterday" is not a time.'],
  ] as const) {
    const { page } = await openTab(t, `${gateway.url}/calls`)
    await page.locator('tbody tr').nth(1).waitFor()
    await page.evaluate((to) => {
      history.pushState(null, '', to)
      dispatchEvent(new PopStateEvent('popstate'))
    }, `/calls?${address}`)
    const alert = page.getByRole('alert')
    await alert.getByText(text).waitFor()
    assert.equal(await page.locator('tbody tr').count(), 0, address)
    await alert.getByRole('link').first().click()
    await page.locator('tbody:not(:has-text("alpha"))').waitFor()
    assert.equal(await page.locator('tbody tr').count(), 1, address)
  }
})

test('a key can be used to sign in; a client sees only its own calls, and the page’s token cannot make calls (PAGE-03, PAGE-04)', {
  skip,
}, async (t) => {
  const gateway = await testGateway(t, {
    config: `routes: { auto: { targets: [ { model: alpha/model-a } ] } }${KEYS}`,
    options: { page: await pageFiles() },
  })
  await gateway.chat(ask('auto'), { ...as('ann'), 'x-session-id': 'of-ann' })
  await gateway.chat(ask('auto'), { ...as('boss'), 'x-session-id': 'of-boss' })
  const { page } = await openTab(t, `${gateway.url}/calls`)
  const field = page.getByLabel('Gateway key')
  await field.waitFor()
  const refused: string[] = []
  page.on('response', (response) => {
    if (response.status() === 401) refused.push(response.url())
  })
  await page.reload()
  await field.fill('wrong')
  await field.press('Enter')
  await page.getByRole('alert').getByText('Incorrect API key').waitFor()
  assert.equal(refused.length, 2, `one for the page and one for the key: ${refused}`)
  await field.fill('key-of-ann')
  await field.press('Enter')
  await page.locator('tbody tr').first().waitFor()
  assert.deepEqual(await page.locator('td[data-column=session_id]').allInnerTexts(), ['of-ann'])
  await gateway.chat(ask('auto'), { ...as('boss'), 'x-session-id': 'of-boss' })
  await gateway.chat(ask('auto'), { ...as('ann'), 'x-session-id': 'of-ann' })
  await page.locator('tbody tr').nth(1).waitFor()
  assert.deepEqual(await page.locator('td[data-column=session_id]').allInnerTexts(), ['of-ann', 'of-ann'])
  const kept = await page.evaluate(() =>
    JSON.stringify([{ ...sessionStorage }, { ...localStorage }, document.cookie]),
  )
  assert.ok(!kept.includes('key-of-ann'), 'the key is kept nowhere')
  const [token] = /wbp-[\w-]+/.exec(kept)!
  const before = gateway.received()
  const spent = await gateway.chat(ask('auto'), { authorization: `Bearer ${token}` })
  assert.equal(spent.status, 403)
  assert.equal(gateway.received(), before)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await field.waitFor()
  assert.equal(
    (await gateway.get('/api/keys/me', { headers: { authorization: `Bearer ${token}` } })).status,
    401,
  )
})

test('`waybill ui` signs in a page with a single-use code', { skip }, async (t) => {
  const gateway = await testGateway(t, {
    config: `routes: { auto: { targets: [ { model: alpha/model-a } ] } }${KEYS}`,
    options: { page: await pageFiles() },
  })
  await gateway.chat(ask('auto'), as('ann'))
  const { json } = await gateway.get('/page/code', { method: 'POST', headers: as('boss') })
  const address = `${gateway.url}/calls#code=${json.token}`
  const { page } = await openTab(t, address)
  await page.locator('tbody tr').first().waitFor()
  assert.equal(page.url(), `${gateway.url}/calls`, 'the code is not left in the address')
  const { page: again } = await openTab(t, address)
  await again.getByText('This link has already been used').waitFor()
})

test('names, errors and sessions that contain markup are shown as text (PAGE-02)', { skip }, async (t) => {
  const hostile = '<img src=x onerror=alert(1)>"\'\u202e{{1}}'
  const gateway = await testGateway(t, {
    providers: { alpha: fail(400, {}, { code: hostile, message: hostile }) },
    options: { page: await pageFiles() },
  })
  const session = '<script>alert(2)</script>'
  await gateway.chat(ask(`alpha/${hostile}`), { 'x-session-id': session, 'x-claude-code-agent-id': session })
  const { page } = await openTab(
    t,
    `${gateway.url}/calls?columns=created_at,requested_model,resolved_model,error_code,session_id,agent_id`,
  )
  await page.locator('tbody tr').first().waitFor()
  assert.equal(await page.locator('td[data-column=resolved_model]').innerText(), hostile)
  assert.equal(await page.locator('td[data-column=agent_id]').innerText(), session)
  assert.equal(await page.locator('main img, main script').count(), 0)
})

test('a page that missed changes reads the list again (PAGE-05)', { skip }, async (t) => {
  const gateway = await testGateway(t, { options: { page: await pageFiles() } })
  await gateway.chat(ask('auto'))
  const { page } = await openTab(t, `${gateway.url}/health`)
  let tell = () => {}
  const told = new Promise<void>((resolve) => {
    tell = resolve
  })
  let asked = 0
  // The feed only reports that something was lost. The next feed never begins.
  await page.route('**/api/usage/live', async (route) => {
    if (++asked > 1) return
    await told
    await route.fulfill({ contentType: 'text/event-stream', body: 'event: lost\ndata: {}\n\n' })
  })
  await page.goto(`${gateway.url}/calls`)
  await page.locator('tbody tr').first().waitFor()
  await gateway.chat(ask('auto'))
  assert.equal(await page.locator('tbody tr').count(), 1)
  tell()
  await page.locator('tbody tr').nth(1).waitFor()
})

/** A tab that treats the gateway as one of two that share a log. */
async function tabOfFleet(t: TestContext, gateway: TestGateway, shared_log: 'ready' | 'unavailable') {
  const { page } = await openTab(t, `${gateway.url}/health`)
  const ready = (await gateway.get('/readyz')).json
  const fleet = { instance: 'gateway-1', instances: 2, backlog: 0, shared_log }
  await page.route('**/readyz', (route) => route.fulfill({ json: { ...ready, fleet } }))
  return page
}

test('in a fleet, the page says that other gateways share the log, and reads it again to show their calls', {
  skip,
}, async (t) => {
  const gateway = await testGateway(t, { options: { page: await pageFiles() } })
  await gateway.chat(ask('auto'))
  const page = await tabOfFleet(t, gateway, 'ready')
  await page.route('**/api/usage/live', () => {}) // no events come from the other gateways
  await page.goto(`${gateway.url}/calls`)
  await page.getByText('gateway-1, one of 2').waitFor()
  await page.locator('tbody tr').first().waitFor()
  await gateway.chat(ask('auto'))
  await page.locator('tbody tr').nth(1).waitFor()
})

test('an unknown cost is not shown as $0', { skip }, async (t) => {
  const gateway = await testGateway(t, { options: { page: await pageFiles() } })
  await gateway.chat(ask('auto'))
  const { page } = await openTab(t, gateway.url)
  const cost = page.locator('dl.figures > div', { has: page.getByText('Cost', { exact: true }) })
  await cost.getByText('1 call not fully known').waitFor()
  assert.doesNotMatch(await cost.innerText(), /\$0/)
})

test('while the shared log is unavailable, this gateway’s own record can be opened', {
  skip,
}, async (t) => {
  const gateway = await testGateway(t, { options: { page: await pageFiles() } })
  await gateway.chat(ask('auto'))
  const page = await tabOfFleet(t, gateway, 'unavailable')
  const error = { message: 'The shared log cannot be read.' }
  await page.route(/\/api\/(usage|sessions)(?!.*scope=instance)/, (route) =>
    route.fulfill({ status: 503, json: { error } }),
  )
  await page.goto(`${gateway.url}/calls`)
  await page.getByText(error.message).waitFor()
  await page.getByRole('link', { name: 'show this one only' }).click()
  await page.locator('tbody tr').first().waitFor()
  assert.equal(await page.getByText(error.message).count(), 0)
  await page.getByRole('link', { name: 'Sessions' }).click()
  assert.match(page.url(), /\/sessions\?scope=instance$/)
  await page.getByText('No call on record named a session').waitFor()
  await page.getByRole('link', { name: 'show all gateways' }).click()
  await page.getByText(error.message).waitFor()
})
