// `waybill fork` with a gateway whose calls are on record.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import {
  answer,
  chunk,
  DONE,
  fail,
  type Script,
  startMockServer,
  streamed,
} from '../../mocks/test-upstream.ts'
import { samples as gemini } from '../dialects/gemini/test-samples.ts'
import { samples as messages } from '../dialects/messages/test-samples.ts'
import { after } from '../shared/boundary.ts'
import { ENVIRONMENT, runCli, startServer } from '../test/test-cli.ts'
import { temporaryDirectory, testGateway } from '../test/test-gateway.ts'
import { until } from '../test/test-until.ts'

const MODELS = `models:
  alpha/model-a: { price: { input: 2, output: 6 } }
  beta/model-b: { price: { input: 20, output: 60 }, accepts: { output: 1000 } }
routes: { auto: { targets: [ { model: alpha/model-a } ] }, both: { targets: [ { model: alpha/model-a }, { model: beta/model-b } ] } }`

/** A gateway, and a function that makes a kept call with these members and returns the command to fork it. */
async function forking(t: TestContext, more = '', key?: string) {
  const headers: Record<string, string> = key ? { authorization: `Bearer ${key}` } : {}
  const gateway = await testGateway(t, {
    providers: { alpha: answer('First.'), beta: answer() },
    config: `${MODELS}\n${more}`,
    env: { WAYBILL_RESPONSES_KEY: 'k'.repeat(44) },
  })
  const file = join(temporaryDirectory(t), 'waybill.yaml')
  const provider = (name: string) => `  ${name}: { dialect: openai, base_url: "http://127.0.0.1:9/v1" }\n`
  writeFileSync(file, `providers:\n${provider('alpha')}${provider('beta')}${MODELS}\n`)
  const kept = (id: string) => gateway.get(`/api/usage/request-logs/${id}/kept`, { headers })
  const keep = async (more: object = {}) => {
    const body = JSON.stringify({ model: 'auto', messages: [{ role: 'user', content: 'Why?' }], ...more })
    const made = await gateway.get('/keep/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-session-id': 'origin', ...headers },
      body,
    })
    const id = made.headers.get('x-gateway-request-id')!
    await until('the call is kept', async () => (await kept(id)).status === 200)
    const fork = (...words: string[]) =>
      runCli(['fork', id, '--config', file, '--url', gateway.url, ...words], {
        env: { ...ENVIRONMENT, ...(key && { WAYBILL_KEY: key }) },
      })
    return { id, body, fork, file }
  }
  return { gateway, kept, keep }
}

const HIGHEST: Record<string, readonly [body: object, model: string, cost: RegExp, output: RegExp]> = {
  'by the limit of the request': [{ max_tokens: 500 }, 'alpha/model-a', /~\$0\.00304/, / 500 /],
  'by the limit of the model': [{}, 'beta/model-b', /~\$0\.0604/, / 1\.0k /],
  'by the dearest target of a route': [{ max_tokens: 500 }, 'both', /~\$0\.0304/, / beta\/model-b /],
  'unknown, if nothing has a limit': [{}, 'alpha/model-a', /unknown/, /no limit known/],
  'for each output': [{ max_tokens: 500, n: 3 }, 'alpha/model-a', /~\$0\.00904/, / 1\.5k /],
}
test('without --live the highest possible cost is printed, and nothing is sent (STEP-07)', async (t) => {
  const { gateway, keep } = await forking(t)
  for (const [title, [body, model, cost, output]] of Object.entries(HIGHEST))
    await t.test(title, async () => {
      const { fork } = await keep(body)
      const received = gateway.received()
      const { stdout, stderr, code } = await fork('--model', model)
      assert.equal(code, 0, stderr)
      assert.match(stdout, cost)
      assert.match(stdout, output)
      assert.match(stdout, /Nothing was sent; --live sends\.\n$/)
      assert.equal(gateway.received(), received)
    })
})

test('a call is named by its session and the number of its step, too', async (t) => {
  const { gateway, keep } = await forking(t)
  const { fork } = await keep({ max_tokens: 500 })
  const { id, file } = await keep({ max_tokens: 900 })
  const ofStep = (step: string, session = 'origin') =>
    runCli([
      'fork',
      session,
      step,
      '--model',
      'alpha/model-a',
      '--json',
      '--config',
      file,
      '--url',
      gateway.url,
    ])
  assert.equal(JSON.parse((await ofStep('2')).stdout).call_id, id)
  assert.notEqual(JSON.parse((await fork('--model', 'alpha/model-a', '--json')).stdout).call_id, id)
  for (const [step, session, problem] of [
    ['3', 'origin', 'the session has 2 steps, and no step 3'],
    ['1', 'other', 'the record has no session "other"; `waybill sessions` lists them'],
    ['0', 'origin', 'It is a number from 1 on.'],
  ] as const) {
    const { code, stderr } = await ofStep(step, session)
    assert.deepEqual([code, stderr.includes(problem)], [2, true], stderr)
  }
})

test('`--whatif` prices the tokens of the call at the other model', async (t) => {
  const { fork } = await (await forking(t)).keep()
  const { stdout } = await fork('--model', 'beta/model-b', '--whatif')
  assert.match(
    stdout,
    /\nthe call itself +alpha\/model-a +20 +7 +~\$0\.000082\nbeta\/model-b +beta\/model-b +20 +7 +~\$0\.00082\n.*it cost \$0\.000082\. /,
  )
})

test('a model that only a default would serve is refused, and nothing is sent', async (t) => {
  const { gateway, keep } = await forking(t, 'defaults: { chat: auto }')
  const { fork } = await keep()
  const before = gateway.received()
  const { stderr, code } = await fork('--model', 'model-z', '--live')
  assert.deepEqual([code, gateway.received()], [2, before])
  assert.match(stderr, /no route and no provider\/model "model-z"/)
})

const tool: Script = (response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const call = {
    index: 0,
    id: 'c1',
    type: 'function',
    function: { name: 'Bash', arguments: '{"command":"ls"}' },
  }
  response.end(chunk({ tool_calls: [call] }) + chunk({}, { finish_reason: 'tool_calls' }) + DONE)
}
const cutOff: Script = (response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(chunk({ content: 'Be' }), () => response.destroy())
}
const SENT: Record<string, readonly [script: Script, body: object, shown: RegExp]> = {
  'a whole answer': [answer('Because.'), { seed: 7 }, / Because\. /],
  'a stream': [streamed('Be', 'cause', '.'), { stream: true }, / Because\. /],
  'a call of a tool': [tool, { stream: true }, /→ Bash \{"command":"ls"\}/],
  'a refusal': [fail(400, {}, { message: 'Not this model.' }), {}, /failed: 400: Not this model\./],
  'a stream that breaks off': [cutOff, { stream: true }, /failed: upstream_/],
}
test('with --live the request is sent as it was to each model, and each answer or failure is a column (STEP-07)', async (t) => {
  const { gateway, kept, keep } = await forking(t)
  for (const [title, [script, body, shown]] of Object.entries(SENT))
    await t.test(title, async () => {
      gateway.upstream.beta!.script = script
      const { id, body: asked, fork } = await keep(body)
      const received = gateway.received()
      const { stdout, stderr, code } = await fork('--model', 'beta/model-b,alpha/model-a', '--live')
      assert.equal(code, 0, stderr)
      assert.match(stdout, /^asked +kept +beta\/model-b +alpha\/model-a\nanswered /)
      assert.match(stdout, shown)
      const { json: sent } = gateway.upstream.beta!.ledger.at(-1)!
      assert.deepEqual(sent, { ...sent, ...JSON.parse(asked), model: 'model-b' })
      assert.equal(gateway.received(), received + 2)
      const session = /session (fork-\S+)/.exec(stderr)![1]!
      const { json } = await gateway.get(`/api/usage/request-logs?session_id=${session}`)
      assert.deepEqual(
        json.data.map((each: any) => each.parent_id),
        [id, id],
      )
      for (const { id } of json.data) assert.equal((await kept(id)).status, 404)
    })
})

test('a kept step that failed is forked, with its failure in its column; with a spent budget a fork costs nothing', async (t) => {
  const key = 'wb-a-key-of-tests'
  const digest = createHash('sha256').update(key).digest('hex')
  const config = `keys: [ { name: k, digest: "sha256:${digest}", budget: { usd: 0.0015 } } ]`
  const { gateway, keep } = await forking(t, config, key)
  gateway.upstream.alpha!.script = fail(400, {}, { message: 'Too long.' })
  const { fork } = await keep({ stream: true, max_tokens: 10 })
  gateway.upstream.alpha!.script = answer('Again.', { prompt_tokens: 900, completion_tokens: 900 })
  const first = await fork('--model', 'alpha/model-a', '--live')
  assert.match(first.stdout, /failed: \S+ +Again\./)
  const received = gateway.received()
  const { stdout, stderr, code } = await fork('--model', 'alpha/model-a', '--live')
  assert.deepEqual([code, gateway.received()], [0, received], stderr)
  assert.match(stdout, /failed: 429: /)
  assert.match(stderr, /they cost \$0; on record/)
})

test('every repetition is sent once, and the JSON has each with its record', async (t) => {
  const { gateway, kept, keep } = await forking(t)
  const { fork } = await keep()
  const { stdout } = await fork('--model', 'beta/model-b', '--times', '3', '--live', '--keep', '--json')
  const { answers } = JSON.parse(stdout)
  assert.deepEqual(
    answers.map((each: any) => [each.output[0].text, each.call.cost_usd > 0]),
    Array(3).fill(['plain answer', true]),
  )
  assert.equal(gateway.upstream.beta!.ledger.length, 3)
  for (const { call } of answers) assert.equal((await kept(call.id)).status, 200)
})

test('a call that is not kept, an unknown model and contradicting options are errors before anything is sent', async (t) => {
  const { gateway, keep } = await forking(t)
  const { fork } = await keep()
  for (const [words, code, message] of [
    [['--model', 'nowhere', '--live'], 2, /no route and no provider\/model "nowhere"/],
    [['--model', 'auto', '--live', '--whatif'], 2, /--live sends, --whatif only prices/],
    [['--model', 'auto', '--times', '0'], 2, /1 to 100/],
  ] as const) {
    const ended = await fork(...words)
    assert.equal(ended.code, code)
    assert.match(ended.stderr, message)
  }
  await gateway.get('/api/kept/origin', { method: 'DELETE' })
  const ended = await fork('--model', 'auto', '--live')
  assert.equal(ended.code, 1)
  assert.match(ended.stderr, /are not kept, or no longer/)
  assert.equal(gateway.received(), 1)
})

const OTHERS = {
  gemini: {
    samples: gemini,
    path: '/v1beta/models/auto:generateContent',
    sentTo: /models\/other:generateContent/,
    headers: { 'x-goog-request-params': 'model=auto' },
  },
  messages: {
    samples: messages,
    path: '/v1/messages',
    sentTo: /\/messages$/,
    headers: { 'anthropic-version': '2023-01-01', 'anthropic-beta': 'context-1m-2025-08-07,new' },
  },
}
test('a call is forked with the headers that its provider got, by another path if that names the model (STEP-07)', async (t) => {
  for (const [dialect, { samples, path, sentTo, headers }] of Object.entries(OTHERS)) {
    const gateway = await testGateway(t, {
      providers: {
        alpha: (res) =>
          res.writeHead(200, { 'content-type': 'application/json' }).end(samples.answer('m', {})),
      },
      dialects: { alpha: [dialect] },
      config: 'routes: { auto: { targets: [ { model: alpha/m } ] } }',
      env: { WAYBILL_RESPONSES_KEY: 'k'.repeat(44) },
    })
    const made = await gateway.get(`/keep${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': 'not-kept', ...headers },
      body: samples.request('auto', false),
    })
    const id = made.headers.get('x-gateway-request-id')!
    const kept = async () => (await gateway.get(`/api/usage/request-logs/${id}/kept`)).status === 200
    await until('the call is kept', kept)
    const access = ['--url', gateway.url, '--config', join(gateway.data, 'none.yaml')]
    const { code, stdout, stderr } = await runCli(['fork', id, '--model', 'alpha/other', '--live', ...access])
    assert.equal(code, 0, stderr)
    assert.match(stdout, /alpha\/other/)
    const [, sent] = gateway.upstream.alpha!.ledger
    assert.ok(sent)
    assert.match(sent.path, sentTo)
    for (const [name, value] of Object.entries(headers)) assert.equal(sent.headers[name], value)
    assert.doesNotMatch(JSON.stringify(sent.headers), /not-kept/)
  }
})

const KILLS = Number(process.env.WAYBILL_KILLS ?? 2)

test('kills of the gateway between forks lose no inference, and record none twice (LIFE-01, STEP-07)', async (t) => {
  let inferences = 0
  const mock = await startMockServer((response, received) => {
    // The number of input tokens tells which inference an attempt on record was.
    const reply = answer('Again.', { prompt_tokens: 1_000 + inferences++, completion_tokens: 1 })
    after(
      Math.random() * 20,
      () => reply(response, received),
      () => response.destroy(),
    )
  })
  t.after(() => mock.close())
  const file = join(temporaryDirectory(t), 'waybill.yaml')
  const provider = `providers: { alpha: { dialect: openai, base_url: "${mock.baseUrl}" } }`
  writeFileSync(
    file,
    `server: { port: 0 }\ndata: ${temporaryDirectory(t)}\n${provider}\n${MODELS.replace(/, both.*/, ' }').replace(/ {2}beta.*\n/, '')}\n`,
  )
  const env = { WAYBILL_RESPONSES_KEY: 'k'.repeat(44) }
  const read = async (url: string, path: string) => (await fetch(url + path)).json() as Promise<any>
  let server = await startServer(t, ['serve', '--config', file], { env })
  const body = JSON.stringify({ model: 'auto', messages: [{ role: 'user', content: 'Why?' }] })
  const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body }
  const { headers } = await fetch(`${server.url}/keep/v1/chat/completions`, post)
  const id = headers.get('x-gateway-request-id')!
  await until(
    'the call is kept',
    async () => (await read(server.url, `/api/usage/request-logs/${id}/kept`)).answer,
  )
  const sessions = new Set<string>()
  for (let kill = 0; kill < KILLS; kill++) {
    const forks = [1, 2].map(() =>
      runCli([
        'fork',
        id,
        '--config',
        file,
        '--url',
        server.url,
        '--model',
        'auto',
        '--times',
        '12',
        '--live',
      ]),
    )
    // A fork that has not read the kept call yet rightly fails.
    await until('both forks have sent', async () => {
      const { data } = await read(server.url, '/api/usage/request-logs?limit=24')
      for (const { session_id: session } of data) if (session?.startsWith('fork-')) sessions.add(session)
      return sessions.size === 2 * (kill + 1)
    })
    const before = inferences
    await until('some more are sent', () => inferences > before + Math.random() * 8)
    server.child.kill('SIGKILL')
    await server.ended
    for (const { code, stderr } of await Promise.all(forks)) assert.equal(code, 0, stderr)
    server = await startServer(t, ['serve', '--config', file], { env })
  }
  const records: any[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page = await read(
      server.url,
      `/api/usage/request-logs?limit=200&parent_id=${id}${cursor && `&cursor=${cursor}`}`,
    )
    records.push(...page.data)
    cursor = page.next_cursor
  }
  const answered = records
    .filter(({ tokens }) => tokens.source === 'reported')
    .map(({ tokens }) => tokens.input)
  const interrupted = records.filter(({ state }) => state === 'interrupted').length
  t.diagnostic(
    `${KILLS} kills, ${inferences - 1} inferences, ${records.length} on record, ${interrupted} interrupted`,
  )
  assert.equal(new Set(answered).size, answered.length, 'no inference is on record twice')
  assert.ok(records.length >= inferences - 1, 'each inference is on record')
  assert.ok(
    answered.length + interrupted >= inferences - 1,
    'each inference is answered or interrupted on record',
  )
  assert.ok(records.every(({ session_id }) => session_id.startsWith('fork-')))
})
