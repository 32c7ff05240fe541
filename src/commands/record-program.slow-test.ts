// `waybill record -- PROGRAM` and `waybill replay -- PROGRAM` as a user runs them. The program calls tools in
// two folders, and the provider is gone in the second run.
import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createMockProviders } from '../../mocks/server/create.ts'
import { runCli } from '../test/test-cli.ts'
import { temporaryDirectory } from '../test/test-gateway.ts'

/**
 * An agent with three turns. It writes the file that the model names, reads it, and prints the last answer.
 */
const AGENT = `
import { readFileSync, writeFileSync } from 'node:fs'
const [word = 'files', order = ''] = process.argv.slice(2)
const messages = [{ role: 'user', content: 'Write ' + word + ' in ' + process.cwd() + ' on ' + new Date().toISOString() }]
const tools = ['write', 'read'].map((name) => ({ type: 'function', function: { name, parameters: { type: 'object' } } }))
if (order) tools.reverse()
for (;;) {
  const response = await fetch(process.env.OPENAI_BASE_URL + '/chat/completions', {
    method: 'POST',
    headers: { authorization: 'Bearer ' + process.env.OPENAI_API_KEY, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'auto', messages, tools }),
  })
  if (!response.ok) { console.log('refused'); process.exit(3) }
  const { message } = (await response.json()).choices[0]
  messages.push(message)
  if (!message.tool_calls) { console.log(message.content); break }
  for (const { id, function: { name, arguments: given } } of message.tool_calls) {
    const { path, text } = JSON.parse(given)
    if (name === 'write') writeFileSync(path, text)
    messages.push({ role: 'tool', tool_call_id: id, content: name === 'read' ? readFileSync(path, 'utf8') : 'written' })
  }
}
`

/** Records the agent in one folder. Returns a function that replays it in another. */
async function recorded(t: TestContext) {
  const root = temporaryDirectory(t)
  const [home, other] = [join(root, 'home-of-the-recording'), join(root, 'elsewhere')]
  for (const folder of [home, other]) mkdirSync(folder)
  const agent = join(root, 'agent.mjs')
  writeFileSync(agent, AGENT)
  const mock = await createMockProviders({ lenient: true })
  mock.answer([
    {
      say: {
        text: 'First.',
        calls: [{ name: 'write', arguments: { path: join(home, 'a.txt'), text: 'kept words' } }],
      },
    },
    { say: { calls: [{ name: 'read', arguments: { path: join(home, 'a.txt') } }] } },
    { say: { text: 'It is done.' } },
  ])
  const config = join(root, 'waybill.yaml')
  const out = join(root, 'recordings')
  writeFileSync(
    config,
    `providers: { live: { dialect: openai, base_url: "${mock.baseUrl('openai')}", key: $LIVE_KEY } }\nroutes: { auto: { targets: [ { model: live/gpt-4.1 } ] } }\n`,
  )
  const env = { LIVE_KEY: mock.key('openai') }
  const words = ['-c', config, '--out', out, '--', process.execPath, agent]
  const ended = await runCli(['record', ...words], { cwd: home, env })
  await mock.close()
  const replay = (...args: string[]) =>
    runCli(['replay', '-c', config, '--recordings', out, '--', process.execPath, agent, ...args], {
      cwd: other,
    })
  return { ended, replay, out, home, other }
}

test('a session is recorded once and replayed in another folder, with its tools in a different order', async (t) => {
  const { ended, replay, out, home, other } = await recorded(t)
  assert.deepEqual([ended.code, ended.stdout], [0, 'It is done.\n'], ended.stderr)
  assert.match(ended.stderr, /LIVE TRAFFIC/)
  assert.match(ended.stderr, /^3 recorded in .*, 0 not kept\.$/m)
  for (const file of readdirSync(join(out, 'live'))) {
    const text = readFileSync(join(out, 'live', file), 'utf8')
    assert.ok(!text.includes(home) && !text.includes('Write files'), file)
  }

  const again = await replay('files', 'turned')
  assert.deepEqual([again.code, again.stdout], [0, 'It is done.\n'], again.stderr)
  assert.match(again.stderr, /^waybill: 3 of 3 calls were answered from /m)
  assert.equal(readFileSync(join(other, 'a.txt'), 'utf8'), 'kept words')
})

test('if a call has no recording, the replay names the call and exits with 1', async (t) => {
  const { replay } = await recorded(t)
  const { code, stdout, stderr } = await replay('letters')
  assert.deepEqual([code, stdout], [1, 'refused\n'])
  assert.match(stderr, /^waybill: 0 of 1 calls were answered from /m)
  assert.match(
    stderr,
    /The nearest is live\/.*; it differs in part 1, the user text "Write letters in <folder>/,
  )
  assert.match(stderr, /^waybill: 1 of 1 calls have no recording$/m)
})

test('a replay without recordings explains how to make them', async (t) => {
  const { code, stderr } = await runCli(['replay', '--recordings', 'missing', '--', 'true'], {
    cwd: temporaryDirectory(t),
  })
  assert.equal(code, 2)
  assert.equal(
    stderr,
    'waybill: --recordings missing is not there; make it: waybill record --out missing -- true; or replay a kept session with --until\n',
  )
})
