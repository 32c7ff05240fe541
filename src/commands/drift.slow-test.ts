// `waybill recordings drift` and `refresh` as a user runs them. A provider's answers change their shape after
// recording, and the requests are repeated over a real socket.
import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { readRecordings } from '../../mocks/recording/format.ts'
import { verifyRecordings } from '../../mocks/recording/verify.ts'
import { createMockProviders } from '../../mocks/server/create.ts'
import { type MockServer, type Script, startMockServer, USAGE } from '../../mocks/test-upstream.ts'
import { runCli } from '../test/test-cli.ts'
import { temporaryDirectory } from '../test/test-gateway.ts'

const KEY = 'sk-live-4f8a1c9e2b7d6035'

/** The recorded application. It sends each question, and includes its key and its folder in the first question. */
const APPLICATION = `
for (const content of process.argv.slice(2)) {
  const response = await fetch(process.env.OPENAI_BASE_URL + '/chat/completions', {
    method: 'POST',
    headers: { authorization: 'Bearer ' + process.env.OPENAI_API_KEY, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'auto', messages: [{ role: 'system', content: process.env.SECRET + ' in ' + process.cwd() }, { role: 'user', content }] }),
  })
  console.log((await response.json()).choices[0].message.content)
}
`

/** A provider that repeats the question in its current answer shape. */
const repeating =
  (shape: (body: string) => string = (body) => body): Script =>
  (response, { json }) => {
    const { content } = (json.messages as { content: string }[]).at(-1)!
    const body = JSON.stringify({
      ...{ id: 'chatcmpl-mock', object: 'chat.completion', created: 0, model: json.model },
      choices: [
        { index: 0, message: { role: 'assistant', content: `You asked: ${content}` }, finish_reason: 'stop' },
      ],
      usage: USAGE,
    })
    response.writeHead(200, { 'content-type': 'application/json' }).end(shape(body))
  }

interface Setting {
  readonly provider: MockServer
  readonly out: string
  readonly waybill: (...args: string[]) => ReturnType<typeof runCli>
  readonly said: () => string
}

/** Records two questions. */
async function recorded(t: TestContext, ...options: string[]): Promise<Setting> {
  const root = temporaryDirectory(t)
  const provider = await startMockServer(repeating())
  t.after(() => provider.close())
  const application = join(root, 'application.mjs')
  writeFileSync(application, APPLICATION)
  const config = join(root, 'waybill.yaml')
  writeFileSync(
    config,
    `providers: { live: { dialect: openai, base_url: "${provider.baseUrl}", key: $LIVE_KEY } }
models: { live/gpt-4.1: { price: { input: 100, output: 1000 } } }
routes: { auto: { targets: [ { model: live/gpt-4.1 } ] } }
`,
  )
  const out = join(root, 'recordings')
  const env = { LIVE_KEY: KEY, SECRET: `Use ${KEY}` }
  const [home, asking] = [join(root, 'recording'), join(root, 'asking')]
  for (const folder of [home, asking]) mkdirSync(folder)
  const waybill = (...args: string[]) => runCli(args, { cwd: args[0] === 'record' ? home : asking, env })
  const ended = await waybill(
    ...['record', '-c', config, '--out', out, ...options, '--', process.execPath, application],
    ...['One?', 'Two?'],
  )
  assert.equal(ended.code, 0, ended.stderr)
  assert.equal(ended.stdout, 'You asked: One?\nYou asked: Two?\n')
  provider.ledger.length = 0
  return {
    provider,
    out,
    waybill: (command, ...args) =>
      waybill('recordings', command, out, ...args, ...(command === 'drift' ? ['-c', config] : [])),
    said: () =>
      readRecordings(out)
        .map(({ bytes }) => Buffer.from(bytes).toString())
        .join('\n'),
  }
}

test('`waybill recordings drift` announces the cost, and makes no calls without `--live`', async (t) => {
  const { provider, waybill, out } = await recorded(t, '--keep-requests')
  const { code, stdout } = await waybill('drift')
  assert.equal(code, 0)
  // 20 input tokens at $100 per million and 7 output tokens at $1,000 per million, twice.
  assert.match(
    stdout,
    /^2 calls to live\. With the tokens that were recorded they cost \$0\.018 at today's prices; the limit is \$1\.00\.$/m,
  )
  assert.match(stdout, /^Nothing was sent\./m)
  assert.equal(provider.ledger.length, 0)

  const config = join(out, '../waybill.yaml')
  writeFileSync(config, readFileSync(config, 'utf8').replace(/^models:.*\n/m, ''))
  const unpriced = await waybill('drift', '--live')
  assert.equal(unpriced.code, 1)
  assert.match(
    unpriced.stdout,
    /^not asked {2}2 recordings: the price of live\/gpt-4\.1 is unknown; set models\.live\/gpt-4\.1\.price$/m,
  )
  assert.equal(provider.ledger.length, 0)
})

test('`waybill recordings drift --live` repeats the recorded requests, and does not report different words as drift', async (t) => {
  const { provider, waybill, out } = await recorded(t, '--keep-requests')
  provider.script = repeating((body) => body.replace('You asked', 'In quite other words'))
  const { code, stdout, stderr } = await waybill('drift', '--live')
  assert.equal(code, 0, stderr)
  assert.match(stdout, /^They cost \$0\.018\./m)
  assert.match(stdout, /^2 have the same shape, 0 moved, 0 of another kind, 0 failed$/m)
  const asked = provider.ledger.map(({ json }) =>
    (json.messages as { content: string }[]).map(({ content }) => content),
  )
  assert.deepEqual(asked.map((each) => each[1]).sort(), ['One?', 'Two?'])
  assert.ok(!asked[0]![0]!.includes(KEY), 'its key was not kept')
  assert.match(asked[0]![0]!, /in \/.*\/asking$/, 'the folder is the present one')
  const heads = readRecordings(out).map(({ request }) => JSON.stringify(request.asked))
  assert.match(heads.join(), / in \/_folder_*"/)
  assert.deepEqual(verifyRecordings(out), [])
})

test('`waybill recordings drift` reports the changes in each recording, and `refresh` accepts them after review', async (t) => {
  const { provider, waybill, out, said } = await recorded(t, '--keep-requests')
  const before = said()
  provider.script = repeating((body) =>
    body
      .replace('"object":"chat.completion",', '')
      .replace('"finish_reason":"stop"', '"finish_reason":"stop","annotations":[]')
      .replace('You asked', 'Newly asked'),
  )
  const { code, stdout, stderr } = await waybill('drift', '--live')
  assert.equal(code, 1)
  assert.match(
    stdout,
    /^moved {3}live\/\S+\n {8}gone {2}body object string\n {8}new {3}body choices\[\]\.annotations array$/m,
  )
  assert.match(`${stdout}${stderr}`, /0 have the same shape, 2 moved, 0 of another kind, 0 failed/)
  assert.equal(said(), before, 'nothing is taken up yet')

  const [first] = readRecordings(out).map(({ name }) => name)
  assert.equal((await waybill('refresh', '--only', 'live/none')).code, 2)
  const one = await waybill('refresh', '--only', first!)
  assert.equal(one.stdout, `taken up  ${first}\n`)
  assert.equal(said().match(/Newly asked/g)?.length, 1)
  assert.equal((await waybill('refresh')).code, 0)
  assert.equal(said().match(/Newly asked/g)?.length, 2)
  assert.equal(readdirSync(join(out, 'live')).length, 4, 'heads and bodies, no leftovers')
  assert.deepEqual(verifyRecordings(out), [])
  assert.equal((await waybill('refresh')).code, 1, 'there is nothing left')

  const mock = await createMockProviders({ recordings: out })
  t.after(() => mock.close())
  const reply = await fetch(`${mock.baseUrl('live')}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${mock.key('live')}` },
    body: JSON.stringify({
      model: 'gpt-4.1',
      messages: [
        { role: 'system', content: `Use ${KEY} in ${process.cwd()}` },
        { role: 'user', content: 'Two?' },
      ],
    }),
  })
  assert.match(await reply.text(), /Newly asked: Two\?/)
})

test('`waybill recordings drift --live` stops before a call that would exceed the limit', async (t) => {
  const { provider, waybill } = await recorded(t, '--keep-requests')
  const { code, stdout, stderr } = await waybill('drift', '--live', '--limit', '0.01')
  assert.equal(code, 1)
  assert.equal(provider.ledger.length, 1)
  assert.match(stdout, /^They cost \$0\.009\./m)
  assert.match(stdout, /^failed {2}live\/\S+: not asked, because of the limit of \$0\.01$/m)
  assert.match(stderr, /1 have the same shape, 0 moved, 0 of another kind, 1 failed/)
})

test('`waybill recordings drift` counts a new error as moved and a truncated answer as failed, and `refresh` accepts neither', async (t) => {
  const { provider, waybill, said } = await recorded(t, '--keep-requests')
  const before = said()
  provider.script = (response, received) => {
    if (JSON.stringify(received.json).includes('One?'))
      response.writeHead(400).end('{"error":{"message":"no"}}')
    else response.writeHead(200, { 'content-length': '500' }).write('{"id"', () => response.destroy())
  }
  const { code, stdout } = await waybill('drift', '--live')
  assert.equal(code, 1)
  assert.match(stdout, /^moved {3}live\/\S+: now error 400, before whole$/m)
  assert.match(stdout, /^failed {2}live\/\S+: POST \/v1\/chat\/completions, status 200: it broke off$/m)
  const refreshed = await waybill('refresh')
  assert.equal(refreshed.code, 1)
  assert.match(refreshed.stdout, /^kept {6}live\/\S+: the newer answer is an error, status 400$/m)
  assert.equal(said(), before)
})

test('recordings that do not contain their requests are compared with newer recordings of the same program', async (t) => {
  const older = await recorded(t)
  const { code, stdout, stderr } = await older.waybill('drift')
  assert.equal(code, 1)
  assert.match(
    stdout,
    /^not asked {2}2 recordings: it does not hold its request; record with --keep-requests$/m,
  )
  assert.match(stderr, /none of the 2 recordings can be asked again; .* --with NEWER/)
  const newer = await recorded(t)
  assert.match((await older.waybill('drift', '--with', newer.out)).stdout, /^2 have the same shape, 0 moved/m)
  const [name] = readRecordings(newer.out).map((one) => one.name)
  const body = join(newer.out, `${name}.body.json`)
  const text = readFileSync(body, 'utf8')
  for (const each of readRecordings(newer.out))
    writeFileSync(join(newer.out, `${each.name}.body.json`), text.replace('"index":0', '"inDex":0'))
  const moved = await older.waybill('drift', '--with', newer.out)
  assert.equal(moved.code, 1)
  assert.match(
    moved.stdout,
    /gone {2}body choices\[\]\.index number\n {8}new {3}body choices\[\]\.inDex number/,
  )
})

test('an answer that a later turn continues is not replaced', async (t) => {
  const { waybill, out } = await recorded(t, '--keep-requests')
  const [first, second] = readRecordings(out)
  const file = join(out, `${second!.name}.json`)
  const head = JSON.parse(readFileSync(file, 'utf8'))
  head.request.said.parts = [...first!.request.said!.parts, ...head.request.said.parts]
  writeFileSync(file, JSON.stringify(head))
  assert.equal((await waybill('drift', '--live')).code, 0)
  const { stdout } = await waybill('refresh')
  assert.match(
    stdout,
    new RegExp(`^kept {6}${first!.name}: ${second!.name} continues from the old answer`, 'm'),
  )
  assert.match(stdout, new RegExp(`^taken up {2}${second!.name}$`, 'm'))
})

/** Sends whole and streamed calls in each dialect to `WAYBILL_URL`. */
const POLYGLOT = `
const user = [{ role: 'user', content: 'Hello.' }]
const contents = [{ role: 'user', parts: [{ text: 'Hello.' }] }]
for (const [path, body] of [
  ['v1/messages', { model: 'anthropic/claude-sonnet-5-5', max_tokens: 50, messages: user, stream: true }],
  ['v1/messages', { model: 'anthropic/claude-sonnet-5-5', max_tokens: 50, messages: user }],
  ['v1/responses', { model: 'openai/gpt-6-luna', input: 'Hello.', stream: true }],
  ['v1/embeddings', { model: 'openai/text-embedding-3-small', input: ['a', 'b'] }],
  ['v1beta/models/gemini/gemini-3.8-flash:generateContent', { contents }],
  ['v1beta/models/gemini/gemini-3.8-flash:streamGenerateContent?alt=sse', { contents }],
]) {
  const response = await fetch(process.env.WAYBILL_URL + '/' + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(path + ': ' + text)
}
`

test('whole and streamed calls in every dialect are repeated in the same dialect', async (t) => {
  const root = temporaryDirectory(t)
  const mock = await createMockProviders()
  t.after(() => mock.close())
  writeFileSync(join(root, 'polyglot.mjs'), POLYGLOT)
  const names = ['anthropic', 'openai', 'gemini']
  const dialects = ['anthropic', '[openai, responses]', 'gemini']
  writeFileSync(
    join(root, 'waybill.yaml'),
    `providers:\n${names.map((name, i) => `  ${name}: { dialect: ${dialects[i]}, base_url: "${mock.baseUrl(name)}", key: $KEY_${i} }\n`).join('')}`,
  )
  const env = Object.fromEntries(names.map((name, i) => [`KEY_${i}`, mock.key(name)]))
  const waybill = (...args: string[]) => runCli(args, { cwd: root, env })
  const ended = await waybill('record', '--keep-requests', '--', process.execPath, 'polyglot.mjs')
  assert.equal(ended.code, 0, ended.stderr)
  const asked = () =>
    mock.entries().map(({ method, path, body }) => `${method} ${path} ${JSON.stringify(body)}`)
  const before = asked().sort()
  assert.equal(before.length, 6)
  mock.clear()
  const { stdout, stderr, code } = await waybill('recordings', 'drift', '--live')
  assert.equal(code, 0, stdout + stderr)
  assert.match(stdout, /^6 have the same shape, 0 moved, 0 of another kind, 0 failed$/m)
  assert.deepEqual(asked().sort(), before)
})
