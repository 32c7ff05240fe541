// Real traffic of Gemini, recorded by other projects, served by a stand-in through the gateway: what the client gets and
// what is recorded must be what the provider sent. The captures are optional and are read where they lie.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createParser } from 'eventsource-parser'
import type { Interaction } from '../mocks/import/interaction.ts'
import { atLeast, capturedCalls, withoutCaptures } from '../mocks/import/test-captures.ts'
import { testGateway } from './test-gateway.ts'

test('every real capture of Gemini passes through with its events, its bytes and its usage', {
  skip: withoutCaptures,
  timeout: 120_000,
}, async (t) => {
  const gateway = await testGateway(t, {
    config: 'resilience: { retries: 0 }',
    apis: { alpha: ['gemini'] },
  })
  const table = new Map<string, { run: number; agree: number }>()
  const differing: string[] = []
  let seen = 0

  for (const { name, interaction } of capturedCalls(
    /\/models\/[^/]+:(generateContent|streamGenerateContent|countTokens)$/,
  )) {
    seen++
    const [, model, verb] = /\/models\/([^/]+):(\w+)$/.exec(interaction.path)!
    // The query is not recorded everywhere; only `alt=sse` makes events.
    const query = interaction.responseHeaders['content-type']?.startsWith('text/event-stream')
      ? '?alt=sse'
      : ''
    gateway.upstream.alpha!.script = (response) =>
      response
        .writeHead(interaction.status, {
          'content-type': interaction.responseHeaders['content-type'] ?? 'application/json',
        })
        .end(interaction.responseBody)
    const answer = await gateway.get(`/v1beta/models/alpha/${model}:${verb}${query}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: interaction.requestBody ?? '{}',
    })
    const received = gateway.upstream.alpha!.ledger.at(-1)!
    assert.equal(received.text, interaction.requestBody, `${name}: what was sent`)
    assert.ok(received.path.includes(`/models/${model}:${verb}`), `${name}: ${received.path}`)
    const record =
      verb === 'countTokens' ? null : await gateway.record(answer.headers.get('x-gateway-request-id'))
    const problem = compare(interaction, answer.status, answer.text, record)
    const row = table.get(verb!) ?? { run: 0, agree: 0 }
    table.set(verb!, { run: row.run + 1, agree: row.agree + (problem ? 0 : 1) })
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
  if (sent.includes('API_KEY_INVALID'))
    return status === 502 && text.includes('refused the gateway') ? null : `a wrong key became ${status}`
  if (status !== interaction.status) return `status ${status}: ${text.slice(0, 200)}`
  if (text !== sent) return `the bytes differ: ${text.slice(0, 200)}`
  if (record === null || status >= 400) return null
  if (record.state !== 'completed') return `the record says ${record.state} (${record.error_code})`
  const usages = usagesIn(sent)
  const told = (name: string): number | null =>
    usages.map((usage) => usage[name]).findLast((count) => count != null) ?? null
  const written = [told('candidatesTokenCount'), told('thoughtsTokenCount')]
  const [input, total] = [told('promptTokenCount'), told('totalTokenCount')]
  const reported = [
    input === null ? null : input + (told('toolUsePromptTokenCount') ?? 0),
    written.some((count) => count !== null)
      ? (written[0] ?? 0) + (written[1] ?? 0)
      : total === null || input === null
        ? null
        : total - input,
    told('cachedContentTokenCount'),
    written[1],
  ]
  const { tokens } = record
  const got = [tokens.input, tokens.output, tokens.cached_input, tokens.reasoning]
  return JSON.stringify(got) === JSON.stringify(reported) ? null : `tokens ${got}, reported ${reported}`
}

/** Of a whole answer, or of the events of a stream, in their order. */
function usagesIn(body: string): any[] {
  const found: any[] = []
  if (/^\s*[[{]/.test(body)) found.push(...[JSON.parse(body)].flat())
  else createParser({ onEvent: ({ data }) => found.push(JSON.parse(data)) }).feed(body)
  return found.flatMap(({ usageMetadata }) => usageMetadata ?? [])
}
