// Real traffic of embeddings and images, recorded by other projects, served by a stand-in through the gateway: what the
// client gets and what is recorded must be what the provider sent. The captures are optional and are read where they lie.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Interaction } from '../mocks/import/interaction.ts'
import { capturedCalls, withoutCaptures } from '../mocks/import/test-captures.ts'
import { IS_FULL } from '../mocks/test-size.ts'
import { testGateway } from './test-gateway.ts'

const KINDS = { embeddings: /\/embeddings(\?.*)?$/, 'images/generations': /\/images\/generations(\?.*)?$/ }

test('every real capture of embeddings and images passes through with its bytes and its usage', {
  skip: withoutCaptures,
}, async (t) => {
  const gateway = await testGateway(t, { config: 'resilience: { retries: 0 }' })
  for (const [kind, path] of Object.entries(KINDS)) {
    const found = capturedCalls(path)
    const differing: string[] = []
    for (const { name, interaction } of found) {
      const { model = 'deployment', ...request } = JSON.parse(interaction.requestBody ?? '{}')
      gateway.upstream.alpha!.script = (response) =>
        response
          .writeHead(interaction.status, {
            'content-type': interaction.responseHeaders['content-type'] ?? 'application/json',
          })
          .end(interaction.responseBody)
      const answer = await gateway.get(`/v1/${kind}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: `alpha/${model}`, ...request }),
      })
      assert.deepEqual(gateway.upstream.alpha!.ledger.at(-1)!.json, { model, ...request }, name)
      const record = await gateway.record(answer.headers.get('x-gateway-request-id'))
      const problem = compare(interaction, answer.status, answer.text, record)
      if (problem) differing.push(`${name}: ${problem}`)
    }
    t.diagnostic(`${kind}: ${found.length - differing.length} of ${found.length} agree`)
    assert.deepEqual(differing, [])
    assert.ok(found.length > 0 || !IS_FULL, `no capture of ${kind}`)
  }
})

/** Says in what the gateway's answer or record differs from the capture; null where it does not. */
function compare(interaction: Interaction, status: number, text: string, record: any): string | null {
  const sent = interaction.responseBody.toString('utf8')
  if (status !== interaction.status) return `status ${status}: ${text.slice(0, 200)}`
  if (text !== sent) return `the bytes differ: ${text.slice(0, 200)}`
  if (status >= 400) return null
  if (record.state !== 'completed') return `the record says ${record.state} (${record.error_code})`
  const { usage } = JSON.parse(sent)
  const reported = usage?.input_tokens ?? usage?.prompt_tokens ?? null
  return record.tokens.input === reported ? null : `${record.tokens.input} tokens, reported ${reported}`
}
