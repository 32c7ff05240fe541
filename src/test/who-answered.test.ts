import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testGateway } from './test-gateway.ts'
import { OTHER_MODEL_DIALECTS, OTHER_MODEL_PRICES, OTHER_MODEL_ROWS } from './test-other-models.ts'
import { usageFailures } from './test-usage-calls.ts'
import { answering } from './test-usage-provider.ts'

test(`${OTHER_MODEL_ROWS.length} calls, whole and streamed, native and translated, cost what the model costs that answered`, async (t) => {
  const rows = new Map(OTHER_MODEL_ROWS.map((row) => [row.name, row]))
  assert.equal(rows.size, OTHER_MODEL_ROWS.length)
  const names = Object.keys(OTHER_MODEL_DIALECTS)
  const { url } = await testGateway(t, {
    providers: Object.fromEntries(names.map((name) => [name, answering(rows)])),
    dialects: Object.fromEntries(names.map((name) => [name, [OTHER_MODEL_DIALECTS[name]!]])),
    config: OTHER_MODEL_PRICES,
  })
  const { asked, failures } = await usageFailures(url, OTHER_MODEL_ROWS, OTHER_MODEL_DIALECTS)
  assert.equal(asked, 4 * OTHER_MODEL_ROWS.length)
  assert.deepEqual(failures, [])
})
