// Runs Claude Code with its own login through a gateway with keys (`auth: caller`): a task with a tool, the
// resumed conversation, and a fallback. The provider accepts only the login. Afterwards, searches all other
// written or sent data for the login. Apart from the installation, nothing leaves this machine.
//   npm run agents -- own-login [--scratch DIR]
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { writeNonce } from '../../mocks/ledger.ts'
import { formsOf } from '../../mocks/redaction/leaks.ts'
import { createMockProviders } from '../../mocks/server/create.ts'
import { installAgent, runBounded, SCRATCH } from './stage.ts'
import { TESTED_AGENTS } from './table.ts'

const RUN_TIMEOUT_MS = 90_000
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const CLI = ['--import', import.meta.resolve('tsx'), join(ROOT, 'src/cli.ts')]
const NONCE = 'a9e07ca5e5000002'
const [MAIN, ASIDE] = ['claude-sonnet-5', 'claude-haiku-4-5']

const { scratch } = parseArgs({
  options: { scratch: { type: 'string', default: SCRATCH } },
}).values
const claude = installAgent(TESTED_AGENTS.find(({ name }) => name === 'claude-code')!, scratch)

const token = `sk-ant-oat01-${randomBytes(48).toString('base64url')}`
const gatewayKey = `wb-${randomBytes(24).toString('base64url')}`
const folder = mkdtempSync(join(tmpdir(), 'waybill-own-login-'))
const [home, work, data] = ['home', 'work', 'data'].map((name) => join(folder, name)) as [
  string,
  string,
  string,
]
for (const each of [join(home, '.claude'), work, data]) mkdirSync(each, { recursive: true })
writeFileSync(join(work, 'note.txt'), 'The lamp is out.\nThe keeper sleeps at seven.')
writeFileSync(join(folder, 'key'), gatewayKey, { mode: 0o600 })
const login = {
  accessToken: token,
  refreshToken: `sk-ant-ort01-${randomBytes(48).toString('base64url')}`,
  expiresAt: Date.now() + 8 * 3_600_000,
  scopes: ['user:inference', 'user:profile'],
  subscriptionType: 'max',
}
writeFileSync(join(home, '.claude', '.credentials.json'), JSON.stringify({ claudeAiOauth: login }), {
  mode: 0o600,
})

/** Starts a server that collects everything sent to it. */
const collected: Buffer[] = []
const collector = createServer((request, response) => {
  request.on('data', (part) => collected.push(part)).on('end', () => response.writeHead(200).end())
}).listen(0, '127.0.0.1')
await once(collector, 'listening')

const subscription = await createMockProviders({
  keys: { anthropic: token },
  canaries: { gateway: gatewayKey },
})
const paid = await createMockProviders({ canaries: { login: token, gateway: gatewayKey } })
const aside = { model: ASIDE, scenario: 'plain', times: 1_000 }
const read = { name: 'Read', arguments: { file_path: join(work, 'note.txt') } }
subscription.script(NONCE, [
  aside,
  { model: MAIN, say: { calls: [{ id: 'toolu_1', ...read }] } },
  { model: MAIN, say: { text: 'The keeper has been woken.' } },
  { model: MAIN, say: { text: 'Then the lamp is lit.' } },
  { model: MAIN, status: 429, times: 1_000 },
])
paid.script(NONCE, [aside, { model: MAIN, say: { text: 'Paid for by the token.' }, times: 1_000 }])

const rule = (offered: boolean, target: string) => `{ when: { tools: ${offered} }, use: { tier: ${target} } }`
const config = join(folder, 'waybill.yaml')
writeFileSync(
  config,
  `server: { port: 0 }
data: ${data}
providers:
  login: { dialect: messages, base_url: "${subscription.baseUrl('anthropic')}", auth: caller, billing: flat }
  paid: { dialect: messages, base_url: "${paid.baseUrl('anthropic')}", key: $PAID }
routes:
  auto:
    rules: [ ${rule(true, 'main')}, ${rule(false, 'aside')} ]
    targets:
      - { model: login/${MAIN}, tier: main }
      - { model: paid/${MAIN}, tier: main }
      - { model: login/${ASIDE}, tier: aside }
defaults: { messages: auto }
artifacts: { bodies: true }
cache: { enabled: true }
resilience: { cooldown: 1ms }
telemetry: { endpoint: "http://127.0.0.1:${(collector.address() as AddressInfo).port}", content: true }
keys: [ { name: agent, role: admin, digest: "sha256:${createHash('sha256').update(gatewayKey).digest('hex')}" } ]
`,
)

const base = { PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, HOME: home }
let printed = ''
const gateway: ChildProcess = spawn(
  process.execPath,
  [...CLI, 'serve', '-c', config, '--log-level', 'debug'],
  {
    cwd: ROOT,
    env: { ...base, PAID: paid.key('anthropic') },
  },
)
for (const stream of [gateway.stdout!, gateway.stderr!])
  stream.setEncoding('utf8').on('data', (part) => (printed += part))
const LISTENS = /listens on (http[^\s"]+)/
while (!LISTENS.test(printed)) {
  if (gateway.exitCode !== null) throw new Error(printed)
  await sleep(20)
}
const url = LISTENS.exec(printed)![1]!

/** Runs Claude Code with a prompt and prints its answer. */
async function run(what: string, ...args: string[]): Promise<string> {
  const ran = await runBounded(
    process.execPath,
    [
      ...CLI,
      'run',
      '--own-login',
      '--url',
      url,
      '--key-file',
      join(folder, 'key'),
      '--',
      claude.program,
      ...args,
    ],
    {
      cwd: work,
      ms: RUN_TIMEOUT_MS,
      env: {
        ...base,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        DISABLE_AUTOUPDATER: '1',
        HTTPS_PROXY: 'http://127.0.0.1:9', // no other host is reached
        NO_PROXY: '127.0.0.1',
        // finds tsx and the program's files from every directory
        TSX_TSCONFIG_PATH: join(ROOT, 'tsconfig.json'),
      },
    },
  )
  console.log(`${what}: exit ${ran.code}${ran.timedOut ? ', timed out' : ''}`)
  console.log(ran.output.replace(/^/gm, '  ').trimEnd())
  return ran.output
}

const nonce = writeNonce(NONCE)
const outputs = [
  await run('task', '--allowedTools', 'Read', '-p', `${nonce} Read note.txt. Who sleeps?`),
  await run('resumed', '--continue', '-p', 'And then?'),
  await run('fallback', '--continue', '-p', 'And when it is busy?'),
]

const key = { 'x-gateway-key': gatewayKey }
/** Returns an answer of the gateway; a busy gateway may answer 503 first. */
async function get(path: string): Promise<string> {
  for (let tries = 1; ; tries++) {
    const response = await fetch(url + path, { headers: key })
    const text = await response.text()
    if (response.ok) return text
    if (tries === 5) throw new Error(`GET ${path}: ${response.status} ${text}`)
    await sleep(1_000)
  }
}
const { data: calls } = JSON.parse(await get('/api/usage/request-logs?limit=200')) as {
  data: { id: string; state: string; attempts: number; fallbacks: number; resolved_provider: string }[]
}
await sleep(6_000) // waits until artifacts and traces are written
const reads = await Promise.all([
  get('/api/usage/request-logs?limit=200'),
  get('/api/usage/refused-calls'),
  get('/api/sessions'),
  get('/api/health'),
  get('/metrics'),
  get('/api/usage/export?form=json'),
  ...calls.flatMap(({ id }) => [
    get(`/api/usage/request-logs/${id}`),
    get(`/api/usage/request-logs/${id}/artifact`),
  ]),
])
gateway.kill('SIGTERM')
await once(gateway, 'exit')

const files = readdirSync(data, { recursive: true, withFileTypes: true }).filter((each) => each.isFile())
const places: Readonly<Record<string, readonly (string | Buffer)[]>> = {
  'answers of read endpoints': reads,
  'files of the record': files.map((file) => readFileSync(join(file.parentPath, file.name))),
  'the process log at debug': [printed],
  'traces with content': collected,
  'output of the launcher and of Claude Code': outputs,
}
const forms = [...formsOf(token)].map(([, form]) => form)
const found = Object.entries(places).map(([place, texts]) => {
  const hits = texts.filter((text) => forms.some((form) => text.includes(form))).length
  const size = texts.reduce((sum, text) => sum + text.length, 0)
  console.log(`${place}: ${texts.length} texts, ${size} bytes, login in ${hits}`)
  return hits
})
const inferences = (mock: typeof paid) => mock.entries().filter(({ kind }) => kind === 'inference')
const carried = (mock: typeof paid, name: string) =>
  mock.entries().filter(({ canaries }) => canaries.includes(name)).length
console.log(`other provider: ${inferences(paid).length} inferences, login in ${carried(paid, 'login')}`)
console.log(
  `login's provider: ${inferences(subscription).length} inferences, ${subscription.entries().filter(({ credential }) => credential === 'match').length} with the login; gateway key in ${carried(subscription, 'gateway') + carried(paid, 'gateway')} requests of both`,
)
console.log(
  `${calls.length} calls on record: ${calls.filter(({ state }) => state === 'completed').length} completed, ${calls.filter(({ fallbacks }) => fallbacks > 0).length} fell back`,
)
const worked =
  /keeper has been woken/.test(outputs[0]!) && /lamp is lit/.test(outputs[1]!) && /Paid for/.test(outputs[2]!)
const clean =
  found.every((hits) => hits === 0) &&
  ['login', 'gateway'].every((name) => carried(paid, name) === 0) &&
  carried(subscription, 'gateway') === 0
collector.close()
await subscription.close()
await paid.close()
rmSync(folder, { recursive: true, force: true })
console.log(
  `Claude Code ${claude.version}: ${worked ? 'all three tasks done' : 'NOT all tasks done'}; ${clean ? 'the login is nowhere else' : 'THE LOGIN LEAKED'}`,
)
process.exitCode = worked && clean ? 0 : 1
