// Makes the calls of usage rows through a gateway, whole and streamed, native and translated, and compares the record of
// each call with its row.
import { until } from './test-until.ts'
import type { UsageRow } from './test-usages.ts'

/** Returns the path and the body of a call in a dialect. */
function callIn(
  dialect: string,
  model: string,
  text: string,
  stream: boolean,
  more: object,
): [path: string, body: object] {
  const messages = [{ role: 'user', content: text }]
  if (dialect === 'messages') return ['/v1/messages', { model, max_tokens: 100, messages, stream, ...more }]
  if (dialect === 'chat')
    return [
      '/v1/chat/completions',
      { model, messages, stream, ...(stream && { stream_options: { include_usage: true } }), ...more },
    ]
  if (dialect === 'interactions') return ['/v1beta/interactions', { model, input: text, stream, ...more }]
  if (dialect === 'responses') return ['/v1/responses', { model, input: text, stream, ...more }]
  const method = stream ? 'streamGenerateContent?alt=sse' : 'generateContent'
  return [`/v1beta/models/${model}:${method}`, { contents: [{ role: 'user', parts: [{ text }] }], ...more }]
}

const at = (record: unknown, path: string): unknown =>
  path.split('.').reduce((value: any, name) => value?.[name], record)

/** Makes four calls for each row. Returns what is wrong with their records. */
export async function usageFailures(
  url: string,
  rows: readonly UsageRow[],
  dialects: Readonly<Record<string, string>>,
): Promise<{ readonly asked: number; readonly failures: readonly string[] }> {
  const failures: string[] = []
  let asked = 0
  const check = async (row: UsageRow, dialect: string, stream: boolean, more: object) => {
    const where = `${row.name}, ${dialect}, ${stream ? 'streamed' : 'whole'}`
    const [path, body] = callIn(dialect, `${row.provider}/${row.model}`, `<${row.name}>`, stream, more)
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
  for (const row of rows) {
    const own = dialects[row.provider]!
    const other = own === 'messages' ? 'chat' : 'messages'
    await Promise.all(
      [own, other].flatMap((dialect) =>
        [false, true].map((stream) =>
          check(row, dialect, stream, dialect === own ? (row.request ?? {}) : {}),
        ),
      ),
    )
  }
  return { asked, failures }
}
