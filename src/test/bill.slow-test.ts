// The record equals the bill. Sends usages of every dialect through a gateway process, whole and streamed,
// native and translated. Compares the recorded costs with independently computed costs.

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startMockServer } from '../../mocks/test-upstream.ts'
import { startServer } from './test-cli.ts'
import { temporaryDirectory } from './test-gateway.ts'
import { until } from './test-until.ts'
import { answering } from './test-usage-provider.ts'
import { USAGE_ROWS, type UsageRow } from './test-usages.ts'

const DIALECTS: Readonly<Record<UsageRow['provider'], string>> = {
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

/** Returns the path and the body of a call in a dialect. */
function callIn(dialect: string, model: string, text: string, stream: boolean): [path: string, body: object] {
  const messages = [{ role: 'user', content: text }]
  if (dialect === 'messages') return ['/v1/messages', { model, max_tokens: 100, messages, stream }]
  if (dialect === 'chat')
    return [
      '/v1/chat/completions',
      { model, messages, stream, ...(stream && { stream_options: { include_usage: true } }) },
    ]
  if (dialect === 'responses') return ['/v1/responses', { model, input: text, stream }]
  const method = stream ? 'streamGenerateContent?alt=sse' : 'generateContent'
  return [`/v1beta/models/${model}:${method}`, { contents: [{ role: 'user', parts: [{ text }] }] }]
}

const at = (record: unknown, path: string): unknown =>
  path.split('.').reduce((value: any, name) => value?.[name], record)

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

  const failures: string[] = []
  let asked = 0
  const check = async (row: UsageRow, dialect: string, stream: boolean) => {
    const where = `${row.name}, ${dialect}, ${stream ? 'streamed' : 'whole'}`
    const [path, body] = callIn(dialect, `${row.provider}/${row.model}`, `<${row.name}>`, stream)
    const response = await fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const answer = await response.text()
    asked++
    const id = response.headers.get('x-gateway-request-id')
    const record: any = await until(`the record of ${where} is closed`, async () => {
      const json: any = await (await fetch(`${url}/api/usage/request-logs/${id}`)).json()
      return json.completed_at && json
    })
    const wrong = (what: string, found: unknown, wanted: unknown) =>
      failures.push(`${where}: ${what} is ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`)
    if (response.status !== 200) wrong('status', `${response.status} ${answer.slice(0, 200)}`, 200)
    const { cost_usd: usd } = record
    const isEqual = row.usd === null ? usd === null : usd !== null && Math.abs(usd - row.usd) < 1e-9
    if (!isEqual) wrong('cost_usd', usd, row.usd)
    const wanted = { cost_missing: row.missing ?? [], ...row.record }
    for (const [name, value] of Object.entries(wanted)) {
      const found = at(record, name)
      if (JSON.stringify(found ?? null) !== JSON.stringify(value ?? null)) wrong(name, found, value)
    }
  }
  for (const row of USAGE_ROWS) {
    const own = DIALECTS[row.provider]
    const other = own === 'messages' ? 'chat' : 'messages'
    await Promise.all(
      [own, other].flatMap((dialect) => [false, true].map((stream) => check(row, dialect, stream))),
    )
  }
  t.diagnostic(`${asked} calls`)
  assert.equal(asked, 4 * USAGE_ROWS.length)
  assert.deepEqual(failures, [])
})
