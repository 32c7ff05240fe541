// Google's Python client calls Interactions at providers of every dialect: text, stream, two turns with a tool,
// continuation, deletion, the interaction of another key, and one in the background while the gateway is killed. Needs a
// Python with the client; `npm run agents -- python-clients` installs one.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Script, startMockServer } from '../../../mocks/test-upstream.ts'
import { startServer } from '../../test/test-cli.ts'
import { temporaryDirectory } from '../../test/test-gateway.ts'
import { python, versionOf } from '../../test/test-python.ts'
import { until } from '../../test/test-until.ts'
import { ALL } from '../test-samples.ts'
import { ANSWERS, interaction, json, said } from './test-answers.ts'

const version = versionOf('google.genai')
const skip =
  version === null &&
  `no google.genai in ${python}: run npm run agents -- python-clients, or set WAYBILL_PYTHON`
const script = fileURLToPath(new URL('python-client.py', import.meta.url))
const KEYS = { ann: 'wb-key-of-ann', bob: 'wb-key-of-bob' }

/** Answers in a dialect: a stream, a call of the tool until its result is there, or a text. */
const answering =
  (dialect: string): Script =>
  (response, received) => {
    const samples = ALL.find(([name]) => name === dialect)![2]
    if (received.json.stream === true || received.path.includes('streamGenerateContent'))
      return void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(samples.stream('m'))
    const wantsCall = received.text.includes('Weather?') && !received.text.includes('rain')
    return ANSWERS[dialect]!(wantsCall ? null : 'There.')(response, received)
  }

/** A provider of interactions that stores them, and ends those in the background when it is told to. */
class KeepingProvider {
  readonly kept = new Map<string, object>()
  ends = false
  #made = 0

  readonly script: Script = (response, received) => {
    const { method, path, json: asked } = received
    const [, id] = /\/interactions\/(\w+)/.exec(path) ?? []
    if (id === undefined && (asked.stream === true || /Weather/.test(received.text)))
      return answering('interactions')(response, received)
    if (method === 'DELETE') this.kept.delete(id!)
    if (method === 'DELETE') return json({})(response, received)
    if (id === undefined) {
      const made = `v1_${++this.#made}`
      const isRunning = asked.background === true
      this.kept.set(
        made,
        interaction(
          made,
          isRunning ? [] : [said('There.')],
          isRunning ? { status: 'in_progress', usage: undefined } : {},
        ),
      )
      return json(this.kept.get(made))(response, received)
    }
    const found = this.kept.get(id) as { status: string } | undefined
    if (!found) return json({ error: { code: 'not_found', message: 'no' } }, 404)(response, received)
    return json(found.status === 'in_progress' && this.ends ? interaction(id, [said('Done.')]) : found)(
      response,
      received,
    )
  }
}

const TOOL_TURNS = ['requires_action', 'weather', { place: 'Ulm' }, 'completed', 'There.']

test('Google’s Python client gets all of Interactions at providers of every dialect, also across a kill (LIFE-01)', {
  skip,
}, async (t) => {
  t.diagnostic(`google.genai ${version}`)
  const keeper = new KeepingProvider()
  const names = Object.keys(ANSWERS)
  const servers = await Promise.all(
    names.map((name) => startMockServer(name === 'interactions' ? keeper.script : answering(name))),
  )
  for (const server of servers) t.after(() => server.close())
  const directory = temporaryDirectory(t)
  const file = join(directory, 'waybill.yaml')
  const digest = (key: string) => createHash('sha256').update(key).digest('hex')
  writeFileSync(
    file,
    `server: { port: 0 }
data: ${directory}
providers:
${names.map((name, at) => `  at_${name}: { dialect: ${name}, base_url: "${servers[at]!.baseUrl}" }`).join('\n')}
responses: { store: { enabled: true } }
keys:
${Object.entries(KEYS)
  .map(([name, key]) => `  - { name: ${name}, digest: "sha256:${digest(key)}" }`)
  .join('\n')}
`,
  )
  const start = () =>
    startServer(t, ['serve', '--config', file], { env: { WAYBILL_RESPONSES_KEY: 'a'.repeat(64) } })
  let { url, child } = await start()
  const run = async (...args: string[]) => {
    const { stdout } = await promisify(execFile)(python, [script, url, KEYS.ann, ...args], {
      timeout: 120_000,
    })
    return JSON.parse(stdout)
  }
  for (const name of names) {
    const plain = await run('plain', `at_${name}/m`)
    assert.equal(plain.text, 'There.', name)
    assert.ok(plain.stream[0].length > 0, name)
    assert.equal(plain.stream[1], 'interaction.completed', name)
    assert.deepEqual(plain.tool, TOOL_TURNS, name)
    assert.deepEqual(
      await run('kept', `at_${name}/m`, KEYS.bob),
      { text: 'There.', refused: [404, 404, 404], found: 'There.', gone: 404 },
      name,
    )
  }
  const [id, status] = await run('begin', 'at_interactions/m')
  assert.equal(status, 'in_progress')
  child.kill('SIGKILL')
  await once(child, 'close')
  ;({ url, child } = await start())
  assert.deepEqual(await run('poll', id), ['in_progress', ''])
  keeper.ends = true
  assert.deepEqual(await run('poll', id), ['completed', 'Done.'])
  const headers = { authorization: `Bearer ${KEYS.ann}` }
  const calls = await until('every call is closed', async () => {
    const { data }: any = await (await fetch(`${url}/api/usage/request-logs?limit=100`, { headers })).json()
    return data.every((each: any) => each.completed_at !== null) && data
  })
  const states = calls.map((each: any) => each.state)
  assert.deepEqual([...new Set(states)], ['completed'])
  // Four calls and two that are kept at each provider, and one in the background.
  assert.equal(calls.length, names.length * 6 + 1)
  const inferences = servers.flatMap(({ ledger }) => ledger.filter(({ method }) => method === 'POST')).length
  assert.equal(inferences, calls.length)
})
