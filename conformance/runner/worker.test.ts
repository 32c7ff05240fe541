// Tests events between the checks of a worker: the end of a gateway, its last output, and the worker's waits
// for it. The gateways are processes of a few lines that forward calls to the mock.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { Check } from '../checks/check.ts'
import { StartError } from '../target/instance.ts'
import { type Target, targetSchema } from '../target/schema.ts'
import { start } from '../target/start.ts'
import { conform } from './run.ts'
import { openWorker } from './worker.ts'

const root = mkdtempSync(join(tmpdir(), 'waybill-worker-'))
after(() => rmSync(root, { recursive: true, force: true }))

/** Returns a gateway that first runs `first` with each request `q` and answer `r`. */
const gateway = (first: string, more: object = {}): Target =>
  targetSchema.parse({
    name: 'a-gateway',
    start: {
      command: [
        '{{node}}',
        '-e',
        `const { request } = require('http')
        const state = {}
        require('http').createServer(async (q, r) => {
          const pieces = []
          for await (const piece of q) pieces.push(piece)
          const text = Buffer.concat(pieces).toString()
          ${first}
          if (q.method !== 'POST') return r.end('{}')
          const headers = { 'content-type': 'application/json', authorization: 'Bearer {{mock.openai.key}}' }
          request('{{mock.openai.root}}' + q.url, { method: 'POST', headers }, (answer) => {
            r.writeHead(answer.statusCode, answer.headers)
            answer.pipe(r)
          }).end(text)
        }).listen({{port}}, '127.0.0.1')`,
      ],
    },
    providers: { openai: {} },
    models: { direct: [{ id: 'gpt-5-mini', provider: 'openai', model: 'gpt-5-mini' }] },
    ...more,
  })

test('for every worker, the gateway’s last output is stored without keys (KEEP-01)', async () => {
  const mark = JSON.stringify(join(root, 'first'))
  const dies = `if (q.method === 'POST') try {
      if (!state.started) require('fs').writeFileSync(${mark}, '', { flag: 'wx' })
      state.started = true
    } catch {
      if (state.calls === 1) {
        console.log('my keys are', '{{key.client}}', Buffer.from('{{key.client}}').toString('base64'))
        return process.exit(1)
      }
      state.calls = 1
    }`
  const directory = join(root, 'second-worker')
  const { results } = await conform({
    target: gateway(dies, { instances: 2 }),
    only: ['TELL-05', 'ROUTE-02'],
    directory,
  })
  const told =
    /a-gateway has been gone since \S+: it ended\. It printed: my keys are \[secret:key\.client\] \[secret:/
  assert.match(results.reason, told)
  assert.doesNotMatch(readFileSync(join(directory, 'run.json'), 'utf8'), /wbconformclient/)
})

test('if a gateway does not start, its output is shown without keys (KEEP-01)', async () => {
  const says = `console.log('{{key.client}}', '{{mock.openai.key}}')`
  const { start: _, ...rest } = gateway('')
  const refuses = { ...rest, start: { command: ['{{node}}', '-e', says] } }
  const answers = `if (q.url === '/set') { r.statusCode = 403; return r.end('{{key.client}}') }`
  for (const target of [
    refuses,
    gateway(answers, { setup: [{ path: '/set' }] }),
    gateway(answers, { reset: [{ path: '/set' }] }),
  ])
    await assert.rejects(
      conform({ target, only: ['ROUTE-02'] }),
      (thrown) =>
        thrown instanceof StartError &&
        /\[secret:key\.client\]/.test(thrown.message) &&
        !/wbconformclient|mock-key/.test(thrown.message),
    )
})
test('if the gateway crashes in the preflight after a hostile check, this check fails (SUITE-02)', async () => {
  const late = `if (state.dying && q.method === 'GET') return r.end('{}', () => setTimeout(() => process.exit(9), 1))
    if (q.method === 'POST' && !text.includes('"content":"Where')) {
      state.dying = true
      r.statusCode = 400
      return r.end('{"error":{"message":"no messages","type":"x","param":null,"code":"x"}}')
    }`
  const { results, evidence } = await conform({ target: gateway(late), only: ['FAIL-02', 'ROUTE-02'] })
  assert.match(String(evidence.get('FAIL-02')!.facts.gone), /^it ended|ECONN/)
  const outcomes = new Map(results.verdicts.map(({ id, outcome }) => [id, outcome]))
  assert.deepEqual([outcomes.get('FAIL-02'), outcomes.get('ROUTE-02')], ['fail', 'pass'])
})

/**
 * Writes each gateway's process id to `file`; all except the first take a second to be ready.
 */
const slowTwins = (file: string): Target =>
  gateway(`if (!state.known) {
    const { appendFileSync, existsSync } = require('fs')
    state.twin = existsSync(${JSON.stringify(file)})
    state.known = true
    appendFileSync(${JSON.stringify(file)}, process.pid + '\\n')
  }
  if (state.twin) await new Promise((done) => setTimeout(done, 1000))`)

const pidsIn = (file: string): number[] => readFileSync(file, 'utf8').trim().split('\n').map(Number)

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test('if an exercise is aborted while an instance is starting, the instance ends before the next check', async (t) => {
  const file = join(root, 'given-up')
  const nothing = () => {}
  const worker = await openWorker({
    template: slowTwins(file),
    preflight: 'preflight',
    onMock: nothing,
    keep: nothing,
  })
  t.after(() => worker.close())
  const check: Check = {
    id: 'OWN-01',
    timeout: 400,
    exercise: async (session) => void (await session.another(null)),
    judge: () => [],
  }
  const { evidence, gone } = await worker.run(check)
  assert.match(evidence.untestable!, /within 400 ms/)
  assert.equal(gone, null)
  assert.deepEqual(pidsIn(file).map(isAlive), [true, false])
})

test('a disposed instance cannot be restarted, and an instance that is starting is ended as well', async () => {
  const file = join(root, 'disposed')
  const values = { 'mock.openai.root': 'http://127.0.0.1:1', 'mock.openai.key': 'no-key-at-all' }
  const { running, dispose } = await start(slowTwins(file), { values, variant: null })
  await running.stop('killed')
  const again = running.start()
  await dispose()
  await again
  assert.deepEqual(pidsIn(file).map(isAlive), [false, false])
  await assert.rejects(running.start(), StartError)
})
