// Starts a demo gateway on mock providers, with the records of a busy month and calls in progress, for
// viewing and measuring. Nothing leaves this machine.
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  chunk,
  DONE,
  fail,
  type Script,
  startMockServer,
  stream,
  usageChunk,
} from '../../../mocks/test-upstream.ts'
import { parseConfig } from '../../../src/config/load.ts'
import { createGateway, type Gateway } from '../../../src/gateway/create-gateway.ts'
import { fillRecord } from '../../bench/fill.ts'

interface Demo {
  readonly gateway: Gateway
  /** Returns the number of inference requests that all providers together received. */
  received(): number
  /** Makes a random call; resolves at its end. */
  call(more?: { readonly stream?: boolean }): Promise<void>
  close(): Promise<void>
}

interface DemoOptions {
  /** Number of calls in the last thirty days. */
  readonly calls: number
  /** Adds three keys, such as `key-of-laptop`; the last one is an administrator's. */
  readonly keys?: boolean
  readonly port?: number
  /** Time that a provider takes for an event of a stream, ms. */
  readonly pace?: number
  readonly page?: URL
}

const KEYS = ['laptop', 'server', 'ci', 'boss']
const digest = (key: string) => `sha256:${createHash('sha256').update(key).digest('hex')}`

const ROUTES = `
models:
  openai/gpt-6-luna: { price: { input: 0.25, output: 2, cached_input: 0.025 }, tier: balanced }
  groq/openai/gpt-oss-120b: { price: { input: 0.15, output: 0.6 }, tier: cheap, capabilities: { images: false } }
  deepseek/deepseek-v4-flash: { price: { input: 0.28, output: 0.42, cached_input: 0.028 }, tier: cheap }
  openai/gpt-6-sol: { price: { input: 1.25, output: 10, cached_input: 0.125 }, tier: premium }
routes:
  auto:
    description: everyday
    targets: [ { model: openai/gpt-6-luna }, { model: groq/openai/gpt-oss-120b } ]
  auto/cheap:
    strategy: weighted
    description: summaries and titles
    cache: true
    targets: [ { model: groq/openai/gpt-oss-120b, weight: 3 }, { model: deepseek/deepseek-v4-flash, weight: 1 } ]
  auto/best:
    description: hard questions
    sticky: session
    rules: [ { when: { input_tokens: { over: 60000 } }, use: { target: openai/gpt-6-sol } } ]
    targets: [ { model: openai/gpt-6-sol }, { model: openai/gpt-6-luna } ]
retention: { rows: 2000000, days: 90, bytes: 4GiB }
`

export async function startDemo({
  calls,
  keys = false,
  port = 0,
  pace = 40,
  page,
}: DemoOptions): Promise<Demo> {
  const data = mkdtempSync(join(tmpdir(), 'waybill-page-'))
  fillRecord(data, calls)
  const mocks = await Promise.all(
    ['openai', 'groq', 'deepseek', 'openrouter'].map(async (name) => ({
      name,
      server: await startMockServer(provider(name, pace)),
    })),
  )
  const lines = [
    `server: { port: ${port} }`,
    `data: ${data}`,
    'providers:',
    ...mocks.map(({ name, server }) => `  ${name}: { dialect: openai, base_url: "${server.baseUrl}" }`),
    ROUTES,
    ...(keys
      ? [
          'keys:',
          ...KEYS.map(
            (name) =>
              `  - { name: ${name}, role: ${name === 'boss' ? 'admin' : 'client'}, digest: "${digest(`key-of-${name}`)}"${name === 'laptop' ? ', budget: { usd: 2000, per: month, unpriced: allow }' : ''} }`,
          ),
        ]
      : []),
  ]
  const gateway = await createGateway({
    ...parseConfig(lines.join('\n'), 'demo.yaml', { env: {} }),
    ...(page && { page }),
  })
  let n = 0
  return {
    gateway,
    received: () => mocks.reduce((sum, { server }) => sum + server.ledger.length, 0),
    async call({ stream = n % 3 !== 0 } = {}) {
      const i = n++
      const model = ['auto', 'auto', 'auto/cheap', 'auto/best', 'openrouter/z-ai/glm-4.6'][i % 5]!
      const response = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-session-id': `refactor-${Math.floor(i / 40)}`,
          ...(i % 4 === 1 && { 'x-claude-code-agent-id': `tests-${i % 3}` }),
          ...(keys && { authorization: `Bearer key-of-${KEYS[i % 3]}` }),
        },
        body: JSON.stringify({
          model,
          stream,
          messages: [{ role: 'user', content: `Where do you go, number ${i % 25}?` }],
        }),
      })
      await response.text()
    },
    async close() {
      await gateway.close(200)
      for (const { server } of mocks) await server.close()
      rmSync(data, { recursive: true, force: true })
    },
  }
}

/** Answers in pieces. One call in forty fails, and more calls fail at OpenAI, so that fallbacks occur. */
function provider(name: string, pace: number): Script {
  let n = 0
  return (response, received) => {
    n++
    const { json } = received
    if (n % (name === 'openai' ? 12 : 40) === 0) return fail(n % 24 === 0 ? 429 : 503)(response, received)
    const input = 800 + ((n * 977) % 9_000)
    const words = 3 + (n % 9)
    const usage = {
      prompt_tokens: input,
      completion_tokens: words * 14,
      total_tokens: input + words * 14,
      prompt_tokens_details: { cached_tokens: Math.floor(input * 0.6) },
    }
    const model = `${json.model}-2026-01-01`
    if (json.stream !== true) {
      setTimeout(() => {
        response.writeHead(200, { 'content-type': 'application/json' }).end(
          JSON.stringify({
            id: 'chatcmpl-demo',
            object: 'chat.completion',
            created: 0,
            model,
            choices: [
              { index: 0, message: { role: 'assistant', content: 'To the sea.' }, finish_reason: 'stop' },
            ],
            usage,
          }),
        )
      }, pace * 4)
      return
    }
    const parts = Array.from({ length: words }, () => [pace, chunk({ content: 'word ' }, { model })]).flat()
    stream(
      pace * 4,
      ...parts,
      chunk({}, { model, finish_reason: 'stop' }),
      usageChunk({ model, usage }),
      DONE,
    )(response, received)
  }
}

// `npm run docs -- demo [CALLS] [keys] [PORT] [RATE] [PACE]`
if (import.meta.main) {
  const [calls = '3000', keys = '', port = '4949', rate = '2', pace = '40'] = process.argv.slice(2)
  const demo = await startDemo({
    calls: Number(calls),
    keys: keys === 'keys',
    port: Number(port),
    pace: Number(pace),
  })
  process.stdout.write(`${demo.gateway.url}\n`)
  let going = true
  process.once('SIGTERM', () => {
    going = false
  })
  while (going) {
    if (Number(rate) > 0) void demo.call().catch(() => {})
    await sleep(1_000 / (Number(rate) || 10))
  }
  await demo.close()
}
