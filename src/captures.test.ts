// Real provider traffic, recorded by other projects, served by a stand-in through the gateway: what the client gets
// and what is recorded must be what the provider sent. The captures are optional and are read where they lie.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createParser } from 'eventsource-parser'
import type { Interaction } from '../mocks/import/interaction.ts'
import { atLeast, capturedCalls, withoutCaptures } from '../mocks/import/test-captures.ts'
import { testGateway } from './test-gateway.ts'

interface Capture {
  readonly name: string
  readonly host: string
  readonly interaction: Interaction
  readonly request: Record<string, any>
}

test('every real capture of the OpenAI chat dialect passes through with its events, its bytes and its usage', {
  skip: withoutCaptures,
  timeout: 120_000,
}, async (t) => {
  const all = findCaptures()
  const gateway = await testGateway(t, { config: 'resilience: { retries: 0 }' })
  const table = new Map<string, { run: number; agree: number }>()
  const differing: string[] = []

  for (const capture of all) {
    const { interaction, request } = capture
    gateway.upstream.alpha!.script = (response) =>
      response
        .writeHead(interaction.status, {
          'content-type': interaction.responseHeaders['content-type'] ?? 'application/json',
        })
        .end(interaction.responseBody)
    const answer = await gateway.chat({ ...request, model: `alpha/${request.model}` })
    const record = await gateway.record(answer.headers.get('x-gateway-request-id'))
    const problem = compare(capture, answer.status, answer.text, record)
    const row = table.get(capture.host) ?? { run: 0, agree: 0 }
    table.set(capture.host, { run: row.run + 1, agree: row.agree + (problem ? 0 : 1) })
    if (problem) differing.push(`${capture.name}: ${problem}`)
  }

  for (const [host, { run, agree }] of table) t.diagnostic(`${host}: ${agree} of ${run} agree`)
  t.diagnostic(`${all.length} captures, ${all.length - differing.length} agree`)
  assert.ok(all.length > atLeast(300), `only ${all.length} captures were found`)
  assert.deepEqual(differing, [])
})

const findCaptures = (): Capture[] =>
  capturedCalls(/\/chat\/completions$/).map(({ name, interaction }) => ({
    name,
    host: interaction.host,
    interaction,
    request: { model: 'deployment', ...JSON.parse(interaction.requestBody ?? '{}') },
  }))

/** Says in what the gateway's answer or record differs from the capture; null where it does not. */
function compare(
  { interaction, request }: Capture,
  status: number,
  text: string,
  record: any,
): string | null {
  const sent = interaction.responseBody.toString('utf8')
  if (interaction.status === 401)
    return status === 502 && /upstream_refused/.test(text) ? null : `a 401 became ${status}: ${text}`
  if (status !== interaction.status) return `status ${status}: ${text.slice(0, 200)}`
  const asked = request.stream_options?.include_usage === true
  const expected = request.stream && status === 200 ? relayed(sent, asked) : sent
  const isError = status >= 400
  if (isError ? !text.includes(messageOf(sent)) : text !== expected)
    return `the bytes differ: ${text.slice(0, 200)}`
  if (!isError && record.state !== 'completed')
    return `the record says ${record.state} (${record.error_code})`
  const usage = usageOf(sent)
  const { input, output, cached_input, reasoning } = record.tokens
  const got = [input, output, cached_input, reasoning]
  const reported = [
    usage?.prompt_tokens,
    usage?.completion_tokens,
    usage?.prompt_tokens_details?.cached_tokens ?? usage?.prompt_cache_hit_tokens,
    usage?.completion_tokens_details?.reasoning_tokens,
  ].map((count) => count ?? null)
  return JSON.stringify(got) === JSON.stringify(reported) ? null : `tokens ${got}, reported ${reported}`
}

/** What should reach the client of a stream: everything, but for a usage event that it did not ask for. */
function relayed(sse: string, asked: boolean): string {
  if (asked) return sse
  return sse
    .split(/(?<=\r?\n\r?\n)/)
    .filter((block) => {
      const data = dataOf(block).map(parse)
      return !data.some((json) => json?.choices?.length === 0 && json.usage)
    })
    .join('')
}

const usageOf = (body: string): any =>
  /^\s*[{[]/.test(body)
    ? parse(body)?.usage
    : dataOf(body)
        .map(parse)
        .findLast((json) => json?.usage ?? json?.x_groq?.usage)?.usage

function dataOf(sse: string): string[] {
  const data: string[] = []
  const parser = createParser({ onEvent: (message) => data.push(message.data) })
  parser.feed(sse)
  return data
}

const messageOf = (body: string): string => {
  const json = parse(body)
  return JSON.stringify(json?.error?.message ?? json?.error ?? json?.detail ?? body).slice(1, -1)
}

function parse(text: string): any {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
