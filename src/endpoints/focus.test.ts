// The export in the form of FOCUS: a row for each charge, with the columns and values that the specification requires.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answer, fail } from '../../mocks/test-upstream.ts'
import { ask, testGateway } from '../test/test-gateway.ts'
import { isCharge } from './export.ts'

/** Columns that FOCUS 1.2 requires of every file. */
const REQUIRED = [
  ...['BilledCost', 'BillingAccountId', 'BillingAccountName', 'BillingCurrency', 'BillingPeriodEnd'],
  ...['BillingPeriodStart', 'ChargeCategory', 'ChargeClass', 'ChargeDescription', 'ChargePeriodEnd'],
  ...['ChargePeriodStart', 'ContractedCost', 'EffectiveCost', 'InvoiceIssuerName', 'ListCost'],
  ...['PricingQuantity', 'PricingUnit', 'ProviderName', 'PublisherName', 'ServiceCategory', 'ServiceName'],
]

test('the export as FOCUS has a row for each call of known cost, and the sum of the costs on record', async (t) => {
  const gateway = await testGateway(t, {
    providers: { alpha: answer(), beta: answer() },
    config: `
models: { alpha/model-a: { price: { input: 3, output: 15 } }, beta/model-b: { price: { input: 1, output: 2 } } }
routes: { auto: { targets: [ { model: alpha/model-a }, { model: beta/model-b } ] } }`,
  })
  for (let n = 0; n < 3; n++) await gateway.chat(ask('auto'), { 'x-session-id': 'a "b", c' })
  gateway.upstream.alpha!.script = fail(500)
  await gateway.chat(ask('auto'))
  gateway.upstream.alpha!.script = answer()
  await gateway.chat(ask('alpha/unpriced'))
  const { text, headers, status } = await gateway.get('/api/usage/export?form=focus')
  assert.equal(status, 200)
  assert.equal(headers.get('content-disposition'), 'attachment; filename="focus.csv"')
  const [head, ...lines] = text.trimEnd().split('\r\n')
  const names = head!.split(',')
  assert.deepEqual(
    REQUIRED.filter((name) => !names.includes(name)),
    [],
  )
  assert.ok(names.filter((name) => name.startsWith('x_')).length >= 3)
  assert.equal(lines.length, 4)
  const { totals } = (await gateway.get('/api/usage/history')).json
  const sum = lines.reduce((all, line) => all + Number(line.split(',')[0]), 0)
  assert.ok(Math.abs(sum - totals.cost_usd) < 1e-9)
  for (const line of lines) {
    assert.match(line, /,USD,\d{4}-\d\d-01T00:00:00Z,\d{4}-\d\d-01T00:00:00Z,Usage,,/)
    assert.match(line, /,27\.0,Tokens,/)
    assert.match(line, /,AI and Machine Learning,model-[ab],Generative AI,,,"\{""waybill\/route""/)
  }
  assert.ok(lines.some((line) => line.includes('""waybill/session"":""a \\""b\\"", c""')))
  assert.equal((await gateway.get('/api/usage/export?form=focus&columns=id')).status, 400)
  const [call] = (await gateway.get('/api/usage/request-logs?model=model-a')).json.data
  assert.deepEqual([isCharge(call), isCharge({ ...call, replayed: true })], [true, false])
})
