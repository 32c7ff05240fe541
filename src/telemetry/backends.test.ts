// How Langfuse and Phoenix interpret our spans. The tables contain their rules, from their public sources of
// autumn 2026.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { answer, fail, USAGE } from '../../mocks/test-upstream.ts'
import { ask, TWO_TARGETS, testGateway } from '../test/test-gateway.ts'
import { collector, type SeenSpan, seen } from './test-collector.ts'

type Attributes = SeenSpan['attributes']
/** Returns the first of these attributes with a value. */
const first = (attributes: Attributes, names: readonly string[]): unknown =>
  names.map((name) => attributes[name]).find(Boolean)

/**
 * Attribute names of other instrumentations that take precedence over the conventions' names, or come after
 * them.
 */
const LANGFUSE = {
  model: [
    'langfuse.observation.model.name',
    'gen_ai.response.model',
    'ai.model.id',
    'gen_ai.request.model',
    'llm.model_name',
    'model',
  ],
  session: ['langfuse.session.id', 'session.id', 'gen_ai.conversation.id'],
  cost: ['langfuse.observation.cost_details', 'gen_ai.usage.cost'],
  input: [
    'langfuse.observation.input',
    'gcp.vertex.agent.llm_request',
    'input.value',
    'input',
    'gen_ai.input.messages',
  ],
  output: [
    'langfuse.observation.output',
    'gcp.vertex.agent.llm_response',
    'output.value',
    'output',
    'gen_ai.output.messages',
  ],
}

function asLangfuse({ attributes }: SeenSpan) {
  const short: Record<string, string> = { input_tokens: 'input', output_tokens: 'output' }
  const usage = Object.entries(attributes).flatMap(([name, value]) => {
    const [, part] = /^gen_ai\.usage\.(?!cost$)(.+)$/.exec(name) ?? []
    return part === undefined ? [] : [[short[part] ?? part, value]]
  })
  const found = Object.entries(LANGFUSE).map(([field, names]) => [field, first(attributes, names)])
  return { ...Object.fromEntries(found), usage: Object.fromEntries(usage) }
}

const PHOENIX_KINDS: Readonly<Record<string, string>> = {
  chat: 'LLM',
  text_completion: 'LLM',
  generate_content: 'LLM',
  embeddings: 'EMBEDDING',
}

function asPhoenix({ attributes }: SeenSpan) {
  const kind = PHOENIX_KINDS[String(attributes['gen_ai.operation.name'])]
  const prompt = attributes['gen_ai.usage.input_tokens'] as number | undefined
  const completion = attributes['gen_ai.usage.output_tokens'] as number | undefined
  return {
    kind,
    model: attributes['gen_ai.request.model'],
    provider: attributes['gen_ai.provider.name'],
    session: attributes['gen_ai.conversation.id'],
    prompt,
    completion,
    total: prompt === undefined || completion === undefined ? undefined : prompt + completion,
    cacheRead: attributes['gen_ai.usage.cache_read.input_tokens'],
  }
}

const PRICE = 'models: { beta/model-b: { price: { input: 1, output: 2 } } }'

async function fallenBack(t: TestContext) {
  const { url, spans } = await collector(t)
  const usage = { ...USAGE, prompt_tokens_details: { cached_tokens: 5 } }
  const gateway = await testGateway(t, {
    providers: { alpha: fail(500), beta: answer('plain answer', usage) },
    config: `telemetry: { endpoint: "${url}" }\n${PRICE}\n${TWO_TARGETS}`,
  })
  const { headers } = await gateway.chat(ask('auto'), { 'x-session-id': 's-7' })
  const record = await gateway.record(headers.get('x-gateway-request-id'))
  return { gateway, spans, record, all: await seen(spans, 3) }
}

test('Langfuse finds model, session, usage and cost, and counts no cost twice (TRACE-02, TRACE-07)', async (t) => {
  const { all, record } = await fallenBack(t)
  const [failed, served] = all.filter(({ kind }) => kind === 3).map(asLangfuse)
  assert.deepEqual(served, {
    model: 'model-b-2026-01-01',
    session: 's-7',
    cost: record.cost_usd,
    input: undefined,
    output: undefined,
    usage: { input: 20, output: 7, 'cache_read.input_tokens': 5 },
  })
  assert.deepEqual([failed!.model, failed!.cost, failed!.usage], ['model-a', undefined, {}])
  const costs = all.map((span) => Number(asLangfuse(span).cost ?? 0))
  assert.ok(record.cost_usd > 0)
  assert.equal(
    costs.reduce((sum, cost) => sum + cost, 0),
    record.cost_usd,
  )
})

test('Phoenix finds the kind, model, provider, session and token counts (TRACE-07)', async (t) => {
  const { gateway, spans, all } = await fallenBack(t)
  const server = all.find(({ kind }) => kind === 2)!
  assert.equal(asPhoenix(server).kind, undefined, 'the call itself is no call of a model')
  assert.deepEqual(asPhoenix(all.find(({ attributes }) => attributes['waybill.attempt'] === 2)!), {
    ...{ kind: 'LLM', model: 'model-b', provider: 'beta', session: 's-7' },
    ...{ prompt: 20, completion: 7, total: 27, cacheRead: 5 },
  })
  gateway.upstream.beta!.script = (response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(
      JSON.stringify({
        object: 'list',
        model: 'e',
        data: [{ object: 'embedding', index: 0, embedding: [0.5] }],
        usage: { prompt_tokens: 3, total_tokens: 3 },
      }),
    )
  await gateway.get('/v1/embeddings', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'beta/e', input: 'x' }),
  })
  const embedding = asPhoenix((await seen(spans, 5)).find(({ name }) => name.startsWith('embeddings'))!)
  assert.deepEqual([embedding.kind, embedding.model, embedding.prompt], ['EMBEDDING', 'e', 3])
})
