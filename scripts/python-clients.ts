// The official clients for Python, each once against a gateway with the witness behind it: a stream, a tool, errors by their
// classes, a stream that breaks, one that is left. They are installed into a scratch directory; nothing else leaves this
// machine.   tsx scripts/python-clients.ts [--scratch DIR]
import { execFileSync, spawn } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { createWitness } from '../mocks/witness.ts'
import { parseConfig } from '../src/config.ts'
import { createGateway } from '../src/gateway.ts'

const { scratch } = parseArgs({
  options: { scratch: { type: 'string', default: join(tmpdir(), 'waybill-python') } },
}).values
const python = join(scratch, 'bin', 'python')
if (!existsSync(python)) {
  execFileSync('python3', ['-m', 'venv', scratch])
  execFileSync(join(scratch, 'bin', 'pip'), ['install', '--quiet', 'google-genai', 'openai', 'anthropic'])
}

const key = `wb-${randomUUID()}`
const data = mkdtempSync(join(tmpdir(), 'waybill-'))
const witness = await createWitness()
const provider = (name: string, api: string) =>
  `  ${name}: { api: ${api}, base_url: "${witness.baseUrl(name)}", key: $${name} }`
const gateway = await createGateway(
  parseConfig(
    `
server: { port: 0 }
data: ${data}
providers:
${provider('gemini', 'gemini')}
${provider('openai', 'openai')}
${provider('anthropic', 'anthropic')}
routes:
  google: { targets: [ { model: gemini/gemini-2.5-flash } ] }
  gpt: { targets: [ { model: openai/gpt-5-mini } ] }
  claude: { targets: [ { model: anthropic/claude-sonnet-5 } ] }
resilience: { cooldown: 0s }
keys: [ { name: python, role: admin, digest: "sha256:${createHash('sha256').update(key).digest('hex')}" } ]`,
    'python-clients.yaml',
    {
      env: Object.fromEntries(['gemini', 'openai', 'anthropic'].map((name) => [name, witness.key(name)])),
    },
  ),
)
const script = fileURLToPath(new URL('python-clients.py', import.meta.url))
const child = spawn(python, [script, gateway.url, key], { stdio: 'inherit' })
const code = await new Promise<number | null>((done) => child.once('exit', done))
const { data: calls } = (await fetch(`${gateway.url}/api/usage/request-logs?limit=200`, {
  headers: { 'x-api-key': key },
}).then((response) => response.json())) as { data: { state: string }[] }
const inferences = witness.entries().filter(({ kind }) => kind === 'inference').length
const states = Object.entries(Object.groupBy(calls, ({ state }) => state)).map(
  ([state, list]) => `${list!.length} ${state}`,
)
console.log(
  `${calls.length} calls on record (${states.join(', ')}), ${inferences} inferences at the providers`,
)
await gateway.close(100)
await witness.close()
rmSync(data, { recursive: true })
process.exitCode = code === 0 && calls.length === inferences ? 0 : 1
