// `auth: aws` and `platform: bedrock` over real sockets: Bedrock's checks, the client's answer, the record,
// and wrong or expired credentials.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { AwsAccount } from '../../mocks/dialects/aws.ts'
import { type Script, startMockServer } from '../../mocks/test-upstream.ts'
import { parseConfig } from '../config/load.ts'
import { SYSTEM_CLOCK } from '../shared/clock.ts'
import { dated } from '../shared/test-clock.ts'
import { testGateway } from '../test/test-gateway.ts'
import { ACCOUNT, bedrockScript, MESSAGE, useAccount } from './test-aws.ts'

const MODEL = 'eu.anthropic.claude-haiku-4-5-20251001-v1:0'

interface Setup {
  readonly script?: Script
  readonly aws?: string
  readonly now?: () => number
}

async function start(t: TestContext, { script = bedrockScript(), aws = '', now }: Setup = {}) {
  const bedrock = await startMockServer(script)
  t.after(() => bedrock.close())
  const origin = bedrock.baseUrl.replace('/v1', '')
  const signed = `auth: aws, aws: { region: eu-central-1${aws} }`
  const gateway = await testGateway(t, {
    config: `  invoke: { dialect: messages, platform: bedrock, base_url: "${origin}", ${signed} }
  anthropic: { dialect: messages, base_url: "${origin}/anthropic", ${signed} }
  openai: { dialect: chat, base_url: "${origin}/openai/v1", ${signed} }
models:
  invoke/${MODEL}: { price: { input: 1, output: 5 } }
artifacts: { bodies: true }
`,
    ...(now && { clock: dated(now) }),
  })
  const send = (
    model: string,
    more: object = {},
    headers: Record<string, string> = {},
    path = '/v1/messages',
  ) =>
    gateway.get(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01', ...headers },
      body: JSON.stringify({
        ...{ model, max_tokens: 9, messages: [{ role: 'user', content: 'whëre to?' }] },
        ...more,
      }),
    })
  return { ...gateway, bedrock, send }
}

test('InvokeModel receives a signed request with the model in the path and betas in the body; usage and cost are on record (KEEP-09)', async (t) => {
  useAccount(t, ACCOUNT)
  const { send, bedrock, record } = await start(t)
  const { status, json, headers } = await send(
    `invoke/${MODEL}`,
    { temperature: 0.5 },
    { 'anthropic-beta': 'a-2026-01-01, b-2026-02-02' },
  )
  assert.equal(status, 200)
  assert.deepEqual(json, MESSAGE)
  const [{ path, headers: got, json: body }] = bedrock.ledger as [(typeof bedrock.ledger)[0]]
  assert.equal(path, '/model/eu.anthropic.claude-haiku-4-5-20251001-v1%3A0/invoke')
  assert.deepEqual(body, {
    ...{ max_tokens: 9, messages: [{ role: 'user', content: 'whëre to?' }], temperature: 0.5 },
    ...{ anthropic_version: 'bedrock-2023-05-31', anthropic_beta: ['a-2026-01-01', 'b-2026-02-02'] },
  })
  for (const name of ['anthropic-version', 'anthropic-beta', 'x-api-key']) assert.equal(got[name], undefined)
  const { cost_usd, tokens, attempt_log } = await record(headers.get('x-gateway-request-id'))
  assert.deepEqual([tokens.input, tokens.output, cost_usd], [30, 12, (30 * 1 + 12 * 5) / 1e6])
  assert.equal(attempt_log[0].provider_key, 'aws')
})

test('an Anthropic API version later than the first is sent unchanged in the body', async (t) => {
  useAccount(t, ACCOUNT)
  const { send, bedrock } = await start(t)
  await send(`invoke/${MODEL}`, {}, { 'anthropic-version': '2026-10-21' })
  assert.equal(bedrock.ledger[0]!.json.anthropic_version, '2026-10-21')
})

test('an AWS event stream reaches a client as server-sent events, translated if the client uses another dialect', async (t) => {
  useAccount(t, ACCOUNT)
  const { send, bedrock, chat, record } = await start(t)
  const { text, headers } = await send(`invoke/${MODEL}`, { stream: true })
  assert.match(headers.get('content-type')!, /^text\/event-stream/)
  assert.match(bedrock.ledger[0]!.path, /\/invoke-with-response-stream$/)
  assert.equal(bedrock.ledger[0]!.json.stream, undefined)
  const types = [...text.matchAll(/^event: (.*)$/gm)].map(([, type]) => type)
  assert.deepEqual(types, [
    ...['message_start', 'content_block_start', 'content_block_delta', 'content_block_delta'],
    ...['content_block_stop', 'message_delta', 'message_stop'],
  ])
  assert.match(text, /"nörth"/)
  const { tokens, state } = await record(headers.get('x-gateway-request-id'))
  assert.deepEqual([state, tokens.input, tokens.output], ['completed', 30, 12])
  const translated = await chat({
    ...{ model: `invoke/${MODEL}`, stream: true },
    messages: [{ role: 'user', content: 'where to?' }],
  })
  assert.match(translated.text, /"content":" and west"/)
  assert.match(translated.text, /\[DONE\]/)
})

test('requests to Anthropic’s and OpenAI’s paths are also signed, with a query and a session token', async (t) => {
  const temporary = { ...ACCOUNT, sessionToken: 'IQoJb3JpZ2luX2VjEXAMPLEtoken/with+signs==' }
  useAccount(t, temporary)
  const { send, chat, bedrock } = await start(t, { script: bedrockScript({ accounts: [temporary] }) })
  const asked = await send('anthropic/claude-haiku-4-5', {}, {}, '/v1/messages?beta=true&z=%20a')
  assert.equal(asked.status, 200)
  const { status, text } = await chat({ model: 'openai/openai.gpt-oss-120b-1:0', messages: [] })
  assert.equal(status, 200, text)
  assert.deepEqual(
    bedrock.ledger.map(({ path }) => path),
    ['/anthropic/v1/messages?beta=true&z=%20a', '/openai/v1/chat/completions'],
  )
  assert.equal(bedrock.ledger[0]!.headers['x-amz-security-token'], temporary.sessionToken)
})

test('Bedrock answers a request to count tokens', async (t) => {
  useAccount(t, ACCOUNT)
  const { send, bedrock } = await start(t)
  const { json } = await send(`invoke/${MODEL}`, { max_tokens: undefined }, {}, '/v1/messages/count_tokens')
  assert.deepEqual(json, { input_tokens: 31 })
  const { input } = bedrock.ledger[0]!.json as { input: { invokeModel: { body: string } } }
  const body = JSON.parse(Buffer.from(input.invokeModel.body, 'base64').toString())
  assert.deepEqual(
    [body.max_tokens, body.anthropic_version, body.model],
    [1, 'bedrock-2023-05-31', undefined],
  )
})

for (const { what, account, says } of [
  {
    what: 'wrong secret',
    account: { ...ACCOUNT, secretAccessKey: 'wrong-secret-0123456789' },
    says: /signature wrong/,
  },
  {
    what: 'unknown access key',
    account: { ...ACCOUNT, accessKeyId: 'AKIANOBODY' },
    says: /does not know the access key/,
  },
  { what: 'denied account', account: { ...ACCOUNT, isDenied: true }, says: /bedrock:InvokeModel/ },
  {
    what: 'expired session',
    account: { ...ACCOUNT, sessionToken: 'expired-token', expiresAt: 0 },
    says: /have expired; renew/,
  },
] as const)
  test(`a ${what} causes a one-line error with the remedy, without AWS's message or a secret`, async (t) => {
    useAccount(t, account)
    const known = what === 'wrong secret' || what === 'unknown access key' ? ACCOUNT : account
    const { send, bedrock } = await start(t, { script: bedrockScript({ accounts: [known] }) })
    const { status, json, text } = await send(`invoke/${MODEL}`)
    assert.equal(status, 502)
    assert.match(json.error.message, says)
    assert.doesNotMatch(text, /arn:|123456789012|calculated/)
    for (const secret of [account.secretAccessKey, 'expired-token']) assert.ok(!text.includes(secret))
    // A retry happens only with credentials that may have been renewed meanwhile, and only once.
    assert.equal(bedrock.ledger.length, what === 'expired session' ? 2 : 1)
  })

test('without credentials a call is answered with an error, and nothing is sent', async (t) => {
  useAccount(t, null)
  const { send, bedrock } = await start(t)
  const { status, json } = await send(`invoke/${MODEL}`)
  assert.equal(status, 502)
  assert.match(json.error.message, /no credentials of AWS: neither the environment/)
  assert.equal(bedrock.ledger.length, 0)
})

for (const minutes of [-11, 11])
  test(`a clock that is ${minutes} minutes off costs one refused request; then AWS's clock is used`, async (t) => {
    useAccount(t, ACCOUNT)
    const { send, bedrock } = await start(t, { now: () => SYSTEM_CLOCK.now() + minutes * 60_000 })
    for (const requests of [2, 3]) {
      assert.equal((await send(`invoke/${MODEL}`)).status, 200)
      assert.equal(bedrock.ledger.length, requests)
    }
  })

test('files are read again, so that the next attempt uses credentials that another program has renewed', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'waybill-aws-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const file = join(directory, 'credentials')
  const write = ({ accessKeyId, secretAccessKey, sessionToken }: AwsAccount) =>
    writeFileSync(
      file,
      `[work]\naws_access_key_id = ${accessKeyId}\naws_secret_access_key = ${secretAccessKey}\naws_session_token = ${sessionToken}\n`,
    )
  const first = { ...ACCOUNT, sessionToken: 'first-session-token' }
  const second = { ...ACCOUNT, sessionToken: 'second-session-token' }
  useAccount(t, null, { AWS_SHARED_CREDENTIALS_FILE: file })
  write(first)
  const accounts: AwsAccount[] = [first]
  const { send, bedrock } = await start(t, { script: bedrockScript({ accounts }), aws: ', profile: work' })
  assert.equal((await send(`invoke/${MODEL}`)).status, 200)
  write(second)
  accounts[0] = { ...first, expiresAt: 0 }
  accounts.push(second)
  // The mock distinguishes the two tokens of its one key by the received token.
  bedrock.script = (response, received) =>
    bedrockScript({
      accounts: accounts.filter(
        ({ sessionToken }) => sessionToken === received.headers['x-amz-security-token'],
      ),
    })(response, received)
  const { status, text } = await send(`invoke/${MODEL}`)
  assert.equal(status, 200, text)
  assert.equal(bedrock.ledger.length, 3)
})

test('a stream whose session expires midway ends with an error, and the call is recorded as failed', async (t) => {
  useAccount(t, ACCOUNT)
  const failsAfter = { messages: 3, type: 'expiredTokenException' }
  const { send, record } = await start(t, { script: bedrockScript({ failsAfter }) })
  const { text, headers } = await send(`invoke/${MODEL}`, { stream: true })
  assert.match(text, /nörth/)
  assert.match(text, /event: error\ndata: .*authentication_error/)
  const { state, error_code } = await record(headers.get('x-gateway-request-id'))
  assert.deepEqual([state, error_code], ['failed', 'authentication_error'])
})

test('an event stream that is damaged, or announces a message of several gigabytes, does not count as an answer', async (t) => {
  useAccount(t, ACCOUNT)
  for (const damaged of [
    Buffer.alloc(64, 7),
    Buffer.from([0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0]),
    Buffer.alloc(40),
  ]) {
    const { send } = await start(t, {
      script: (response) =>
        response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' }).end(damaged),
    })
    const { status, json } = await send(`invoke/${MODEL}`, { stream: true })
    assert.equal(status, 502, JSON.stringify(json))
  }
})

test('`auth: aws` is refused without a region, together with a key, or with a platform for another dialect', () => {
  const problems = (provider: string) => {
    try {
      parseConfig(`providers: { p: { ${provider} } }\nroutes: {}`, 'test.yaml', {
        env: { K: 'key-0123456789' },
      })
    } catch (error) {
      return (error as Error).message
    }
    return ''
  }
  const base = 'base_url: "https://bedrock.example.org"'
  assert.match(problems(`dialect: messages, ${base}, auth: aws`), /names no region of AWS/)
  assert.match(problems(`dialect: messages, ${base}, aws: { region: eu-west-1 }`), /needs `auth: aws`/)
  assert.match(
    problems(`dialect: messages, ${base}, auth: aws, aws: { region: eu-west-1 }, key: $K`),
    /cannot stand beside `auth: aws`/,
  )
  assert.match(problems(`dialect: chat, ${base}, platform: bedrock`), /needs `dialect: messages`/)
  assert.doesNotMatch(
    problems('dialect: messages, base_url: "https://bedrock-runtime.us-east-1.amazonaws.com", auth: aws'),
    /region/,
  )
})
