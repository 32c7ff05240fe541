// `auth: aws` with requests of every kind, over real sockets: a server verifies each signature with AWS's own
// library, from the bytes that arrived.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { Hash } from '@smithy/hash-node'
import { SignatureV4 } from '@smithy/signature-v4'
import type { AwsAccount } from '../../mocks/dialects/aws.ts'
import { parseConfig } from '../config/load.ts'
import { type Arrived, recordOf, startProvider } from '../passthrough/test-provider.ts'
import { SYSTEM_CLOCK } from '../shared/clock.ts'
import { testGateway } from '../test/test-gateway.ts'
import { ACCOUNT, useAccount } from './test-aws.ts'

const TEMPORARY = { ...ACCOUNT, sessionToken: 'IQoJb3JpZ2luX2VjEXAMPLEtoken/with+signs==' }
const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=[^/]+\/\d{8}\/([^/]+)\/([^/]+)\/aws4_request, SignedHeaders=([^,]+), Signature=/

/** Parses a query as a server does that does not read `+` as a space. */
function queryOf(url: string): Record<string, string[]> {
  const pairs = url
    .replace(/^[^?]*\??/, '')
    .split('&')
    .filter(Boolean)
    .map((pair) => /^([^=]*)=?(.*)$/s.exec(pair)!.slice(1).map(decodeURIComponent) as [string, string])
  const byName = Map.groupBy(pairs, ([name]) => name)
  return Object.fromEntries([...byName].map(([name, same]) => [name, same.map(([, value]) => value)]))
}

/** Returns true if AWS's library makes the same signature from what arrived. */
async function isValid({ method, url, headers, body, bytes }: Arrived, account: AwsAccount, now: number) {
  const authorization = headers.authorization ?? ''
  const [, region, service, signed] = AUTHORIZATION.exec(authorization) ?? []
  const date = String(headers['x-amz-date'])
  const at = Date.parse(date.replace(/^(....)(..)(..)T(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z'))
  if (!region || !service || !signed || !(Math.abs(at - now) < 5 * 60_000)) return false
  if (headers['x-amz-security-token'] !== account.sessionToken || body.length !== bytes) return false
  if (headers['x-amz-content-sha256'] !== createHash('sha256').update(body).digest('hex')) return false
  const names = signed.split(';')
  const kept = Object.entries(headers).filter(
    ([name]) => names.includes(name) && name !== 'x-amz-content-sha256',
  )
  const mustBe = Object.keys(headers).filter((name) => /^(host|content-type|x-amz-.*)$/.test(name))
  if (!mustBe.every((name) => names.includes(name))) return false
  const signer = new SignatureV4({ credentials: account, region, service, sha256: Hash.bind(null, 'sha256') })
  const again = await signer.sign(
    {
      ...{ method, protocol: 'http:', hostname: 'unused', path: url.replace(/\?.*$/s, ''), body },
      query: queryOf(url),
      headers: Object.fromEntries(kept.map(([name, value]) => [name, String(value)])),
    },
    { signingDate: new Date(at) },
  )
  return again.headers.authorization === authorization
}

const RESPONSE = {
  ...{ id: 'resp_aws1', object: 'response', created_at: 1, model: 'gpt-oss', status: 'completed' },
  output: [{ id: 'm', type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'yes' }] }],
  usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
}
const MESSAGE = {
  ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'claude', stop_reason: 'end_turn' },
  ...{ content: [{ type: 'text', text: 'yes' }], usage: { input_tokens: 3, output_tokens: 2 } },
}

interface Options {
  /** AWS's clock minus this machine's, ms. */
  readonly skew?: number
  /** Number of first requests that are refused because the token has expired. */
  readonly expired?: number
}

function answerTo({ method, url, body }: Arrived): unknown {
  const text = body.toString()
  if (url.includes('count_tokens')) return { input_tokens: 31 }
  if (url.includes('/messages')) return url.includes('/batches') ? { id: 'batch_1', data: [] } : MESSAGE
  if (url.includes('/files')) return { id: 'file-aws1', object: 'file', data: [] }
  if (url.includes('/batches')) return { id: 'batch_aws1', object: 'batch', status: 'in_progress' }
  if (url.includes('/input_items')) return { object: 'list', data: [] }
  if (method === 'DELETE') return { id: 'resp_aws1', deleted: true }
  if (text.includes('"background"')) return { ...RESPONSE, status: 'queued', output: [], usage: null }
  if (url.includes('/responses')) return RESPONSE
  if (url.includes('/embeddings'))
    return { object: 'list', model: 'gpt-oss', data: [{ object: 'embedding', index: 0, embedding: [1] }] }
  return {
    ...{ id: 'c', object: 'chat.completion', created: 1, model: 'gpt-oss' },
    choices: [{ index: 0, message: { role: 'assistant', content: 'yes' }, finish_reason: 'stop' }],
  }
}

async function start(t: TestContext, { skew = 0, expired = 0 }: Options = {}) {
  useAccount(t, TEMPORARY)
  const seen: { readonly what: string; readonly valid: boolean; readonly status: number }[] = []
  let [clock, refusals] = [skew, expired]
  const refuse = ({ skew = 0, expired = 0 }: Options) => {
    clock = skew
    refusals = expired
  }
  const aws = await startProvider(t, async (response, arrived) => {
    const now = SYSTEM_CLOCK.now() + clock
    const valid = await isValid(arrived, TEMPORARY, now)
    const error = refusals-- > 0 ? 'ExpiredTokenException' : valid ? null : 'InvalidSignatureException'
    const status = error === null ? 200 : 403
    seen.push({ what: `${arrived.method} ${arrived.url}`, valid, status })
    response.writeHead(status, {
      ...{ 'content-type': 'application/json', date: new Date(now).toUTCString() },
      ...(error && { 'x-amzn-errortype': error }),
    })
    response.end(JSON.stringify(error === null ? answerTo(arrived) : { error: { message: error } }))
  })
  const signed = 'auth: aws, aws: { region: eu-central-1, service: bedrock-mantle }'
  const gateway = await testGateway(t, {
    providers: {},
    config: `  mantle: { dialect: [chat, responses, embeddings, images], base_url: "${aws.origin}/openai/v1", ${signed} }
  claude: { dialect: messages, base_url: "${aws.origin}/anthropic", ${signed} }
passthrough: [audio, moderations, rerank, completions, image-edits, files, batches]
`,
  })
  const json = (method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
    gateway.get(path, {
      method,
      headers: { ...(body && { 'content-type': 'application/json' }), ...headers },
      ...(body && { body: JSON.stringify(body) }),
    })
  const form = (path: string, fields: Record<string, string | Blob>) => {
    const body = new FormData()
    for (const [name, value] of Object.entries(fields)) body.append(name, value)
    return gateway.get(path, { method: 'POST', body })
  }
  return { ...gateway, aws, seen, refuse, json, form }
}

const CLAUDE = { 'anthropic-version': '2023-06-01' }
const hello = [{ role: 'user', content: 'whëre to?' }]
const model = 'mantle/gpt-oss'

test('each request to AWS is signed with the method, headers, query and body that are sent (KEEP-09)', async (t) => {
  const { json, form, seen, aws } = await start(t)
  const blob = (size: number) => new Blob([Buffer.alloc(size, 'ü')])
  const asked = [
    await json('POST', '/v1/chat/completions', { model, messages: hello }),
    await json('POST', '/v1/responses', { model, input: 'whëre' }),
    await json('POST', '/v1/embeddings', { model, input: 'x' }),
    await json('GET', '/v1/responses/resp_aws1'),
    await json('GET', "/v1/responses/resp_aws1?include[]=a&include[]=b&include[]=%C3%BC%20+*!()'~"),
    await json(
      'GET',
      '/v1/responses/resp_aws1/input_items?after=a%2Bb&b&a=1?2&constructor=1&__proto__=2&%zz',
    ),
    await json('POST', '/v1/responses/resp_aws1/cancel'),
    await json('DELETE', '/v1/responses/resp_aws1'),
    await json('POST', '/v1/messages', { model: 'claude/c', max_tokens: 9, messages: hello }, CLAUDE),
    await json('POST', '/v1/messages/count_tokens', { model: 'claude/c', messages: hello }, CLAUDE),
    await json('POST', '/v1/completions', { model, prompt: 'whëre' }),
    await json('POST', '/v1/completions', { model, prompt: 'ü'.repeat(200_000) }),
    await json('POST', '/v1/audio/speech', { model, input: 'whëre', voice: 'a' }),
    await form('/v1/audio/transcriptions', { model, file: blob(1_000) }),
    await form('/v1/images/edits', { model, prompt: 'a', image: blob(300_000) }),
    await json('POST', '/v1/moderations', { model, input: 'x' }),
    await json('POST', '/v2/rerank', { model, query: 'x', documents: ['ü'] }),
    await form('/v1/files', { purpose: 'batch', file: blob(1_000) }),
    await form('/v1/files', { purpose: 'batch', file: blob(400_000) }),
    await json('GET', '/v1/files?purpose=a+b&order=%61sc&limit=3'),
    await json('GET', '/v1/files/file-aws1'),
    await json('GET', '/v1/files/file-aws1/content', undefined, { range: 'bytes=0-9' }),
    await json('POST', '/v1/batches', { input_file_id: 'file-aws1', endpoint: '/v1/responses' }),
    await json('GET', '/v1/batches/batch_aws1'),
    await json('POST', '/v1/batches/batch_aws1/cancel'),
    await json('DELETE', '/v1/files/file-aws1'),
    await json('GET', '/v1/files', undefined, CLAUDE),
    await json('GET', '/v1/messages/batches?limit=2', undefined, CLAUDE),
  ]
  assert.deepEqual(
    seen.filter(({ valid }) => !valid).map(({ what }) => what),
    [],
  )
  assert.deepEqual(
    asked.filter(({ status }) => status !== 200).map(({ status, text }) => `${status} ${text}`),
    [],
  )
  assert.equal(seen.length, asked.length, 'each request is sent once')
  assert.deepEqual(
    aws.arrived.flatMap(({ url }) => (url.includes('?') ? [url.replace(/^[^?]*/, '')] : [])),
    [
      '?include%5B%5D=a&include%5B%5D=b&include%5B%5D=%C3%BC%20%20%2A%21%28%29%27~',
      '?after=a%2Bb&b=&a=1%3F2&constructor=1&%25zz=',
      '?purpose=a%20b&order=asc&limit=3',
      '?limit=2',
    ],
  )
  assert.ok(!JSON.stringify(aws.arrived.map(({ headers }) => headers)).includes('UNSIGNED'))
})

test('a background call to AWS is asked for with valid signatures, and its record closes with its cost', async (t) => {
  const { json, seen, record } = await start(t)
  const { headers } = await json('POST', '/v1/responses', { model, input: 'x', background: true })
  const closed = await record(headers.get('x-gateway-request-id'))
  assert.deepEqual([closed.state, closed.tokens.output], ['completed', 2])
  assert.deepEqual(
    seen.map(({ valid }) => valid),
    seen.map(() => true),
  )
})

for (const [what, method, path] of [
  ['read of a stored response', 'GET', '/v1/responses/resp_aws1'],
  ['cancel of a stored response', 'POST', '/v1/responses/resp_aws1/cancel'],
  ['relayed list', 'GET', '/v1/files?limit=2'],
] as const)
  for (const [why, options] of [
    ['its clock is 11 minutes behind', { skew: 11 * 60_000 }],
    ['its clock is 11 minutes ahead', { skew: -11 * 60_000 }],
    ['its credentials have expired', { expired: 1 }],
  ] as const)
    test(`a ${what} is sent once more with a new signature if ${why}`, async (t) => {
      const { json, seen, refuse } = await start(t)
      await json('POST', '/v1/responses', { model, input: 'x' })
      refuse(options)
      assert.equal((await json(method, path)).status, 200)
      assert.deepEqual(
        seen.map(({ status }) => status),
        [200, 403, 200],
      )
    })

test('a relayed request is sent again with a corrected clock, as a second attempt on record', async (t) => {
  const gateway = await start(t, { skew: 11 * 60_000 })
  const answer = await gateway.json('POST', '/v1/completions', { model, prompt: 'x' })
  assert.equal(answer.status, 200, answer.text)
  const { attempt_log } = await recordOf(gateway, answer)
  assert.deepEqual(
    attempt_log.map(({ n, status, outcome, provider_key }: Record<string, unknown>) => [
      n,
      status,
      outcome,
      provider_key,
    ]),
    [
      [1, 403, 'failed', 'aws'],
      [2, 200, 'answered', 'aws'],
    ],
  )
})

test('a body above the limit for bodies is not sent to AWS, and the error names the limit', async (t) => {
  useAccount(t, TEMPORARY)
  const aws = await startProvider(t, (response) => response.end('{}'))
  const gateway = await testGateway(t, {
    providers: {},
    server: 'body_limit: 100KiB',
    config: `  mantle: { dialect: chat, base_url: "${aws.origin}/v1", auth: aws, aws: { region: eu-west-1 } }
passthrough: [files]
`,
  })
  const body = new FormData()
  body.append('file', new Blob([Buffer.alloc(200_000)]))
  const { status, json } = await gateway.get('/v1/files', { method: 'POST', body })
  assert.deepEqual([status, json.error.code], [413, 'body_too_large'])
  assert.match(json.error.message, /signature of the whole body.* 102400 bytes/)
  assert.equal(aws.arrived.length, 0)
})

test('`websocket: on` is refused together with `auth: aws`, because a connection is not signed', () => {
  const provider = 'dialect: responses, base_url: "https://bedrock-mantle.eu-west-1.api.aws/v1", auth: aws'
  assert.throws(
    () =>
      parseConfig(
        `providers: { p: { ${provider}, aws: { region: eu-west-1 }, websocket: on } }\nroutes: {}`,
        'a.yaml',
        {
          env: {},
        },
      ),
    /websocket: cannot stand beside `auth: aws`/,
  )
})
