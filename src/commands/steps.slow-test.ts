// `waybill steps` with a gateway whose calls are on record.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { answer, USAGE } from '../../mocks/test-upstream.ts'
import { runCli } from '../test/test-cli.ts'
import { type TestGateway, testGateway } from '../test/test-gateway.ts'
import { until } from '../test/test-until.ts'

const CONFIG = `models: { alpha/model-a: { price: { input: 2, output: 6 } } }
routes: { auto: { targets: [ { model: alpha/model-a } ] } }`
const HOSTILE = 'a\u001b[31mb\u202ec'
const TASK = 'Find all tests of the parser.'

const call = (name: string, args: object) => ({
  role: 'assistant',
  content: '',
  tool_calls: [{ id: `call-${name}`, type: 'function', function: { name, arguments: JSON.stringify(args) } }],
})
const result = (name: string, content: string) => ({ role: 'tool', tool_call_id: `call-${name}`, content })

/** Makes a call, and returns its id once it is on record, and kept if it is to be. */
async function post(gateway: TestGateway, prefix: string, body: string, headers: Record<string, string>) {
  const answered = await gateway.get(`${prefix}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  })
  assert.equal(answered.status, 200, answered.text)
  const id = answered.headers.get('x-gateway-request-id')!
  await gateway.record(id)
  const isKept = async () => (await gateway.get(`/api/usage/request-logs/${id}/kept`)).status === 200
  if (prefix !== '') await until('the call is kept', isKept)
  return id
}

/** A session with three turns and a sub-agent; kept unless `prefix` is empty. */
async function session(t: TestContext, prefix = '/keep') {
  const gateway = await testGateway(t, { config: CONFIG, env: { WAYBILL_RESPONSES_KEY: 'k'.repeat(44) } })
  const bodies: string[] = []
  const ids: string[] = []
  const ask = async (messages: readonly object[], said: object, headers: Record<string, string> = {}) => {
    gateway.upstream.alpha!.script = (response, { json }) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const choices = [{ index: 0, message: said, finish_reason: 'stop' }]
      response.end(
        JSON.stringify({ id: 'x', object: 'chat.completion', model: json.model, choices, usage: USAGE }),
      )
    }
    bodies.push(JSON.stringify({ model: 'auto', messages }))
    ids.push(await post(gateway, prefix, bodies.at(-1)!, { 'x-session-id': 'the-session', ...headers }))
  }
  const system = { role: 'system', content: 'You are an agent.' }
  const begin = [system, { role: 'user', content: `Fix ${HOSTILE} the parser` }]
  const task = call('Task', { prompt: TASK })
  await ask(begin, task)
  await ask(
    [{ role: 'user', content: TASK }],
    { role: 'assistant', content: 'There are two.' },
    { 'x-claude-code-agent-id': 'explorer' },
  )
  const next = [...begin, task, result('Task', 'There are two.')]
  await ask(next, call('Bash', { command: 'npm test' }))
  await ask([...next, call('Bash', { command: 'npm test' }), result('Bash', 'x'.repeat(5_000))], {
    role: 'assistant',
    content: 'Done.',
  })
  return { gateway, bodies, ids }
}

test('a kept session is shown call by call, with what was new in each and what was answered (STEP-06)', async (t) => {
  const { gateway, ids } = await session(t)
  const { stdout, stderr, code } = await runCli(['steps', 'the-session', '--url', gateway.url])
  assert.equal(code, 0, stderr)
  assert.equal(stderr, '')
  const lines = stdout.split('\n')
  assert.match(lines[0]!, /^the-session: \$0\.00\d+, 4 calls, .* since 20/)
  const shown = lines
    .filter((line) => /^ *\d+ +\d\d:|^ +[+=] /.test(line))
    .map((line) => line.trim().replace(/ {2,}/g, '  '))
  assert.deepEqual(
    shown.map((line) => line.replace(/^(\d+) .*/, '$1')),
    [
      '1',
      '+ system  text  17 B  You are an agent.',
      '+ user  text  26 B  Fix a[31mbc the parser',
      `= assistant  call Task  ${JSON.stringify({ prompt: TASK }).length} B  ${JSON.stringify({ prompt: TASK })}`,
      '2',
      `+ user  text  ${TASK.length} B  ${TASK}`,
      '= assistant  text  14 B  There are two.',
      '3',
      '+ tool  result  14 B  There are two.',
      '= assistant  call Bash  22 B  {"command":"npm test"}',
      '4',
      `+ tool  result  5.0 kB  ${'x'.repeat(100)}…`,
      '= assistant  text  5 B  Done.',
    ],
  )
  assert.match(
    stdout,
    /\n {2}2 +\d\d:\d\d:\d\d +auto → alpha\/model-a +subagent explorer +20 +- +7 +\$\S+ .* completed\n {8}started by step 1\n/,
  )
  assert.match(stdout, /\nWhy it cost \$\S+: the dearest steps\n {2}step 1 +\$\S+ +/)

  const full = await runCli(['steps', 'the-session', '--full', '--url', gateway.url])
  assert.ok(full.stdout.includes('x'.repeat(5_000)))
  const { stdout: json } = await runCli(['steps', 'the-session', '--json', '--url', gateway.url])
  const { steps, session: sums } = JSON.parse(json)
  assert.equal(sums.calls, 4)
  assert.deepEqual(
    steps.map((step: any) => [
      step.n,
      step.depth,
      step.started_by,
      step.after,
      step.kept,
      step.added.length,
      step.call.id,
    ]),
    ids.map((id, i) => [
      i + 1,
      i === 1 ? 1 : 0,
      i === 1 ? 1 : null,
      [null, null, 1, 3][i],
      true,
      [2, 1, 1, 1][i],
      id,
    ]),
  )
})

test('without kept bodies the record and the sizes are shown, with the way to keep', async (t) => {
  const { gateway } = await session(t, '')
  const { stdout, stderr, code } = await runCli(['steps', 'the-session', '--url', gateway.url])
  assert.equal(code, 0, stderr)
  assert.match(stdout, /\n1 .*\n {6}a request of \d+ B\n {2}2 /)
  assert.doesNotMatch(stdout, /parser/)
  assert.match(stderr, /^waybill: .*waybill run --keep/)
})

test('`--forget` deletes the kept bodies, and nothing else changes anything', async (t) => {
  const { gateway } = await session(t)
  const before = gateway.received()
  await runCli(['steps', 'the-session', '--url', gateway.url])
  const { stdout } = await runCli(['steps', 'the-session', '--forget', '--url', gateway.url])
  assert.equal(stdout, 'deleted the kept bodies of 4 calls; their records stay\n')
  const { stderr } = await runCli(['steps', 'the-session', '--url', gateway.url])
  assert.match(stderr, /waybill run --keep/)
  assert.equal(gateway.received(), before)
  const wrong = await runCli(['steps', 'no-session', '--forget', '--url', gateway.url])
  assert.equal(wrong.code, 1)
  assert.match(wrong.stderr, /no session with this id/)
})

test('`--forget` names the kept branches, which hold copies of the conversation', async (t) => {
  const { gateway, bodies, ids } = await session(t)
  const branch = { 'x-gateway-session-id': 'the-branch', 'x-gateway-parent': ids[0]! }
  await post(gateway, '/keep', bodies[0]!, branch)
  const { stderr } = await runCli(['steps', 'the-session', '--forget', '--url', gateway.url])
  assert.match(stderr, /the branch the-branch holds a copy .*`waybill steps the-branch --forget`/)
})

test('a tool that is offered for the first time is new', async (t) => {
  const { gateway, bodies } = await session(t)
  const tools = [{ type: 'function', function: { name: 'look', description: 'Looks.', parameters: {} } }]
  const body = JSON.stringify({ ...JSON.parse(bodies.at(-1)!), tools })
  await post(gateway, '/keep', body, { 'x-session-id': 'the-session' })
  const { stdout } = await runCli(['steps', 'the-session', '--url', gateway.url])
  assert.match(stdout, /\+ system +tool look .*Looks\./)
})

test('`waybill diff` finds the first step at which two sessions differ, with the cost from there', async (t) => {
  const { gateway, bodies, ids } = await session(t)
  const again = async (n: number, content: string, headers: Record<string, string>) => {
    gateway.upstream.alpha!.script = answer(content)
    await post(gateway, '/keep', bodies[n]!, headers)
  }
  await again(0, 'Hello.', { 'x-session-id': 'other' })
  const { stdout, stderr, code } = await runCli(['diff', 'the-session', 'other', '--url', gateway.url])
  assert.equal(code, 0, stderr)
  assert.match(stdout, /^the first difference: the same is sent, and the answers differ\n\nthe-session\n/)
  assert.match(stdout, /= assistant +call Task .*\n\nother\n(.*\n)*.*= assistant +text +6 B +Hello\.\n/)
  assert.match(stdout, /\nthe-session +4 +\$\S+ +4 +\$\S+\nother +1 +\$\S+ +1 +\$\S+\n$/)

  const { stdout: same } = await runCli(['diff', 'other', 'other', '--url', gateway.url])
  assert.match(same, /^no step differs\n\nsession +calls in all +cost in all\nother +1 /)

  // A branch is compared with its origin from the branched call on.
  await again(3, 'Done.', { 'x-session-id': 'fork-1', 'x-gateway-parent': ids[3]! })
  const { stdout: branch } = await runCli(['diff', 'the-session', 'fork-1', '--json', '--url', gateway.url])
  assert.equal(JSON.parse(branch).differs_by, null, branch)
  const { stdout: steps } = await runCli(['steps', 'fork-1', '--url', gateway.url])
  assert.match(steps, new RegExp(`\na branch of the call ${ids[3]} of the session the-session\n`))

  await runCli(['steps', 'the-session', '--forget', '--url', gateway.url])
  const byRecord = await runCli(['diff', 'the-session', 'other', '--url', gateway.url])
  assert.match(byRecord.stdout, /^the first difference: only one of the sessions has this step\n/)
  assert.match(byRecord.stderr, /compared by the record/)
})

test('an unknown session is an error', async (t) => {
  const gateway = await testGateway(t)
  const { stdout, stderr, code } = await runCli(['steps', 'nowhere', '--url', gateway.url])
  assert.deepEqual([stdout, code], ['', 1])
  assert.match(stderr, /There is no session with this id/)
})
