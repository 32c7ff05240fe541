// Threads: conversations that Anthropic stores between turns. The official client's tool runner uses them by
// default. On every kind of route, its loop must end with the whole conversation at one model, or with a
// refusal from which the client recovers.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, suite, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema'
import { writeNonce } from '../../mocks/ledger.ts'
import { createMockProviders, type MockProviders } from '../../mocks/server/create.ts'
import { parseConfig } from '../config/load.ts'
import { SILENT } from '../core/process-log.ts'
import { createGateway, type Gateway } from '../gateway/create-gateway.ts'

const data = mkdtempSync(join(tmpdir(), 'waybill-'))
/** Two accounts at Anthropic. The first also represents all other providers. */
let one: MockProviders
let two: MockProviders
let gateway: Gateway

const SONNET = 'claude-sonnet-5'
const ROUTES: Record<string, [strategy: string, ...targets: string[]]> = {
  messages: ['priority', `one/${SONNET}`],
  'two-models': ['round-robin', `one/${SONNET}`, 'one/claude-opus-4-5'],
  'two-accounts': ['round-robin', `one/${SONNET}`, `two/${SONNET}`],
  'in-order': ['priority', `two/${SONNET}`, `one/${SONNET}`],
  weighted: ['weighted', `one/${SONNET}`, `two/${SONNET}`],
  chat: ['priority', 'openai-chat/gpt-5-mini'],
  responses: ['priority', 'openai-responses/gpt-5-mini'],
  google: ['priority', 'gemini/gemini-2.5-flash'],
  'two-dialects': ['round-robin', 'openai-chat/gpt-5-mini', 'gemini/gemini-2.5-flash'],
  mixed: ['round-robin', `one/${SONNET}`, 'openai-chat/gpt-5-mini'],
}

suite('Anthropic’s official tool runner', () => {
  before(async () => {
    one = await createMockProviders({ lenient: true })
    two = await createMockProviders({ lenient: true, keys: { anthropic: 'sk-ant-of-the-second-account' } })
    const provider = (name: string, api: string, at: MockProviders, mockName = name) =>
      `  ${name}: { dialect: ${api}, base_url: "${at.baseUrl(mockName)}", key: $${name.replace('-', '_')} }`
    const routes = Object.entries(ROUTES).map(
      ([name, [strategy, ...targets]]) =>
        `  ${name}: { strategy: ${strategy}, targets: [ ${targets.map((model) => `{ model: ${model} }`).join(', ')} ] }`,
    )
    const env = {
      one: one.key('anthropic'),
      two: two.key('anthropic'),
      openai_chat: one.key('openai'),
      openai_responses: one.key('openai'),
      gemini: one.key('gemini'),
    }
    const config = `
server: { port: 0 }
data: ${data}
providers:
${provider('one', 'anthropic', one, 'anthropic')}
${provider('two', 'anthropic', two, 'anthropic')}
${provider('openai-chat', 'openai', one, 'openai')}
${provider('openai-responses', '[responses]', one, 'openai')}
${provider('gemini', 'gemini', one)}
routes:
${routes.join('\n')}
resilience: { cooldown: 0s }`
    gateway = await createGateway({ ...parseConfig(config, 'w.yaml', { env }), log: SILENT })
  })
  after(async () => {
    await gateway?.close(100)
    await one.close()
    await two.close()
    rmSync(data, { recursive: true })
  })
  beforeEach(() => {
    one.clear()
    two.clear()
  })

  const client = () => new Anthropic({ baseURL: gateway.url, apiKey: 'none', maxRetries: 0 })
  const inferences = () =>
    [one, two]
      .flatMap((mock) =>
        mock
          .entries()
          .filter(({ kind }) => kind === 'inference')
          .map((entry) => ({ ...entry, mock })),
      )
      .sort((a, b) => a.at - b.at)

  const call = (id: string, city: string) => ({ id, name: 'get_weather', arguments: { city } })
  /** Answers of every account: two turns with tools, then text. */
  function scriptLoop(): string {
    const nonce = randomBytes(8).toString('hex')
    for (const mock of [one, two])
      mock.script(nonce, [
        { say: { calls: [call('toolu_1', 'Bern')] } },
        { say: { calls: [call('toolu_2', 'Rome')] } },
        { say: { text: 'Rome is warmer.' } },
      ])
    return nonce
  }

  for (const [model, [, ...targets]] of Object.entries(ROUTES))
    for (const stream of [false, true])
      test(`the official client’s tool runner ends its loop on route ${model} with stream ${stream} (STATE-01, STATE-02)`, async () => {
        const nonce = scriptLoop()
        const cities: string[] = []
        const weather = betaTool({
          name: 'get_weather',
          description: 'The weather in a city.',
          inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
          run: ({ city }) => {
            cities.push(city)
            return 'sunny'
          },
        })
        const runner = client().beta.messages.toolRunner({
          model,
          max_tokens: 64,
          max_iterations: 6,
          messages: [{ role: 'user', content: `${writeNonce(nonce)}: Bern or Rome?` }],
          tools: [weather],
          stream,
        })
        const final: any = await runner.runUntilDone()
        assert.deepEqual([cities, final.content.at(-1)?.text], [['Bern', 'Rome'], 'Rome is warmer.'])
        const made = inferences()
        assert.deepEqual(
          made.map(({ nonce: found, problems }) => [found, problems]),
          made.map(() => [nonce, []]),
          'whoever is asked knows the question',
        )
        if (model !== 'mixed') {
          assert.equal(made.length, 3, 'none was made in vain')
          const threaded = targets.every((target) => /^(one|two)\//.test(target))
          assert.equal(
            new Set(made.map(({ mock, model }) => `${mock.url} ${model}`)).size,
            threaded ? 1 : Math.min(targets.length, 2),
          )
        }
      })
})
