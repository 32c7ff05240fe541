// `waybill run --keep` and `waybill replay SESSION --until N` with a program of several turns.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { answer, type Script } from '../../mocks/test-upstream.ts'
import { detached } from '../shared/boundary.ts'
import { sleep } from '../shared/clock.ts'
import { CLI, ENVIRONMENT, runCli } from '../test/test-cli.ts'
import { type TestGateway, temporaryDirectory, testGateway } from '../test/test-gateway.ts'
import { until } from '../test/test-until.ts'

const KEY = 'wb-a-key-of-tests'

/** Sends a call of the session. */
const SEND = `
const send = (call, headers = {}) => fetch(process.env.OPENAI_BASE_URL + '/chat/completions', {
  method: 'POST',
  headers: {
    'content-type': 'application/json',
    authorization: 'Bearer ' + process.env.OPENAI_API_KEY,
    'x-gateway-session-id': process.env.OWN_SESSION ?? process.env.WAYBILL_SESSION_ID,
    ...headers,
  },
  body: JSON.stringify({ model: 'auto', ...call }),
})
`

/** A program that holds a conversation of some turns about its directory, and prints each answer as it came. */
const AGENT = `${SEND}
const messages = [{ role: 'system', content: 'You write pages.\\n- Working directory: ' + process.cwd()
  + '\\n- Memory: ' + process.env.HOME + '/.memory/' + process.cwd().replaceAll('/', '-') + '/notes\\n- Now: ' + new Date() }]
for (let turn = 1; turn <= Number(process.env.TURNS); turn++) {
  messages.push({ role: 'user', content: (process.env.ASKS ?? 'turn') + ' ' + turn })
  const answer = await send({ messages, stream: turn % 2 === 0 })
  const text = await answer.text()
  console.log(answer.status + ' ' + JSON.stringify(text))
  if (answer.status !== 200) process.exit(3)
  const content = [...text.matchAll(/"content":"(.*?)"/g)].map(([, piece]) => piece).join('')
  messages.push({ role: 'assistant', content })
}
`

/** A program whose second agent runs beside the first. A turn says whether it is done, and the last one waits for it. */
const TWO_AGENTS = `${SEND}
const ask = async (...contents) => {
  const messages = contents.map((content) => ({ role: 'user', content }))
  const answer = await send({ messages })
  if (answer.status !== 200) {
    console.log(answer.status + ' ' + (await answer.text()))
    process.exit(3)
  }
  return answer.text()
}
let isDone = false
await ask('turn 1')
const second = ask('look').then(() => (isDone = true))
for (const turn of [2, 3]) await ask('turn ' + turn, 'done: ' + isDone)
await second
await ask('turn 4', 'done: ' + isDone)
console.log('end')
`

/** What a program says, as a message for each content, and what it is answered. */
const SAY = `${SEND}
const wait = (ms) => new Promise((done) => setTimeout(done, ms))
const say = async (contents, headers) => {
  const answer = await send({ messages: contents.map((content) => ({ role: 'user', content })) }, headers)
  if (answer.status === 200) return (await answer.json()).choices[0].message.content
  console.log(answer.status + ' ' + (await answer.text()))
  process.exit(3)
}
`

/** A program with two agents that say the same, and that notices the second one late. Each turn has what they said so far. */
const SAME_WORDS = `${SAY}
const noticed = []
const start = async (name, ms) => {
  const said = await say([name], { 'x-claude-code-agent-id': name })
  await wait(ms)
  noticed.push(said)
}
const agents = [start('look here', 0), start('look there', 200)]
for (const turn of ['turn 1', 'turn 2']) await say([turn, ...noticed])
await Promise.all(agents)
await say(['turn 3', ...noticed])
console.log('end')
`

/** A program that says of its agent that it is running, then that it is done, and one turn later what it said. */
const NAMED = `${SAY}
let state = 'look-1 was started'
const agent = say(['look here'], { 'x-claude-code-agent-id': 'look-1' }).then(async (said) => {
  await wait(200)
  state = 'look-1 is done'
  return said
})
await say(['turn 1', state])
if (state === 'look-1 was started') state = 'look-1 is still running'
await say(['turn 2', state])
await wait(250)
await say(['turn 3', state])
await say(['turn 4', state, await agent])
console.log('end')
`

/** Each answer is another one, so that only a replay says the same twice. It names the program's directory. */
function changing(): Script {
  let count = 0
  return (response, received) => {
    count++
    const { messages } = received.json as { messages: { content: string }[] }
    const folder = /directory: (.+)/.exec(messages[0]!.content)![1]!
    const said = `answer ${count} ${Math.random()} is in ${folder}/page-${count}.txt`
    if (!received.json.stream) return answer(said)(response, received)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const event = (delta: object, finish_reason: string | null = null) =>
      `data: ${JSON.stringify({ id: `c${count}`, model: 'm', choices: [{ index: 0, delta, finish_reason }] })}\n\n`
    const middle = said.indexOf(folder) + folder.length / 2
    const parts = [said.slice(0, middle), said.slice(middle)].map((content) => event({ content }))
    response.end(`${parts.join('')}${event({}, 'stop')}data: [DONE]\n\n`)
  }
}

const start = (t: TestContext, script = changing()) =>
  testGateway(t, {
    providers: { alpha: script },
    env: { WAYBILL_RESPONSES_KEY: 'k'.repeat(44) },
    config: `routes: { auto: { targets: [ { model: alpha/m } ] } }
keys: [ { name: k, digest: "sha256:${createHash('sha256').update(KEY).digest('hex')}" } ]`,
  })

async function waybill(
  t: TestContext,
  args: readonly string[],
  env: Record<string, string>,
  cwd?: string,
  program = AGENT,
) {
  const file = join(temporaryDirectory(t), 'agent.mjs')
  writeFileSync(file, program)
  const child = spawn(process.execPath, [CLI, ...args, '--', process.execPath, file], {
    env: { ...ENVIRONMENT, HOME: homedir(), WAYBILL_KEY: KEY, TURNS: '4', ...env },
    cwd,
  })
  const said = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (part) => (said.stdout += part))
  child.stderr.setEncoding('utf8').on('data', (part) => (said.stderr += part))
  const [code] = await once(child, 'close')
  return { code, ...said, answers: said.stdout.trim().split('\n') }
}

const headers = { authorization: `Bearer ${KEY}` }
const recorded = async (gateway: TestGateway, filter: string) =>
  (await gateway.get(`/api/usage/request-logs?${filter}`, { headers })).json.data

/** Waits until calls are kept. */
async function allKept(gateway: TestGateway, calls: readonly { readonly id: string }[]) {
  for (const { id } of calls)
    await until('the call is kept', async () => {
      return (await gateway.get(`/api/usage/request-logs/${id}/kept`, { headers })).status === 200
    })
}

/** Runs the program, and returns its answers once all calls are kept. */
async function keep(
  t: TestContext,
  gateway: TestGateway,
  { HOME = homedir(), cwd, program }: { HOME?: string; cwd?: string; program?: string } = {},
) {
  const env = { OWN_SESSION: 'first', HOME }
  const run = await waybill(t, ['run', '--keep', '--url', gateway.url], env, cwd, program)
  assert.equal(run.code, 0, run.stderr)
  const calls = await recorded(gateway, 'session_id=first')
  assert.equal(calls.length, program === undefined ? 4 : 5)
  await allKept(gateway, calls)
  return { answers: run.answers, calls: calls.reverse(), stderr: run.stderr }
}

test('a kept session answers up to a step byte for byte, and spends nothing beyond it without --live (STEP-05)', async (t) => {
  const gateway = await start(t)
  const { answers, stderr } = await keep(t, gateway)
  assert.match(stderr, /kept for 7 days/)
  const spent = gateway.received()
  const { code, ...again } = await waybill(t, ['replay', 'first', '--until', '3', '--url', gateway.url], {})
  assert.equal(code, 3, again.stderr)
  assert.deepEqual(again.answers.slice(0, 3), answers.slice(0, 3))
  assert.match(again.answers[3]!, /^400 .*--live/)
  assert.match(again.stderr, /3 of 3 steps.*refused; --live sends it/)
  assert.equal(gateway.received(), spent)
  const whole = await waybill(t, ['replay', 'first', '--until', '4', '--url', gateway.url], {})
  assert.deepEqual([whole.code, whole.answers], [0, answers])
  assert.equal(gateway.received(), spent)
})

test('with --live a branch is a session of its own, kept, with its parent on record (STEP-04, STEP-05)', async (t) => {
  const gateway = await start(t)
  const { answers, calls } = await keep(t, gateway)
  const spent = gateway.received()
  const { code, ...branch } = await waybill(
    t,
    ['replay', 'first', '--until', '2', '--live', '--url', gateway.url],
    {},
  )
  assert.equal(code, 0, branch.stderr)
  assert.deepEqual(branch.answers.slice(0, 2), answers.slice(0, 2))
  assert.notEqual(branch.answers[2], answers[2])
  assert.equal(gateway.received(), spent + 2)
  const children = await recorded(gateway, `parent_id=${calls[1].id}`)
  assert.equal(children.length, 2)
  for (const { session_id } of children) assert.notEqual(session_id, 'first')
  await allKept(gateway, children)
})

test('in another directory with another home, the answers name that directory, and only what else differs is told (STEP-05)', async (t) => {
  const gateway = await start(t)
  const [from, to] = [temporaryDirectory(t), temporaryDirectory(t)]
  const { answers, calls } = await keep(t, gateway, { HOME: temporaryDirectory(t), cwd: from })
  assert.match(answers[0]!, new RegExp(`${from}/page-1`))
  const spent = gateway.received()
  const HOME = temporaryDirectory(t)
  const replay = (until: number, env = {}, ...more: string[]) =>
    waybill(
      t,
      ['replay', 'first', '--until', `${until}`, ...more, '--url', gateway.url],
      { HOME, ...env },
      to,
    )
  const whole = await replay(4)
  assert.equal(whole.code, 0, whole.stderr)
  assert.match(whole.stderr, new RegExp(`4 of 4 steps were answered from the session in ${from}\n$`))
  assert.doesNotMatch(whole.stdout, new RegExp(from))
  // Pieces of a name that two events share are joined in the first.
  const plain = (lines: string[], folder: string) =>
    lines.map((line) => {
      const text = JSON.parse(line.slice(4))
      return [...text.matchAll(/"content":"(.*?)"/g)]
        .map(([, piece]) => piece)
        .join('')
        .replaceAll(folder, '.')
    })
  assert.deepEqual(plain(whole.answers, to), plain(answers, from))
  assert.equal(gateway.received(), spent)

  const changed = await replay(4, { ASKS: 'another turn' })
  assert.match(
    changed.stderr,
    /step 1 differs in part 2, user text: it was "turn 1", and is "another turn 1"/,
  )
  assert.equal(gateway.received(), spent)

  const branch = await replay(2, {}, '--live')
  assert.equal(branch.code, 0, branch.stderr)
  assert.deepEqual(branch.answers.slice(0, 2), whole.answers.slice(0, 2))
  assert.match(branch.answers[2]!, new RegExp(`${to}/page-`))
  assert.equal((await recorded(gateway, `parent_id=${calls[1].id}`)).length, 2)
})

test('a call that differs from its step is refused, and the difference is told (STEP-05)', async (t) => {
  const gateway = await start(t)
  await keep(t, gateway)
  const spent = gateway.received()
  const { code, stderr } = await waybill(
    t,
    ['replay', 'first', '--until', '3', '--live', '--url', gateway.url],
    {
      ASKS: 'another turn',
    },
  )
  assert.equal(code, 1)
  assert.match(
    stderr,
    /0 of 3 steps.*step 1 differs in part 2, user text: it was "turn 1", and is "another turn 1"/,
  )
  assert.equal(gateway.received(), spent)
  for (const [args, told] of [
    [['replay', 'none', '--until', '1'], /no session "none" on record/],
    [['replay', 'first', '--until', '9'], /the session has 4 steps/],
    [['replay', 'first', '--until', 'x'], /--until takes the number of a step/],
  ] as const)
    assert.match((await waybill(t, [...args, '--url', gateway.url], {})).stderr, told)
  await gateway.get('/api/kept/first', { method: 'DELETE', headers })
  const gone = await waybill(t, ['replay', 'first', '--until', '1', '--url', gateway.url], {})
  assert.match(gone.stderr, /step 1 is not kept/)
})

test('agents that ran in parallel get their answers in the order of the session (STEP-05)', async (t) => {
  let third = () => {}
  const isThird = new Promise<void>((resolve) => (third = resolve))
  // The answer that the second agent waits for comes well after the first agent's third turn.
  const gateway = await start(t, (response, received) => {
    const text = JSON.stringify(received.json)
    const reply = () => answer('Yes.')(response, received)
    if (text.includes('look')) detached(isThird.then(() => sleep(200)).then(reply), () => response.destroy())
    else reply()
    if (text.includes('turn 3')) third()
  })
  const { calls } = await keep(t, gateway, { program: TWO_AGENTS })
  const spent = gateway.received()
  const replay = (until: number, ...more: string[]) =>
    waybill(
      t,
      ['replay', 'first', '--until', `${until}`, ...more, '--url', gateway.url],
      {},
      undefined,
      TWO_AGENTS,
    )
  const whole = await replay(5)
  assert.deepEqual([whole.code, whole.stdout], [0, 'end\n'], whole.stderr)
  assert.match((await replay(4)).stderr, /4 of 4 steps.*refused; --live sends it/)
  assert.equal(gateway.received(), spent)
  const branch = await replay(4, '--live')
  assert.deepEqual([branch.code, branch.stdout], [0, 'end\n'], branch.stderr)
  assert.equal((await recorded(gateway, `parent_id=${calls[3].id}`)).length, 1)
})

for (const [what, program] of [
  [
    'the end of each of two agents with the same last words is noticed where the session noticed it',
    SAME_WORDS,
  ],
  ['an agent is done before the first call that says so, even if its words come later', NAMED],
] as const)
  test(`${what} (STEP-05)`, async (t) => {
    const gateway = await start(t, (response, received) => {
      const text = JSON.stringify(received.json)
      const reply = () => answer(text.includes('look') ? 'Both are here.' : 'Yes.')(response, received)
      // The first turn ends after the agents, and the second begins before the late one is noticed.
      if (text.includes('turn 1')) detached(sleep(100).then(reply), () => response.destroy())
      else reply()
    })
    await keep(t, gateway, { program })
    const spent = gateway.received()
    const args = ['replay', 'first', '--until', '5', '--url', gateway.url]
    const whole = await waybill(t, args, {}, undefined, program)
    assert.deepEqual([whole.code, whole.stdout], [0, 'end\n'], whole.stderr)
    assert.equal(gateway.received(), spent)
  })

test('a branch of a branch, and one from the answer of a fork, begin with the steps before them (STEP-04, STEP-05)', async (t) => {
  const gateway = await start(t)
  const { answers, calls } = await keep(t, gateway)
  const access = ['--url', gateway.url]
  const first = await waybill(t, ['replay', 'first', '--until', '2', '--live', ...access], {})
  const children = await recorded(gateway, `parent_id=${calls[1].id}`)
  const third = children.at(-1)
  await allKept(gateway, children)
  const branch = [third.session_id, '--until', '1']
  const second = await waybill(t, ['replay', ...branch, '--live', ...access], {})
  assert.equal(second.code, 0, second.stderr)
  assert.deepEqual(second.answers.slice(0, 3), first.answers.slice(0, 3))
  assert.notEqual(second.answers[3], first.answers[3])
  assert.equal((await recorded(gateway, `parent_id=${third.id}`)).length, 1)
  const changed = await waybill(t, ['replay', ...branch, ...access], { ASKS: 'another turn' })
  assert.match(changed.stderr, /0 of 3 steps.*: step 1 of first differs in part 2/)

  const env = { ...ENVIRONMENT, WAYBILL_KEY: KEY }
  const words = ['fork', 'first', '2', '--model', 'alpha/m', '--times', '2', '--live', '--keep', '--json']
  const { answers: forked } = JSON.parse((await runCli([...words, ...access], { env })).stdout)
  await allKept(
    gateway,
    forked.map(({ call }: { call: { id: string } }) => call),
  )
  const { session_id, id } = forked[1].call
  const other = await waybill(t, ['replay', session_id, '--until', '2', '--live', ...access], {})
  assert.equal(other.code, 0, other.stderr)
  assert.equal(other.answers[0], answers[0])
  assert.ok(other.answers[1]!.includes(forked[1].output[0].text.split(' is in')[0]))
  assert.equal((await recorded(gateway, `parent_id=${id}`)).length, 2)
})
