// Lines of `waybill logs`: the requested model beside its target, and calls that name no model.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCallTable, type ShownCall } from './logs-table.ts'

const CALL: ShownCall = {
  ...{ id: '1', created_at: '2026-11-26T04:00:00.000Z', completed_at: '2026-11-26T04:00:01.000Z' },
  ...{ state: 'completed', method: 'GET', endpoint: '/v1/files/{id}', requested_model: '' },
  ...{ resolved_provider: 'openai', resolved_model: '', strategy: 'direct', session_id: null, status: 200 },
  ...{ error_code: null, fallbacks: 0, latency_ms: 9, tokens: { input: null, output: null }, cost_usd: 0 },
}

test('a call that names no model is shown with its endpoint, if known, and its provider', () => {
  const line = createCallTable(null, (_, text) => text).row(CALL)
  assert.match(line, /GET \/v1\/files\/\{id\} → openai {2}/)
  const { method: _, endpoint: __, ...older } = CALL // from an older gateway
  assert.match(createCallTable(null, (_, text) => text).row(older), / → openai {2}/)
})

test('the requested model is never dropped: without a terminal nothing is cut, in a narrow one it is shortened', () => {
  const routed = { ...CALL, endpoint: '/v1/chat/completions', resolved_provider: 'groq' }
  const row = (columns: number | null, more: Partial<ShownCall>) =>
    createCallTable(columns, (_, text) => text).row({ ...routed, ...more })
  const long = 'gemini-3.1-pro-preview-customtools'
  const model = 'openai/gpt-oss-120b'
  assert.match(
    row(null, { requested_model: long, resolved_model: model }),
    new RegExp(` ${long} → groq/${model} `),
  )
  const failed = { state: 'failed', status: 500, error_code: 'server_error', fallbacks: 1 }
  assert.match(
    row(null, { requested_model: 'auto', resolved_model: model, ...failed }),
    / auto → ↷ groq\/openai\/gpt-oss-120b: server_error /,
  )
  for (let columns = 20; columns <= 220; columns++) {
    assert.match(row(columns, { requested_model: long, resolved_model: model }), /gemini-.*→/)
    assert.match(row(columns, { requested_model: 'auto', resolved_model: model, ...failed }), /auto → /)
  }
})
