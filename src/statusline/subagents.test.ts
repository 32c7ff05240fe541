// LINE-10: rows of subagents, in the format that the client requests.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, temporaryDirectory, testGateway } from '../test/test-gateway.ts'
import { bundle, patiently, run } from './test-statusline.ts'

test('each task with a known route is answered with a JSON line; the other tasks keep the client’s own row (LINE-10)', async (t) => {
  const gateway = await testGateway(t)
  const program = [process.execPath, await bundle(t), '--subagents', '--segments', 'route,strategy'] as const
  const call = (agent: string, session = 's') =>
    gateway.chat(ask('auto'), { 'x-claude-code-session-id': session, 'x-claude-code-agent-id': agent })
  await call('agent-1')
  await call('agent-2')
  await call('agent-3', 'another session')
  const env = { HOME: temporaryDirectory(t), NO_COLOR: '1', WAYBILL_URL: gateway.url }
  const draw = (input: unknown, more = {}) => run([...program], { ...env, ...more }, JSON.stringify(input))
  const task = (id: unknown, more = {}) => ({
    id,
    name: 'n',
    description: 'fix the \u001b[31mtests',
    ...more,
  })

  const input = {
    session_id: 's',
    columns: 60,
    tasks: [
      task('agent-1'),
      task('agent-2', { label: '模型'.repeat(40) }),
      task('agent-3'),
      task(7),
      null,
      'x',
    ],
  }
  const { stdout, code } = await patiently(
    () => draw(input),
    ({ stdout }) => stdout !== '',
  )
  assert.equal(code, 0)
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.deepEqual(lines, [
    { id: 'agent-1', content: 'fix the [31mtests → alpha/model-a · priority' },
    { id: 'agent-2', content: 'alpha/model-a' },
  ])
  for (const broken of [
    {},
    [],
    { tasks: {} },
    { session_id: 's' },
    { session_id: 4, tasks: [task('agent-1')] },
  ])
    assert.deepEqual({ ...(await draw(broken)), took: 0 }, { stdout: '', stderr: '', code: 0, took: 0 })
  const says = /^waybill statusline: the gateway is not there\n$/
  const dead = await patiently(
    () => draw(input, { WAYBILL_URL: 'http://127.0.0.1:9' }),
    ({ stderr }) => says.test(stderr),
  )
  assert.deepEqual([dead.stdout, dead.code], ['', 0])
  assert.match(dead.stderr, says)
  assert.equal(gateway.received(), 3)
})
