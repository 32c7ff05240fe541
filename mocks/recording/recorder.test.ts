// Tests the recorder end to end: the gateway as `waybill record` runs it, a real socket, and a provider that
// repeats every secret in every possible place. Over 250 lines, because it lists these places one by one.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { gzipSync } from 'node:zlib'
import { createParser } from 'eventsource-parser'
import { clock } from '../../src/shared/clock.ts'
import { ask, providerKey, temporaryDirectory, testGateway } from '../../src/test/test-gateway.ts'
import { interceptProviders } from '../server/intercept.ts'
import { answer, DONE, event, fail, type Script, stream } from '../test-upstream.ts'
import { readRecordings } from './format.ts'
import { createRecorder } from './recorder.ts'
import { replay } from './test-replay.ts'
import { verifyRecordings } from './verify.ts'

const KEY = providerKey('alpha')
const PROMPT = 'Please forecast tomorrow’s harbour temperature in Rüschlikon — "urgently" 🌊'
const CANARY = 'marmalade-kettle-4711'
const ACCOUNT = 'acct_93kfkw02Dmq81ZZ'
const COOKIE = 'session=9f8e7d6c5b4a39281706'
const ORGANISATION = 'org-harbourmasters-guild'
/** Texts that recordings must not contain, and words that occur only in the prompt and the answer. */
const PLANTED = [
  KEY,
  CANARY,
  ACCOUNT,
  COOKIE.split('=')[1]!,
  ORGANISATION,
  'harbour',
  'forecast',
  'Rüschlikon',
]

/** Starts a gateway that records the answers of its one provider. */
async function recording(t: TestContext, script: Script, { provider = 'alpha' } = {}) {
  const out = temporaryDirectory(t)
  const refused: string[] = []
  const recorded: string[] = []
  const options = {
    provider,
    out,
    secrets: [KEY, CANARY],
    now: clock.now,
    onRecorded: (name: string) => recorded.push(name),
    onRefused: (reason: string) => refused.push(reason),
  }
  const gateway = await testGateway(t, {
    providers: { alpha: script },
    options: {
      // The mock server's port is known only after its start, so its address is taken from the request.
      wire: (dispatch) => (request, handler) =>
        createRecorder({ ...options, baseUrl: `${request.origin}/v1` })(dispatch)(request, handler),
    },
  })
  return { gateway, out, refused, recorded }
}

/** Returns all written files, including their names, as one text. */
function written(out: string): string {
  const files = readdirSync(out, { recursive: true, encoding: 'utf8' })
  return files
    .flatMap((file) => [
      file,
      statSync(join(out, file)).isFile() ? readFileSync(join(out, file), 'latin1') : '',
    ])
    .join('\n')
}

/** Returns the encodings in which a planted text could occur. */
function formsOf(text: string): string[] {
  const base64 = [0, 1, 2].map((offset) =>
    Buffer.from('#'.repeat(offset) + text)
      .toString('base64')
      .slice(4, -4),
  )
  return [
    Buffer.from(text).toString('latin1'),
    encodeURIComponent(text),
    JSON.stringify(text).slice(1, -1),
    Buffer.from(text).toString('hex'),
    ...base64.filter((form) => form.length >= 6),
  ]
}

function assertNothingPlanted(out: string): void {
  const text = written(out).toLowerCase()
  for (const planted of PLANTED)
    for (const form of formsOf(planted))
      assert.ok(!text.includes(form.toLowerCase()), `${planted} is there as ${form}`)
}

const events = (text: string) => {
  const found: { event: string | undefined; bytes: number; types: string }[] = []
  const parser = createParser({
    onEvent: ({ event, data }) =>
      found.push({
        event,
        bytes: Buffer.byteLength(data),
        types: data === '[DONE]' ? data : typesOf(JSON.parse(data)),
      }),
  })
  parser.feed(text)
  return found
}

/** Returns the types of all parts of a value, in order, with the names of fields. */
const typesOf = (value: unknown): string =>
  JSON.stringify(value, (_, inner) =>
    typeof inner === 'object' && inner !== null ? inner : inner === null ? 'null' : typeof inner,
  )

const LEAKY_HEADERS = {
  'set-cookie': `${COOKIE}; Path=/; HttpOnly`,
  'openai-organization': ORGANISATION,
  'x-request-id': `req_${CANARY}`,
  'x-account': ACCOUNT,
  'x-debug-authorization': `Basic ${Buffer.from(`user:${KEY}`).toString('base64')}`,
}

test('a recorded stream keeps its lengths, boundaries and pace, but none of its text (REC-01, REC-03)', async (t) => {
  let sent: Buffer[] = []
  const { gateway, out, refused, recorded } = await recording(t, (response, { json, headers }) => {
    const prompt = (json.messages as { content: string }[])[0]!.content
    const whole = Buffer.from(
      [
        ': OPENROUTER PROCESSING\n\n',
        `: ${prompt}\n\n`,
        ...[
          prompt,
          headers.authorization!,
          CANARY,
          `${KEY.slice(0, 9)}`,
          KEY.slice(9),
          JSON.stringify({ ACCOUNT }),
        ].map((content) =>
          event({
            id: `chatcmpl-${ACCOUNT}`,
            object: 'chat.completion.chunk',
            created: 1,
            model: 'model-a-2026-01-01',
            user: ACCOUNT,
            [CANARY]: { [KEY]: prompt },
            choices: [{ index: 0, delta: { role: 'assistant', content }, finish_reason: null }],
          }),
        ),
        event({
          id: `chatcmpl-${ACCOUNT}`,
          choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
          usage: { prompt_tokens: 20, completion_tokens: 7 },
        }),
        DONE,
      ].join(''),
    )
    // Boundaries inside a character, inside the key, inside `data:` and between the two ends of a line.
    const cuts = [
      whole.indexOf('🌊') + 2,
      whole.indexOf(KEY) + 7,
      whole.lastIndexOf('data:') + 2,
      whole.length - 1,
    ]
    sent = [0, ...cuts].map((cut, i) => whole.subarray(cut, cuts[i] ?? whole.length))
    response.writeHead(200, { 'content-type': 'text/event-stream', ...LEAKY_HEADERS })
    stream(
      sent[0]!,
      800, // a busy machine may see only part of the stream
      ...sent.slice(1),
    )(Object.assign(response, { writeHead: () => response }), null as never)
  })

  const reply = await gateway.chat(
    ask('alpha/model-a', {
      stream: true,
      messages: [{ role: 'user', content: PROMPT }],
      user: ACCOUNT,
      [`field_${CANARY}`]: 1,
    }),
  )
  assert.equal(reply.status, 200)
  assert.deepEqual(refused, [])
  assert.deepEqual(recorded, ['alpha/chat-completions-model-a-plain-stream'])
  assertNothingPlanted(out)
  assert.deepEqual(verifyRecordings(out), [])

  const [kept] = readRecordings(out)
  assert.deepEqual(
    kept!.response.chunks.map(([length]) => length),
    sent.map(({ length }) => length),
  )
  assert.ok(kept!.response.chunks[1]![1] >= 100, `${kept!.response.chunks[1]} ms before the second chunk`)
  assert.deepEqual(Object.keys(kept!.response.headers).sort(), ['content-type', 'x-request-id'])
  const { fields, ...request } = kept!.request
  assert.deepEqual(request, {
    method: 'POST',
    path: '/v1/chat/completions',
    model: 'model-a',
    stream: true,
    scenario: 'plain',
  })
  assert.deepEqual(fields, {
    model: Buffer.byteLength('"model-a"'),
    messages: Buffer.byteLength(JSON.stringify([{ role: 'user', content: PROMPT }])),
    stream: 4,
    user: ACCOUNT.length + 2,
    'xxxxx_xxxxxxxxx-xxxxxx-1111': 1,
    stream_options: Buffer.byteLength('{"include_usage":true}'),
  })

  const response = await replay(kept!, 'none')
  const replayed: Uint8Array[] = []
  for await (const chunk of response.body!) replayed.push(chunk)
  assert.deepEqual(
    replayed.map(({ length }) => length),
    sent.map(({ length }) => length),
  )
  const unnamed = ({ types, ...rest }: { types: string }) => ({
    ...rest,
    types: types.replace(new RegExp(`${CANARY}|${KEY}`, 'g'), 'x'),
  })
  const [before, after] = [sent, replayed].map((chunks) =>
    events(Buffer.concat(chunks).toString()).map(unnamed),
  )
  assert.equal(before!.length, 8)
  assert.deepEqual(
    after!.map((one) => ({ ...one, types: one.types.replace(/x+-x+-1111|xx-xxxxx-xxxxxx/g, 'x') })),
    before,
  )
  assert.match(Buffer.concat(replayed).toString(), /"prompt_tokens":20,"completion_tokens":7/)
})

test('whole answers, errors and compressed answers are stored without their texts (REC-01)', async (t) => {
  const { gateway, out, refused } = await recording(t, answer(`${PROMPT} ${KEY}`))
  const chat = (model: string) =>
    gateway.chat(ask(`alpha/${model}`, { messages: [{ role: 'user', content: PROMPT }] }))
  await chat('whole')
  gateway.upstream.alpha!.script = fail(404, LEAKY_HEADERS, {
    message: `No model for ${ORGANISATION}: ${PROMPT}`,
  })
  await chat('error')
  gateway.upstream.alpha!.script = (response) =>
    response
      .writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
      .end(gzipSync(JSON.stringify({ id: 'chatcmpl-1', choices: [{ message: { content: PROMPT } }] })))
  assert.equal((await chat('zipped')).json.choices[0].message.content, PROMPT)
  assert.deepEqual(refused, [])
  assertNothingPlanted(out)
  assert.deepEqual(verifyRecordings(out), [])
  assert.deepEqual(
    readRecordings(out).map(({ request, response, note }) => [
      request.scenario,
      response.status,
      note ?? null,
    ]),
    [
      ['plain', 404, null],
      ['plain', 200, null],
      ['plain', 200, "It came compressed (gzip); chunks and pace are not the provider's."],
    ],
  )
})

test('recordings of the same kind are replayed in order of creation, and no recording is overwritten', async (t) => {
  const { gateway, out, recorded } = await recording(t, answer(), { provider: 'openai' })
  for (const content of ['a', 'bb', 'ccc']) {
    gateway.upstream.alpha!.script = answer(content)
    await gateway.chat(ask('alpha/gpt-5-mini'))
  }
  assert.deepEqual(recorded, [
    'openai/chat-completions-gpt-5-mini-plain',
    'openai/chat-completions-gpt-5-mini-plain-2',
    'openai/chat-completions-gpt-5-mini-plain-3',
  ])
  for (const file of readdirSync(join(out, 'openai')))
    assert.equal(statSync(join(out, 'openai', file)).mode & 0o777, 0o600)

  const interception = interceptProviders({ recordings: out, pace: 'none' })
  t.after(() => interception.dispose())
  const replayed: string[] = []
  for (let i = 0; i < 4; i++) {
    const response = await fetch('https://api.openai.com/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer any' },
      body: JSON.stringify(ask('gpt-5-mini')),
    })
    replayed.push(((await response.json()) as any).choices[0].message.content)
  }
  assert.deepEqual(replayed, ['x', 'xx', 'xxx', 'xxx'])
})

test('an exchange with a secret in an unredacted part is refused, and nothing is written (REC-01)', async (t) => {
  const { gateway, out, refused } = await recording(t, answer())
  await gateway.chat(ask(`alpha/${CANARY}`))
  assert.match(
    refused.join(),
    /^POST \/v1\/chat\/completions, status 200: not written, because its \w+ contains a secret/,
  )
  assert.doesNotMatch(refused.join(), new RegExp(CANARY))
  gateway.upstream.alpha!.script = (response) => response.writeHead(204).end()
  await gateway.chat(ask('alpha/empty'))
  gateway.upstream.alpha!.script = stream('data: {"choices":[]}\n\n', (response) => response.destroy())
  await gateway.chat(ask('alpha/cut', { stream: true })).catch(() => {})
  assert.deepEqual(refused.slice(1), [
    'POST /v1/chat/completions, status 204: the answer has no body',
    'POST /v1/chat/completions, status 200: it broke off',
  ])
  assert.deepEqual(readdirSync(out), [])
})
