// Translated calls to mock providers that are as strict as the real models. Each call of a chat client is
// accepted at the first request, and each loss is named.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createMockProviders } from '../../mocks/server/create.ts'
import { parseConfig } from '../config/load.ts'
import { createGateway } from '../gateway/create-gateway.ts'
import { packageTable } from '../models/facts.ts'
import { sample } from '../test/test-size.ts'

/** A gateway in front of mock providers with names unknown to the model facts. */
async function start(t: TestContext) {
  const mock = await createMockProviders()
  const data = mkdtempSync(join(tmpdir(), 'waybill-models-'))
  const providers = [
    ['claude', 'messages', 'anthropic'],
    ['chats', 'chat', 'openai'],
    ['answers', 'responses', 'openai'],
    ['google', 'gemini', 'gemini'],
  ] as const
  const lines = providers.map(
    ([name, dialect, of]) =>
      `  ${name}: { dialect: ${dialect}, base_url: "${mock.baseUrl(of)}", key: $${of.toUpperCase()} }`,
  )
  const env = Object.fromEntries(providers.map(([, , of]) => [of.toUpperCase(), mock.key(of)]))
  const text = `server: { port: 0 }\ndata: ${data}\nproviders:\n${lines.join('\n')}\nresilience: { retries: 0, cooldown: 1ms }`
  const gateway = await createGateway(parseConfig(text, 'models.yaml', { env }))
  t.after(async () => {
    await gateway.close(100)
    await mock.close()
    rmSync(data, { recursive: true, force: true })
  })
  return { mock, url: gateway.url }
}

const MESSAGES = [{ role: 'user', content: 'Where to?' }]
const SCHEMA = { type: 'object', properties: { city: { type: 'string' } } }
const TOOLS = [{ type: 'function', function: { name: 'weather', parameters: SCHEMA } }]

/** Options of a chat client. Each one is sent to every model. */
const WISHES: readonly Record<string, unknown>[] = [
  {},
  { temperature: 0.4 },
  { temperature: 0.4, top_p: 0.5 },
  { max_tokens: 200_000 },
  { tools: TOOLS, tool_choice: 'required' },
  {
    tools: TOOLS,
    tool_choice: { type: 'function', function: { name: 'weather' } },
    reasoning_effort: 'high',
  },
  ...['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'].map((reasoning_effort) => ({
    reasoning_effort,
  })),
  { temperature: 0.4, reasoning_effort: 'high' },
  { temperature: 0.4, reasoning_effort: 'none' },
]

const chat = async (url: string, model: string, wish: object) => {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: MESSAGES, ...wish }),
  })
  return {
    status: response.status,
    losses: response.headers.get('x-gateway-lossy')?.split(', ') ?? [],
    text: await response.text(),
  }
}

test('claude-opus-5-5 answers a chat request with a temperature and a forced tool (FIT-04)', async (t) => {
  const { mock, url } = await start(t)
  const wish = { temperature: 0.4, reasoning_effort: 'high', tools: TOOLS, tool_choice: 'required' }
  const { status, losses, text } = await chat(url, 'claude/claude-opus-5-5', wish)
  assert.equal(status, 200, text)
  assert.deepEqual(losses.filter((each) => /temperature|tool_choice|effort/.test(each)).toSorted(), [
    'sampling.temperature',
    'tool_choice',
  ])
  const [{ body, problems }, ...more] = mock.entries() as any
  assert.deepEqual([more, problems], [[], []])
  assert.deepEqual(body.output_config, { effort: 'high' })
  assert.deepEqual(body.tool_choice, { type: 'auto' })
})

for (const [provider, of] of [
  ['claude', 'anthropic'],
  ['answers', 'openai'],
  ['google', 'gemini'],
] as const)
  test(`no model from ${of} refuses a chat client's request`, async (t) => {
    const { mock, url } = await start(t)
    const { models: all, of: factsOf } = packageTable()
    const models = all
      .map(({ provider, model }) => ({ provider, model, facts: factsOf(of, model, null) }))
      .filter((each) => each.provider === of && !each.facts.endpoints && !each.facts.dialects)
    assert.ok(models.length > 10)
    // Models with equal facts share the wishes in a quick run, so each wish meets all facts.
    const alike = Map.groupBy(models, ({ facts }) => JSON.stringify(facts))
    const wished = [...alike.values()].flatMap((group) =>
      sample(
        WISHES.flatMap((wish) => group.map(({ model }) => ({ model, wish }))),
        group.length,
      ),
    )
    for (const { model, wish } of wished) {
      mock.clear()
      const { status, text } = await chat(url, `${provider}/${model}`, wish)
      const asked = `${model} ${JSON.stringify(wish)}`
      assert.equal(status, 200, `${asked}: ${text}`)
      assert.equal(mock.entries().length, 1, asked)
    }
  })
