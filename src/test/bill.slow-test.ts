// The record equals the bill. Sends usages of every dialect through a gateway process, whole and streamed,
// native and translated. Compares the recorded costs with independently computed costs.

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startMockServer } from '../../mocks/test-upstream.ts'
import { startServer } from './test-cli.ts'
import { temporaryDirectory } from './test-gateway.ts'
import { usageFailures } from './test-usage-calls.ts'
import { answering } from './test-usage-provider.ts'
import { USAGE_ROWS } from './test-usages.ts'

const DIALECTS: Readonly<Record<string, string>> = {
  anthropic: 'messages',
  openai: 'chat',
  'openai-responses': 'responses',
  gemini: 'gemini',
  xai: 'chat',
  openrouter: 'chat',
  deepseek: 'chat',
  groq: 'chat',
  mistral: 'chat',
}

test(`${USAGE_ROWS.length} kinds of usage, whole and streamed, native and translated, are recorded with the billed cost`, async (t) => {
  const directory = temporaryDirectory(t)
  const rows = new Map(USAGE_ROWS.map((row) => [row.name, row]))
  assert.ok(rows.size >= 60 && rows.size === USAGE_ROWS.length)
  const mock = await startMockServer(answering(rows))
  t.after(() => mock.close())
  const base = mock.baseUrl.replace('/v1', '')
  const providers = Object.entries(DIALECTS).map(
    ([name, dialect]) => `  ${name}: { dialect: ${dialect}, base_url: "${base}" }`,
  )
  const file = join(directory, 'waybill.yaml')
  writeFileSync(file, `server: { port: 0 }\ndata: ${directory}\nproviders:\n${providers.join('\n')}\n`)
  const { url } = await startServer(t, ['serve', '--config', file])

  const { asked, failures } = await usageFailures(url, USAGE_ROWS, DIALECTS)
  t.diagnostic(`${asked} calls`)
  assert.equal(asked, 4 * USAGE_ROWS.length)
  assert.deepEqual(failures, [])
})
