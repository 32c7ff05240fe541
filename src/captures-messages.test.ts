// Real traffic of Anthropic's messages, recorded by other projects, served by a stand-in through the gateway: what the
// client gets and what is recorded must be what the provider sent. The captures are optional and are read where they lie.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createParser } from 'eventsource-parser'
import type { Interaction } from '../mocks/import/interaction.ts'
import { atLeast, capturedCalls, withoutCaptures } from '../mocks/import/test-captures.ts'
import { testGateway } from './test-gateway.ts'

test('every real capture of Anthropic’s messages passes through with its events, its bytes and its usage', {
  skip: withoutCaptures,
  timeout: 120_000,
}, async (t) => {
  const gateway = await testGateway(t, {
    config: 'resilience: { retries: 0 }',
    apis: { alpha: ['messages'] },
  })
  const table = new Map<string, { run: number; agree: number }>()
  const differing: string[] = []
  let seen = 0

  for (const { name, interaction } of capturedCalls(/\/v1\/messages(\/count_tokens)?(\?.*)?$/)) {
    seen++
    const request = JSON.parse(interaction.requestBody ?? '{}')
    gateway.upstream.alpha!.script = (response) =>
      response
        .writeHead(interaction.status, {
          'content-type': interaction.responseHeaders['content-type'] ?? 'application/json',
        })
        .end(interaction.responseBody)
    const isCount = interaction.path.includes('count_tokens')
    const sent = { ...request, model: `alpha/${request.model}` }
    const answer = await gateway.get(`/v1/messages${isCount ? '/count_tokens' : ''}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(sent),
    })
    assert.deepEqual(gateway.upstream.alpha!.ledger.at(-1)!.json, request, `${name}: what was sent`)
    const record = isCount ? null : await gateway.record(answer.headers.get('x-gateway-request-id'))
    const problem = compare(interaction, answer.status, answer.text, record)
    const kind = isCount ? 'count_tokens' : request.stream ? 'streamed' : 'whole'
    const row = table.get(kind) ?? { run: 0, agree: 0 }
    table.set(kind, { run: row.run + 1, agree: row.agree + (problem ? 0 : 1) })
    if (problem) differing.push(`${name}: ${problem}`)
  }

  for (const [kind, { run, agree }] of table) t.diagnostic(`${kind}: ${agree} of ${run} agree`)
  t.diagnostic(`${seen} captures, ${seen - differing.length} agree`)
  assert.ok(seen > atLeast(100), `only ${seen} captures were found`)
  assert.deepEqual(differing, [])
})

/** Says in what the gateway's answer or record differs from the capture; null where it does not. */
function compare(interaction: Interaction, status: number, text: string, record: any): string | null {
  const sent = interaction.responseBody.toString('utf8')
  if (interaction.status === 401)
    return status === 502 && text.includes('refused the gateway') ? null : `a 401 became ${status}: ${text}`
  if (status !== interaction.status) return `status ${status}: ${text.slice(0, 200)}`
  if (text !== sent) return `the bytes differ: ${text.slice(0, 200)}`
  if (record === null || status >= 400) return null
  if (record.state !== 'completed') return `the record says ${record.state} (${record.error_code})`
  const usages = /^\s*\{/.test(sent) ? [JSON.parse(sent).usage] : usagesIn(sent)
  const told = (name: string) =>
    usages.map((usage) => usage?.[name]).findLast((count) => count != null) ?? null
  const [input, read, written] = [
    'input_tokens',
    'cache_read_input_tokens',
    'cache_creation_input_tokens',
  ].map(told)
  const reported = [
    input === null ? null : input + (read ?? 0) + (written ?? 0),
    told('output_tokens'),
    read,
    written,
  ]
  const { tokens } = record
  const got = [tokens.input, tokens.output, tokens.cached_input, tokens.cache_write]
  return JSON.stringify(got) === JSON.stringify(reported) ? null : `tokens ${got}, reported ${reported}`
}

/** Of the first event and of those at the end, in their order. */
function usagesIn(sse: string): any[] {
  const found: any[] = []
  const parser = createParser({
    onEvent({ data }) {
      const json = JSON.parse(data)
      found.push(json.message?.usage ?? json.usage)
    },
  })
  parser.feed(sse)
  return found.filter((usage) => usage != null)
}
