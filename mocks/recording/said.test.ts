// Tests recordings that store their answers, as an application's tests use them. The gateway records them
// from a provider that answers each question. The mock then replays them without the provider, on another day
// and in another order.
import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { Agent, request } from 'undici'
import { clock } from '../../src/shared/clock.ts'
import { temporaryDirectory, testGateway } from '../../src/test/test-gateway.ts'
import { createMockProviders } from '../server/create.ts'
import { chunk, DONE, type Script, startMockServer, stream } from '../test-upstream.ts'
import { keepIn } from './digest-key.ts'
import { ownRecordings, readRecordings } from './format.ts'
import { createRecorder } from './recorder.ts'
import { verifyRecordings } from './verify.ts'

const RECORDED_ON = Date.parse('2026-01-05T09:30:00Z')
const KEY = 'sk-live-4f8a1c9e2b7d6035'
const COOKIE = '9f8e7d6c5b4a39281706'

const day = (ms: number) => new Date(ms).toISOString().slice(0, 10)
const system = (now: number, folder: string) =>
  `You are the guide of Harbourmaster Ltd. Today is ${day(now)}. The files are in ${folder}/maps. Session 3f2c${now.toString(16).slice(-4)}-1111-4222-8333-444455556666.`
const TOOLS = ['get_weather', 'get_tides'].map((name) => ({
  type: 'function',
  function: { name, parameters: { type: 'object', properties: { city: { type: 'string' } } } },
}))

/** Returns the application's questions; `now` and `folder` change from run to run. */
const questions = (now: number, folder: string) => {
  const about = (content: string, more = {}) => ({
    model: 'gpt-5-mini',
    messages: [
      { role: 'system', content: system(now, folder) },
      { role: 'user', content },
    ],
    ...more,
  })
  return {
    france: about('What is the capital of France?'),
    italy: about('What is the capital of Italy?'),
    streamed: about('What is the capital of Spain?', { stream: true }),
    asJson: about('Where is Bern? As JSON.', { response_format: { type: 'json_object' } }),
    time: about('It is 09:30 in France. Which capital?'),
    weather: about('How is the weather in Rome?', { tools: TOOLS }),
  }
}
type Question = keyof ReturnType<typeof questions>

const ANSWERS: Readonly<Record<string, string>> = {
  France: 'Paris is the capital.',
  Italy: 'Rome is the capital — and was before.',
  JSON: '{"city":"Bern","n":3,"key":"K","header":"C"}',
  snow: 'Take a coat.',
  sunny: 'Leave the coat.',
}

/** Provider that answers the last question, and repeats its caller's key. */
const model: Script = (response, { json }) => {
  const messages = json.messages as { role: string; content: string }[]
  const last = messages.at(-1)!
  if (last.content.includes('Spain'))
    return stream(
      chunk({ role: 'assistant', content: 'Mad' }),
      chunk({ content: 'rid.' }, { finish_reason: 'stop' }),
      DONE,
    )(response, null as never)
  const answer = Object.entries(ANSWERS).find(([word]) => last.content.includes(word))?.[1]
  const call = {
    id: 'call_Xy12345678abcdefghij',
    type: 'function',
    function: { name: 'get_weather', arguments: '{"city":"Rome","days":3}' },
  }
  const message = answer
    ? { role: 'assistant', content: answer.replace('K', KEY).replace('"C"', JSON.stringify(COOKIE)) }
    : { role: 'assistant', content: null, tool_calls: [call] }
  response
    .writeHead(200, {
      'content-type': 'application/json',
      'set-cookie': `session=${COOKIE}; Path=/; HttpOnly`,
    })
    .end(
      JSON.stringify({
        id: 'chatcmpl-AbCdEf0123456789AbCdEf',
        object: 'chat.completion',
        created: 1,
        model: 'gpt-5-mini',
        choices: [{ index: 0, message, finish_reason: answer ? 'stop' : 'tool_calls' }],
        usage: { prompt_tokens: 20, completion_tokens: 7 },
      }),
    )
}

const withResult = (question: any, call: any, result: string) => ({
  ...question,
  messages: [
    ...question.messages,
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: call.id, content: result },
  ],
})

/** Records every question, and the weather with two results. */
async function record(
  t: TestContext,
  { out = temporaryDirectory(t), keepText = false, only = null as Question[] | null } = {},
) {
  const refused: string[] = []
  const keep = keepIn(out, { keepAnswers: true, keepText })
  const gateway = await testGateway(t, {
    providers: { alpha: model },
    options: {
      wire: (dispatch) => (request, handler) =>
        createRecorder({
          provider: 'openai',
          baseUrl: `${request.origin}/v1`,
          out,
          secrets: [KEY],
          keep,
          now: () => RECORDED_ON,
          onRecorded() {},
          onRefused: (reason) => refused.push(reason),
        })(dispatch)(request, handler),
    },
  })
  const ask = async (body: { model: string }) => {
    const reply = await gateway.chat({ ...body, model: `alpha/${body.model}` })
    assert.equal(reply.status, 200, reply.text)
    return reply.json
  }
  const all = questions(RECORDED_ON, '/home/first/project')
  for (const name of only ?? (Object.keys(all) as Question[])) {
    const answered = await ask(all[name])
    if (name !== 'weather') continue
    const call = answered.choices[0].message.tool_calls[0]
    for (const result of ['snow', 'sunny']) await ask(withResult(all.weather, call, result))
  }
  assert.deepEqual(refused, [])
  return out
}

async function replaying(t: TestContext, recordings: string, options = {}) {
  const mock = await createMockProviders({ recordings, ...options })
  t.after(() => mock.close())
  return async (body: object) => {
    const response = await fetch(`${mock.baseUrl('openai')}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${mock.key('openai')}` },
      body: JSON.stringify(body),
    })
    const text = await response.text()
    return { status: response.status, text, json: text.startsWith('{') ? JSON.parse(text) : null }
  }
}

const written = (out: string) =>
  readdirSync(out, { recursive: true, encoding: 'utf8' })
    .filter((file) => statSync(join(out, file)).isFile() && !file.includes('digest-key'))
    .map((file) => `${file}\n${readFileSync(join(out, file), 'utf8')}`)
    .join('\n')

test('a recorded request still matches on another day, in another folder and in another order (REC-06)', async (t) => {
  const out = await record(t)
  const ask = await replaying(t, out)
  const asked = questions(clock.now(), '/srv/elsewhere/project')
  const said = async (body: object) => (await ask(body)).json?.choices[0].message
  assert.equal((await said(asked.italy)).content, ANSWERS.Italy)
  assert.equal((await said(asked.france)).content, ANSWERS.France)
  assert.equal((await said(asked.italy)).content, ANSWERS.Italy)
  assert.match((await ask(asked.streamed)).text, /"content":"Mad".*"content":"rid\.".*\[DONE\]/s)
  const { city, n } = JSON.parse((await said(asked.asJson)).content)
  assert.deepEqual([city, n], ['Bern', 3])

  const shuffled = { ...asked.weather, tools: TOOLS.toReversed() }
  const [call] = (await said(shuffled)).tool_calls
  assert.equal(call.function.name, 'get_weather')
  assert.deepEqual(JSON.parse(call.function.arguments), { city: 'Rome', days: 3 })
  assert.equal((await said(withResult(shuffled, call, 'sunny'))).content, ANSWERS.sunny)
  assert.equal((await said(withResult(shuffled, call, 'snow'))).content, ANSWERS.snow)
})

test('a stored answer contains no key, id or cookie, and its request is not stored (REC-01, REC-06)', async (t) => {
  const out = await record(t)
  const text = written(out)
  for (const secret of [KEY, COOKIE, 'chatcmpl-AbCdEf', 'call_Xy1', 'Harbourmaster', 'capital of', 'snow'])
    assert.ok(!text.includes(secret), `${secret} is there`)
  assert.match(text, /Paris is the capital\./)
  assert.deepEqual(verifyRecordings(out), [])
  const key = join(out, '.waybill/digest-key')
  assert.equal(statSync(key).mode & 0o777, 0o600)
  assert.equal(readFileSync(join(out, '.waybill/.gitignore'), 'utf8'), 'digest-key\n')
  chmodSync(key, 0o644)
  assert.match(verifyRecordings(out).join(), /digest-key: other users can read it/)
})

test("with --keep-text the recording has the request's text without key, date and folder (REC-06)", async (t) => {
  const out = await record(t, { keepText: true, only: ['france'] })
  const [recording] = readRecordings(out)
  assert.deepEqual(
    recording!.request.said!.parts.map(({ role, text }) => [role, text]),
    [
      [
        'system',
        'You are the guide of Harbourmaster Ltd. Today is <date>. The files are in <folder>/maps. Session <id 1>.',
      ],
      ['user', 'What is the capital of France?'],
    ],
  )
  assert.deepEqual(verifyRecordings(out), [])
})

test('if no recording matches, the mock returns only an error that names the nearest recording and the differences (REC-02, REC-06)', async (t) => {
  const out = await record(t, { only: ['france', 'weather'] })
  const ask = await replaying(t, out)
  const { france, weather } = questions(clock.now(), '/srv/elsewhere/project')
  const misses: [object, RegExp][] = [
    [
      { ...france, messages: [france.messages[0], { role: 'user', content: 'And of Peru?' }] },
      /plain; it differs in part 2, the user text "And of Peru\?"\./,
    ],
    [{ ...france, seed: 7 }, /it differs in seed \(not recorded\)\./],
    [{ ...france, messages: france.messages.slice(1) }, /it differs in part 1, .* 1 more part\./],
    [
      { ...weather, tools: [...TOOLS, { type: 'function', function: { name: 'get_wind' } }] },
      /tools; it differs in the tool "get_wind"\./,
    ],
    [
      { ...france, messages: [france.messages[0], { role: 'user', content: 'At 14:03, which capital?' }] },
      /perhaps only in "14:03": .* \.waybill\/masks/,
    ],
  ]
  for (const [body, words] of misses) {
    const { status, json } = await ask(body)
    assert.equal(status, 400)
    assert.equal(json.error.code, 'no_recording')
    assert.match(json.error.message, words)
  }
})

test('a pattern in .waybill/masks makes the requests from two runs equal, and an invalid pattern causes an error (REC-06)', async (t) => {
  const out = temporaryDirectory(t)
  const masks = join(out, '.waybill/masks')
  mkdirSync(join(out, '.waybill'))
  writeFileSync(masks, '# the time of day\n\\b\\d\\d:\\d\\d\\b\n')
  await record(t, { out, only: ['time'] })
  const ask = await replaying(t, out)
  const { time } = questions(clock.now(), '/srv/elsewhere/project')
  const later = [time.messages[0], { role: 'user', content: 'It is 23:59 in France. Which capital?' }]
  assert.equal((await ask({ ...time, messages: later })).json.choices[0].message.content, ANSWERS.France)
  writeFileSync(masks, '(\n')
  await assert.rejects(createMockProviders({ recordings: out }), /masks, line 1: .*; correct the pattern/)
})

test('with a missing or wrong key, neither replay nor recording starts (REC-06)', async (t) => {
  const out = await record(t, { only: ['france'] })
  const key = join(out, '.waybill/digest-key')
  const right = readFileSync(key, 'utf8').trim()
  writeFileSync(key, 'another key of enough characters, which is not the one\n')
  await assert.rejects(createMockProviders({ recordings: out }), /made with another digest key: openai\//)
  rmSync(key)
  await assert.rejects(createMockProviders({ recordings: out }), /their key is missing: put it into/)
  assert.throws(() => keepIn(out, { keepAnswers: true }), /their key is missing/)
  process.env.WAYBILL_DIGEST_KEY = right
  t.after(() => delete process.env.WAYBILL_DIGEST_KEY)
  const ask = await replaying(t, out)
  assert.equal((await ask(questions(clock.now(), '/srv/x/y').france)).status, 200)
})

/** Records one exchange with a provider directly, without a gateway. */
async function recordOne(t: TestContext, path: string, body: object, script: Script) {
  const out = temporaryDirectory(t)
  const refused: string[] = []
  const provider = await startMockServer(script)
  const dispatcher = new Agent().compose(
    createRecorder({
      provider: 'openai',
      baseUrl: provider.baseUrl,
      out,
      secrets: [KEY],
      keep: keepIn(out, { keepAnswers: true }),
      now: () => RECORDED_ON,
      onRecorded() {},
      onRefused: (reason) => refused.push(reason),
    }),
  )
  const { body: answer } = await request(`${provider.baseUrl}/${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
    dispatcher,
  })
  await answer.text()
  await dispatcher.close()
  await provider.close()
  return { out, refused }
}

test('a stored answer keeps the model’s text and calls, but parts that repeat the request are blanked (REC-01, REC-06)', async (t) => {
  const { out, refused } = await recordOne(
    t,
    'responses',
    { model: 'gpt-5-mini', instructions: 'Talk like a harbourmaster.', input: 'Hello from Rüschlikon' },
    (response, { json }) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(
        JSON.stringify({
          id: 'resp_0123456789abcdef',
          object: 'response',
          status: 'completed',
          model: json.model,
          instructions: json.instructions,
          metadata: { customer: 'Harbourmaster Ltd' },
          user: 'harbourmaster-7',
          tools: [
            {
              type: 'function',
              name: 'list_berths',
              parameters: { berth: 'harbour' },
              description: 'of the harbour',
            },
          ],
          text: {
            format: { type: 'json_schema', name: 'harbour_reply', schema: { properties: { berth: {} } } },
          },
          output: [
            {
              type: 'message',
              id: 'msg_0123456789abcdef',
              role: 'assistant',
              content: [{ type: 'output_text', text: 'Ahoy!' }],
            },
            {
              type: 'function_call',
              id: 'fc_0123456789abcdef',
              call_id: 'call_0123456789abcdef',
              name: 'list_berths',
              arguments: '{"depth_in_m":4}',
            },
          ],
        }),
      ),
  )
  assert.deepEqual(refused, [])
  const text = written(out)
  assert.doesNotMatch(text, /harbour|berth"|Rüschlikon|0123456789abcdef/i)
  assert.match(text, /"text":"Ahoy!"/)
  assert.match(text, /"name":"list_berths","arguments":"\{\\"depth_in_m\\":4\}"/)
  assert.deepEqual(verifyRecordings(out), [])
})

test('a key that a stream splits in two is detected, and nothing is written (REC-01)', async (t) => {
  const { out, refused } = await recordOne(
    t,
    'chat/completions',
    { model: 'gpt-5-mini', stream: true, messages: [{ role: 'user', content: 'Repeat it' }] },
    stream(chunk({ content: KEY.slice(0, 9) }), chunk({ content: KEY.slice(9) }), DONE),
  )
  assert.match(refused.join(), /not written, because its text, joined, contains/)
  assert.deepEqual(readRecordings(out), [])
})

const edits: [string, (head: any) => void, RegExp][] = [
  ['no digests', (head) => delete head.request.said.parts, /\.json: request\.said\.parts: /],
  [
    'a word for a digest',
    (head) => (head.request.said.parts[0].digest = 'x'),
    /parts\.0\.digest: is not a digest/,
  ],
  ['a role that there is not', (head) => (head.request.said.parts[0].role = 'boss'), /parts\.0\.role: /],
  ['an older format', (head) => (head.format = 1), /format: is 1, but the recording has members of format 2/],
  ['a newer format', (head) => (head.format = 3), /format: is neither 1 nor 2; upgrade Waybill/],
  [
    'a request that is a text',
    (head) => (head.request.asked = { headers: {}, body: 'hello' }),
    /asked\.body: /,
  ],
  [
    'a broken pattern',
    (head) => (head.request.when = { user: { pattern: '(' } }),
    /request\.when\.user.*regular expression/,
  ],
  ['an empty condition', (head) => (head.request.when = {}), /request\.when: needs one of user/],
  ['nonsense in its place', (head) => (head.request.said = 'hello'), /request\.said: /],
]

test('a recording with invalid edits is refused, and the error names the file and the field (REC-06)', async (t) => {
  const out = await record(t, { only: ['france'] })
  const file = join(out, `${readRecordings(out)[0]!.name}.json`)
  const right = readFileSync(file, 'utf8')
  for (const [name, edit, message] of edits) {
    const head = JSON.parse(right)
    edit(head)
    writeFileSync(file, JSON.stringify(head))
    await assert.rejects(createMockProviders({ recordings: out }), message, name)
    assert.match(verifyRecordings(out).join('\n'), message, name)
  }
  writeFileSync(file, right.slice(0, right.length / 2))
  await assert.rejects(createMockProviders({ recordings: out }), /is not JSON/)
})

test('recordings in formats 1 and 2 can be used in turn from one folder (REC-03, REC-06)', async (t) => {
  const out = await record(t, { only: ['france'] })
  const [newer] = readRecordings(out)
  for (const [name, order] of [
    ['older', undefined],
    ['older-2', 2],
  ] as const) {
    const { said: _, ...request } = newer!.request
    const bytes = JSON.stringify({ choices: [{ message: { role: 'assistant', content: name } }] })
    const { redaction: __, name: ___, bytes: ____, ...head } = newer!
    const older = {
      ...{ ...head, format: 1, origin: 'authored', date: '2026-01-01', shape: 'of an earlier version' },
      request: { ...request, fields: undefined, order },
      response: { ...head.response, body: `${name}.body.json`, chunks: [[bytes.length, 0]] },
    }
    writeFileSync(join(out, 'openai', `${name}.json`), JSON.stringify(older))
    writeFileSync(join(out, 'openai', `${name}.body.json`), bytes)
  }
  const ask = await replaying(t, out)
  const { france, italy } = questions(clock.now(), '/srv/elsewhere/project')
  const answers: string[] = []
  for (const question of [italy, france, italy, italy])
    answers.push((await ask(question)).json.choices[0].message.content)
  assert.deepEqual(answers, ['older', ANSWERS.France, 'older-2', 'older-2'])
})

test("recordings in the package's own folder, which is published, store no answers (REC-01)", () => {
  for (const dir of [ownRecordings, join(ownRecordings, 'openai')])
    assert.throws(() => keepIn(dir, { keepAnswers: true }), /belongs to the package/)
})
