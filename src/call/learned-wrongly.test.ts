// An outdated learned refusal: the provider now accepts the parameter. The gateway forgets the refusal by
// `waybill models forget` or after seven days.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { answer } from '../../mocks/test-upstream.ts'
import { SYSTEM_CLOCK } from '../shared/clock.ts'
import { dated } from '../shared/test-clock.ts'
import { runCli } from '../test/test-cli.ts'
import { ask, temporaryDirectory, testGateway } from '../test/test-gateway.ts'

const DAY_MS = 24 * 3_600_000
/** Slightly more than the interval at which a gateway re-reads its learned refusals. */
const NOTICED_MS = 1_100

/** Starts a gateway with a learned refusal that no longer holds. */
async function start(t: TestContext) {
  let days = 0
  let refuses = true
  const gateway = await testGateway(t, {
    providers: {
      alpha: (response, received) => {
        if (!refuses || (received.json as any).temperature === undefined) answer()(response, received)
        else
          response
            .writeHead(400, { 'content-type': 'application/json' })
            .end('{"error":{"message":"Unsupported parameter: \'temperature\'","param":"temperature"}}')
      },
    },
    config:
      'routes: { auto: { on_refused: adjust, targets: [ { model: alpha/m } ] } }\nresilience: { cooldown: 0s, retries: 0 }',
    clock: dated(() => SYSTEM_CLOCK.now() + days * DAY_MS),
  })
  const { ledger } = gateway.upstream.alpha!
  /**
   * Makes a call with a temperature. Returns the omitted parameters named in the answer, and the temperatures
   * that the provider received.
   */
  const call = async () => {
    const before = ledger.length
    const said = await gateway.chat(ask('auto', { temperature: 0.4 }))
    assert.equal(said.status, 200, said.text)
    return {
      adjusted: said.headers.get('x-gateway-adjusted'),
      sent: ledger.slice(before).map(({ json }) => (json as any).temperature as number | undefined),
    }
  }
  assert.deepEqual(await call(), { adjusted: 'temperature', sent: [0.4, undefined] })
  return {
    ...gateway,
    call,
    pass: (given: number) => {
      days += given
    },
    setRefuses: (given: boolean) => {
      refuses = given
    },
  }
}

test('until an outdated refusal is forgotten, the refused parameter is omitted without a second request, and named in the answer (FIT-03)', async (t) => {
  const { call, setRefuses, pass, get } = await start(t)
  setRefuses(false)
  for (const days of [0, 1, 5.9]) {
    pass(days)
    assert.deepEqual(await call(), { adjusted: 'temperature', sent: [undefined] })
  }
  const { data } = (await get('/api/models/refusals')).json
  const { learned_at, until, ...refusal } = data[0]
  const expected = { provider: 'alpha', model: 'm', parameter: 'temperature', value: null, replaced: false }
  assert.deepEqual([data.length, refusal], [1, expected])
  assert.equal(Date.parse(until) - Date.parse(learned_at), 7 * DAY_MS)
})

test('after seven days the parameter is tried again: it is sent if accepted, and learned again if refused', async (t) => {
  const { call, setRefuses, pass, get } = await start(t)
  pass(7)
  assert.deepEqual((await get('/api/models/refusals')).json, { data: [] })
  assert.deepEqual(await call(), { adjusted: 'temperature', sent: [0.4, undefined] }, 'it still refuses')
  pass(6)
  assert.deepEqual(await call(), { adjusted: 'temperature', sent: [undefined] }, 'for seven days more')
  setRefuses(false)
  pass(1)
  assert.deepEqual(await call(), { adjusted: null, sent: [0.4] })
  assert.deepEqual((await get('/api/models/refusals')).json, { data: [] })
})

test('after `waybill models forget`, a running gateway tries the parameter again', async (t) => {
  const { call, setRefuses, pass, data } = await start(t)
  setRefuses(false)
  const file = join(temporaryDirectory(t), 'waybill.yaml')
  writeFileSync(
    file,
    `data: "${data}"\nproviders: { alpha: { dialect: chat, base_url: "http://127.0.0.1:9/v1" } }\n`,
  )
  const forgot = await runCli(['models', 'forget', 'alpha/m', '--config', file])
  assert.equal(forgot.stdout, 'forgot that alpha/m refuses temperature\n', forgot.stderr)
  pass(NOTICED_MS / DAY_MS)
  assert.deepEqual(await call(), { adjusted: null, sent: [0.4] })
})
