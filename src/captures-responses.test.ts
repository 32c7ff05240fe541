// Real traffic of OpenAI’s responses, recorded by other projects, served by a stand-in through the gateway: what the
// client gets and what is recorded must be what the provider sent. The captures are optional and are read where they lie.
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createParser } from 'eventsource-parser'
import type { Interaction } from '../mocks/import/interaction.ts'
import { exchangesOf } from '../mocks/import/read.ts'
import { testGateway } from './test-gateway.ts'

const captures =
  process.env.WAYBILL_CASSETTES ?? fileURLToPath(new URL('../../shared/cassettes', import.meta.url))

test('every real capture of OpenAI’s responses passes through with its events, its bytes and its usage', {
  skip: existsSync(captures)
    ? false
    : `no optional captures in ${captures}; WAYBILL_CASSETTES names another place`,
  timeout: 120_000,
}, async (t) => {
  const gateway = await testGateway(t, {
    config: 'resilience: { retries: 0 }',
    apis: { alpha: ['responses'] },
  })
  const table = new Map<string, { run: number; agree: number }>()
  const differing: string[] = []
  let seen = 0

  for (const { name, interaction } of findCaptures()) {
    seen++
    const request = JSON.parse(interaction.requestBody ?? '{}')
    gateway.upstream.alpha!.script = (response) =>
      response
        .writeHead(interaction.status, {
          'content-type': interaction.responseHeaders['content-type'] ?? 'application/json',
        })
        .end(interaction.responseBody)
    const sent = { ...request, model: `alpha/${request.model}` }
    const answer = await gateway.get('/v1/responses', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(sent),
    })
    assert.deepEqual(gateway.upstream.alpha!.ledger.at(-1)!.json, request, `${name}: what was sent`)
    const record = await gateway.record(answer.headers.get('x-gateway-request-id'))
    const problem = compare(interaction, answer.status, answer.text, record)
    const kind = request.stream ? 'streamed' : 'whole'
    const row = table.get(kind) ?? { run: 0, agree: 0 }
    table.set(kind, { run: row.run + 1, agree: row.agree + (problem ? 0 : 1) })
    if (problem) differing.push(`${name}: ${problem}`)
  }

  for (const [kind, { run, agree }] of table) t.diagnostic(`${kind}: ${agree} of ${run} agree`)
  t.diagnostic(`${seen} captures, ${seen - differing.length} agree`)
  assert.ok(seen > 100, `only ${seen} captures were found`)
  assert.deepEqual(differing, [])
})

function findCaptures(): { name: string; interaction: Interaction }[] {
  return readdirSync(captures, { recursive: true, encoding: 'utf8' })
    .sort()
    .filter((file) => /\.(ya?ml|har)$/.test(file))
    .flatMap((file) =>
      exchangesOf(file, readFileSync(join(captures, file), 'utf8')).map((interaction, index) => ({
        name: `${file}#${index + 1}`,
        interaction,
      })),
    )
    .filter(
      ({ interaction: { method, path } }) =>
        method.toUpperCase() === 'POST' && /\/responses(\?.*)?$/.test(path),
    )
}

/** Says in what the gateway's answer or record differs from the capture; null where it does not. */
function compare(interaction: Interaction, status: number, text: string, record: any): string | null {
  const sent = interaction.responseBody.toString('utf8')
  if (interaction.status === 401)
    return status === 502 && text.includes('refused the gateway') ? null : `a 401 became ${status}: ${text}`
  if (status !== interaction.status) return `status ${status}: ${text.slice(0, 200)}`
  if (text !== sent) return `the bytes differ: ${text.slice(0, 200)}`
  if (status >= 400) return null
  if (record.state !== 'completed') return `the record says ${record.state} (${record.error_code})`
  const { usage } = /^\s*\{/.test(sent) ? JSON.parse(sent) : lastResponse(sent)
  const reported = [
    usage?.input_tokens,
    usage?.output_tokens,
    usage?.input_tokens_details?.cached_tokens,
    usage?.output_tokens_details?.reasoning_tokens,
  ].map((count) => count ?? null)
  const { tokens } = record
  const got = [tokens.input, tokens.output, tokens.cached_input, tokens.reasoning]
  return JSON.stringify(got) === JSON.stringify(reported) ? null : `tokens ${got}, reported ${reported}`
}

/** The response that the last event carries, whatever comes after it. */
function lastResponse(sse: string): any {
  const found: any[] = []
  const parser = createParser({
    onEvent({ data }) {
      if (data !== '[DONE]') found.push(JSON.parse(data).response)
    },
  })
  parser.feed(sse)
  return found.findLast((response) => response !== undefined)
}
