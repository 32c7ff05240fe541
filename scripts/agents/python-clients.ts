// Runs each official Python client once against a gateway with the mock as its provider: a stream, a tool,
// error classes, a broken stream, and an abandoned stream. Runs Anthropic's tool runner, which continues
// threads, on every kind of route. Installs the clients into a scratch directory; apart from this, nothing
// leaves this machine.
//   npm run agents -- python-clients [--scratch DIR]
import { execFileSync, spawn } from 'node:child_process'
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { writeNonce } from '../../mocks/ledger.ts'
import { createMockProviders } from '../../mocks/server/create.ts'
import { parseConfig } from '../../src/config/load.ts'
import { createGateway } from '../../src/gateway/create-gateway.ts'

const { scratch } = parseArgs({
  options: { scratch: { type: 'string', default: join(tmpdir(), 'waybill-python') } },
}).values
const python = join(scratch, 'bin', 'python')
if (!existsSync(python)) {
  execFileSync('python3', ['-m', 'venv', scratch])
  execFileSync(join(scratch, 'bin', 'pip'), [
    'install',
    '--quiet',
    'google-genai',
    'openai',
    'anthropic',
    'cohere',
  ])
}

const key = `wb-${randomUUID()}`
const data = mkdtempSync(join(tmpdir(), 'waybill-'))
const mock = await createMockProviders()
/** Second Anthropic account. */
const second = await createMockProviders({ keys: { anthropic: 'sk-ant-of-the-second-account' } })
const provider = (name: string, api: string, at = mock, mockName = name) =>
  `  ${name}: { dialect: ${api}, base_url: "${at.baseUrl(mockName)}", key: $${name} }`
const env = {
  gemini: mock.key('gemini'),
  openai: mock.key('openai'),
  responses: mock.key('openai'),
  anthropic: mock.key('anthropic'),
  second: second.key('anthropic'),
}

/** Routes on which the tool runner ends its loop. */
const RUNNERS = ['claude', 'accounts', 'fallback', 'models', 'gpt', 'items', 'google', 'mixed']
const call = (id: string, city: string) => ({ id, name: 'get_weather', arguments: { city } })
const nonces = RUNNERS.flatMap((route) =>
  [false, true].map((stream) => {
    const nonce = randomBytes(8).toString('hex')
    for (const each of [mock, second])
      each.script(nonce, [
        { say: { calls: [call('toolu_1', 'Bern')] } },
        { say: { calls: [call('toolu_2', 'Rome')] } },
        { say: { text: 'Rome is warmer.' } },
      ])
    return { route, stream, prompt: `${writeNonce(nonce)}: Bern or Rome?` }
  }),
)
const gateway = await createGateway(
  parseConfig(
    `
server: { port: 0 }
data: ${data}
providers:
${provider('gemini', 'gemini')}
${provider('openai', 'openai')}
${provider('anthropic', 'anthropic')}
${provider('second', 'anthropic', second, 'anthropic')}
${provider('responses', '[responses]', mock, 'openai')}
routes:
  google: { targets: [ { model: gemini/gemini-2.5-flash } ] }
  gpt: { targets: [ { model: openai/gpt-5-mini } ] }
  claude: { targets: [ { model: anthropic/claude-sonnet-5 } ] }
  accounts: { strategy: round-robin, targets: [ { model: anthropic/claude-sonnet-5 }, { model: second/claude-sonnet-5 } ] }
  fallback: { targets: [ { model: second/scenario-529 }, { model: anthropic/claude-sonnet-5 } ] }
  models: { strategy: round-robin, targets: [ { model: anthropic/claude-sonnet-5 }, { model: anthropic/claude-opus-4-5 } ] }
  items: { targets: [ { model: responses/gpt-5-mini } ] }
  mixed: { strategy: round-robin, targets: [ { model: anthropic/claude-sonnet-5 }, { model: openai/gpt-5-mini } ] }
resilience: { cooldown: 0s }
keys: [ { name: python, role: admin, digest: "sha256:${createHash('sha256').update(key).digest('hex')}" } ]`,
    'python-clients.yaml',
    { env },
  ),
)
const script = fileURLToPath(new URL('python-clients.py', import.meta.url))
const child = spawn(python, [script, gateway.url, key, JSON.stringify(nonces)], { stdio: 'inherit' })
const code = await new Promise<number | null>((done) => child.once('exit', done))
const { data: calls } = (await fetch(`${gateway.url}/api/usage/request-logs?limit=200`, {
  headers: { 'x-api-key': key },
}).then((response) => response.json())) as { data: { state: string }[] }
const inferences = [mock, second]
  .flatMap((each) => each.entries())
  .filter(({ kind }) => kind === 'inference').length
const states = Object.entries(Object.groupBy(calls, ({ state }) => state)).map(
  ([state, list]) => `${list!.length} ${state}`,
)
console.log(
  `${calls.length} calls on record (${states.join(', ')}), ${inferences} inferences at the providers`,
)
await gateway.close(100)
await mock.close()
await second.close()
rmSync(data, { recursive: true })
process.exitCode = code === 0 && calls.length === inferences ? 0 : 1
