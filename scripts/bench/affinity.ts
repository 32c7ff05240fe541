// `npm run bench -- affinity`: measures the gain from `sticky: prefix`. The same conversations go to two
// randomly chosen targets, with and without the setting, alternating by call in one run. The providers are
// mocks that cache like OpenAI: known prefixes from 1,024 tokens on, in steps of 128. Prints a table.
import { hash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type MockServer, type Script, startMockServer } from '../../mocks/test-upstream.ts'
import { parseConfig } from '../../src/config/load.ts'
import { SILENT } from '../../src/core/process-log.ts'
import { createGateway, type Gateway } from '../../src/gateway/create-gateway.ts'

const { conversations = '500', turns = '20' } = parseArgs({
  options: { conversations: { type: 'string' }, turns: { type: 'string' } },
}).values
const [CONVERSATIONS, TURNS] = [Number(conversations), Number(turns)]
/** Number of concurrent conversations. */
const AT_ONCE = 8
const CHARACTERS_PER_TOKEN = 4
/** Prices in US dollars per million tokens, with cached input at a tenth, as at most providers. */
const PRICE = '{ input: 2, cached_input: 0.2, output: 8 }'

interface Message {
  readonly role: string
  readonly content: string
}

/** Part of `/api/routes` that is read here. */
interface Answer {
  readonly routes: readonly { readonly calls: number; readonly targets: readonly Record<string, number>[] }[]
}

/** Starts a provider that caches the prefixes of its requests. */
function cachingProvider(): Script {
  const known = new Set<string>()
  return (response, { json }) => {
    let [name, length, found] = ['', 0, 0]
    for (const { role, content } of json.messages as Message[]) {
      name = hash('sha256', JSON.stringify([name, role, content]))
      length += content.length
      if (known.has(name)) found = length
      known.add(name)
    }
    const cached = Math.floor(found / CHARACTERS_PER_TOKEN / 128) * 128
    const input = Math.ceil(length / CHARACTERS_PER_TOKEN)
    response.writeHead(200, { 'content-type': 'application/json' })
    const answer = {
      ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 0, model: json.model },
      choices: [{ index: 0, message: { role: 'assistant', content: REPLY }, finish_reason: 'stop' }],
      usage: {
        prompt_tokens: input,
        completion_tokens: 100,
        total_tokens: input + 100,
        prompt_tokens_details: { cached_tokens: cached >= 1_024 ? cached : 0 },
      },
    }
    response.end(JSON.stringify(answer))
  }
}

const REPLY = 'I have read the file and changed the line. '.repeat(9)
const RULES = 'Follow the rules of this house and answer in few words. '.repeat(110)

const directory = mkdtempSync(join(tmpdir(), 'waybill-bench-'))
const mocks: MockServer[] = []
const gateways: { readonly name: string; readonly gateway: Gateway }[] = []
try {
  for (const [name, sticky] of [
    ['without', ''],
    ['with `sticky: prefix`', 'sticky: prefix,'],
  ] as const) {
    const [a, b] = [await startMockServer(cachingProvider()), await startMockServer(cachingProvider())]
    mocks.push(a, b)
    const text = `server: { port: 0 }
data: ${join(directory, String(gateways.length))}
providers: { a: { dialect: chat, base_url: "${a.baseUrl}" }, b: { dialect: chat, base_url: "${b.baseUrl}" } }
models: { a/m: { price: ${PRICE} }, b/m: { price: ${PRICE} } }
routes: { auto: { strategy: random, ${sticky} targets: [ { model: a/m }, { model: b/m } ] } }`
    const loaded = parseConfig(text, 'bench.yaml', { env: {} })
    gateways.push({ name, gateway: await createGateway({ ...loaded, log: SILENT }) })
  }

  let next = 0
  const converse = async () => {
    for (let n = next++; n < CONVERSATIONS; n = next++) {
      const messages: Message[] = [{ role: 'system', content: RULES }]
      for (let turn = 0; turn < TURNS; turn++) {
        messages.push({
          role: 'user',
          content: `Conversation ${n}, turn ${turn}: look at the next file. ${'x'.repeat(2_000)}`,
        })
        const body = JSON.stringify({ model: 'auto', messages })
        for (const { gateway } of gateways) {
          const response = await fetch(`${gateway.url}/v1/chat/completions`, {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body,
          })
          if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`)
          await response.arrayBuffer()
        }
        messages.push({ role: 'assistant', content: REPLY })
      }
      if (n % 50 === 49) console.error(`${n + 1} of ${CONVERSATIONS} conversations`)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, converse))

  console.log(
    `${CONVERSATIONS} conversations of ${TURNS} turns, ${CONVERSATIONS * TURNS} calls each way, two targets drawn at random\n\n` +
      '| | input tokens | of these cached | cost | moves | tokens lost | calls by target |\n|---|---|---|---|---|---|---|',
  )
  const costs: number[] = []
  for (const { name, gateway } of gateways) {
    const routes = (await (await fetch(`${gateway.url}/api/routes`)).json()) as Answer
    const { targets, calls } = routes.routes[0]!
    const sum = (field: string): number => targets.reduce((sum, target) => sum + target[field]!, 0)
    if (calls !== CONVERSATIONS * TURNS) throw new Error(`${calls} calls on record`)
    const cached = (100 * sum('cached_input_tokens')) / sum('input_tokens')
    costs.push(sum('cost_usd'))
    console.log(
      `| ${name} | ${sum('input_tokens')} | ${cached.toFixed(1)} % | $${sum('cost_usd').toFixed(2)} | ${sum('moved')} | ${sum('cache_lost')} | ${targets.map(({ calls }) => calls).join(' and ')} |`,
    )
  }
  console.log(`\ncost with it, of the cost without: ${(costs[1]! / costs[0]!).toFixed(3)}`)
} finally {
  await Promise.all(gateways.map(({ gateway }) => gateway.close()))
  await Promise.all(mocks.map((mock) => mock.close()))
  rmSync(directory, { recursive: true, force: true })
}
