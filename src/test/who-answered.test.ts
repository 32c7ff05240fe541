import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SILENT } from '../core/process-log.ts'
import { dated } from '../shared/test-clock.ts'
import { testGateway } from './test-gateway.ts'
import { INTERACTION_ROWS } from './test-interaction-usages.ts'
import { OTHER_MODEL_DIALECTS, OTHER_MODEL_PRICES, OTHER_MODEL_ROWS } from './test-other-models.ts'
import { usageFailures } from './test-usage-calls.ts'
import { answering } from './test-usage-provider.ts'

for (const [what, list, dialects, config] of [
  ['calls that another model may answer', OTHER_MODEL_ROWS, OTHER_MODEL_DIALECTS, OTHER_MODEL_PRICES],
  ['interactions', INTERACTION_ROWS, { gemini: 'interactions' }, ''],
] as const)
  test(`${list.length} ${what}, whole and streamed, native and translated, have the tokens and the cost of who answered`, async (t) => {
    const rows = new Map(list.map((row) => [row.name, row]))
    assert.equal(rows.size, list.length)
    assert.ok(rows.size >= 60)
    const names = Object.keys(dialects)
    const { url } = await testGateway(t, {
      providers: Object.fromEntries(names.map((name) => [name, answering(rows)])),
      dialects: Object.fromEntries(Object.entries(dialects).map(([name, dialect]) => [name, [dialect]])),
      config,
      clock: dated(() => Date.UTC(2026, 10, 28, 12)), // prices change
    })
    const { asked, failures } = await usageFailures(url, list, dialects)
    assert.equal(asked, 4 * list.length)
    assert.deepEqual(failures, [])
  })

test('lists, sessions, the status line and the log name the model that answered if it is another one', async (t) => {
  const opus = OTHER_MODEL_ROWS.find(({ record }) => record?.['price.model'] === 'anthropic/claude-opus-5.5')!
  const lines: Record<string, unknown>[] = []
  const gateway = await testGateway(t, {
    providers: { openrouter: answering(new Map([[opus.name, opus]])) },
    config: '',
    options: { log: { ...SILENT, info: (fields) => void lines.push(fields as Record<string, unknown>) } },
  })
  const asked = { model: `openrouter/${opus.model}`, messages: [{ role: 'user', content: `<${opus.name}>` }] }
  const { headers } = await gateway.chat(asked, { 'x-session-id': 's-1' })
  assert.equal(headers.get('x-gateway-response-model'), opus.served)
  const { id } = await gateway.record(headers.get('x-gateway-request-id'))
  const ids = async (name: string) =>
    (await gateway.get(`/api/usage/request-logs?answered=${encodeURIComponent(name)}`)).json.data.map(
      (call: { id: string }) => call.id,
    )
  assert.deepEqual([await ids(opus.served!), await ids(opus.model)], [[id], []])
  const { json: session } = await gateway.get('/api/sessions/s-1')
  assert.deepEqual(
    session.by_model.map(({ model, answered }: Record<string, string>) => [model, answered]),
    [[opus.model, opus.served]],
  )
  const { json: history } = await gateway.get('/api/usage/history?window=24h&bucket=all&by=answered')
  assert.deepEqual(
    history.buckets.map(({ by, calls }: Record<string, unknown>) => [by, calls]),
    [[opus.served, 1]],
  )
  const { text } = await gateway.get('/api/statusline?session_id=s-1&columns=300')
  assert.match(text, /openrouter\/deepseek\/deepseek-v4-flash → anthropic\/claude-opus-5-5/)
  assert.equal(lines.find((line) => line.id === id)?.response_model, opus.served)
})
