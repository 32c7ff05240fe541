// Tests that imported recordings answer the requests from which they were made: errors, any path, sessions,
// private names.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { temporaryDirectory } from '../../src/test/test-gateway.ts'
import { classify } from '../matching/classify.ts'
import { createMatcher } from '../matching/match.ts'
import { placeAt, providers } from '../providers/registry.ts'
import { readRecordings } from '../recording/format.ts'
import { verifyRecordings } from '../recording/verify.ts'
import { hostName } from '../redaction/paths.ts'
import { importRecordings } from './import.ts'

interface Exchange {
  readonly url: string
  readonly method?: string
  readonly body?: unknown
  readonly status?: number
  readonly answer: unknown
}

/** Imports these exchanges as one HAR file. */
function imported(t: TestContext, exchanges: readonly Exchange[]) {
  const around = temporaryDirectory(t)
  const file = join(around, 'a.har')
  const entries = exchanges.map(({ url, method = 'POST', body, status = 200, answer }) => ({
    request: {
      method,
      url,
      headers: [],
      ...(body !== undefined && { postData: { text: JSON.stringify(body) } }),
    },
    response: { status, headers: [], content: { text: JSON.stringify(answer) } },
  }))
  writeFileSync(file, JSON.stringify({ log: { entries } }))
  const out = join(around, 'out')
  const [done] = importRecordings([file], { out, today: '2026-11-22' })
  assert.deepEqual(done!.refused, [])
  assert.deepEqual(verifyRecordings(out), [])
  const find = createMatcher(readRecordings(out))
  return {
    out,
    /** Returns the answer that replay finds for a request; throws if it finds none. */
    ask({ url, method = 'POST', body }: Pick<Exchange, 'url' | 'method' | 'body'>) {
      const address = new URL(url)
      const place = placeAt(providers, address)
      const found = find({
        places: [
          classify({
            provider: place?.provider.name ?? hostName(address.host),
            method,
            path: place?.path ?? address.pathname,
            body: body === undefined ? null : JSON.stringify(body),
          }),
        ],
      })
      if (!('bytes' in found)) throw new Error(`not found: ${url}: ${found.differs.join(', ')}`)
      return { status: found.response.status, json: JSON.parse(Buffer.from(found.bytes).toString()) }
    },
    /** Names and contents of all files that were written. */
    text: () =>
      readdirSync(out, { recursive: true, withFileTypes: true })
        .map(
          (one) => `${one.name}\n${one.isFile() ? readFileSync(join(one.parentPath, one.name), 'utf8') : ''}`,
        )
        .join('\n'),
  }
}

const chat = 'https://api.openai.com/v1/chat/completions'

test('an imported error is replayed for the request that caused it (REC-02)', (t) => {
  const tools = [{ type: 'function', function: { name: 'f' } }]
  const exchanges: Exchange[] = [
    { url: chat, body: { model: 'gpt-5-mini' }, answer: { id: 'a' } },
    { url: chat, body: { model: 'gpt-5-mini' }, status: 429, answer: { error: { code: 'x' } } },
    { url: chat, body: { model: 'gpt-5-mini', tools }, status: 400, answer: { error: { code: 'x' } } },
    { url: chat, body: { model: 'gpt-none', stream: true }, status: 404, answer: { error: { code: 'x' } } },
    { url: 'https://api.cohere.com/v2/chat', body: { model: 'c' }, status: 401, answer: { message: 'x' } },
    { url: 'https://api.groq.com/openai/v1/models', method: 'GET', status: 401, answer: { error: {} } },
  ]
  const { ask } = imported(t, exchanges)
  assert.deepEqual(
    exchanges.map((one) => ask(one).status),
    exchanges.map(({ status = 200 }) => status),
  )
})

test('a request to an imported path is replayed, whatever segments the path has (REC-02)', (t) => {
  const exchanges: Exchange[] = [
    'https://api.z.ai/api/paas/v4/chat/completions',
    'https://api.mistral.ai/v1/ocr',
    'https://api.mistral.ai/v1/fine_tuning/jobs',
    'https://api.mistral.ai/v1/fr/strange-thing/x9',
    'https://api.openai.com/v1/files',
    'https://api.openai.com/v1/vector_stores/vs_68f1c2d3e4a5b6c7/search',
    'https://aiplatform.googleapis.com/v1/projects/acme-prod/locations/us-east5/publishers/google/models/gemini-2.5-flash:generateContent',
    'https://aiplatform.googleapis.com/v1/projects/beta-prod/locations/us-east5/publishers/google/models/gemini-2.5-flash:generateContent',
    'https://bedrock-runtime.us-east-1.amazonaws.com/model/us.anthropic.claude-haiku-4-5-20251001-v1%3A0/invoke',
    'https://llm.acme.example/serving/acme/v1/embeddings',
  ].map((url, i) => ({ url, body: { input: 'x' }, answer: { index: i } }))
  const { ask, text } = imported(t, exchanges)
  for (const [i, one] of exchanges.entries()) assert.equal(ask(one).json.index, i, one.url)
  assert.doesNotMatch(text(), /acme|beta-prod/)
  assert.match(text(), /api\/paas\/v4\/chat\/completions/)
  assert.match(text(), /publishers\/google\/models\/gemini-2\.5-flash:generateContent/)
})

test('a replayed batch session accepts the ids from its own answers (REC-02, REC-03)', (t) => {
  const batches = 'https://api.openai.com/v1/batches'
  const file = 'file-8kVb7TqXy2LmN4pQ'
  const batch = 'batch_68f1c2d3e4a5b6c7'
  const output = 'file-Zz91AbCdEfGhIjKl'
  const { ask } = imported(t, [
    { url: 'https://api.openai.com/v1/files', body: {}, answer: { id: file, object: 'file' } },
    { url: batches, body: { input_file_id: file }, answer: { id: batch, status: 'validating' } },
    { url: `${batches}/${batch}`, method: 'GET', answer: { id: batch, status: 'in_progress' } },
    {
      url: `${batches}/${batch}`,
      method: 'GET',
      answer: { id: batch, status: 'completed', output_file_id: output },
    },
    { url: `https://api.openai.com/v1/files/${output}/content`, method: 'GET', answer: { custom_id: 'a' } },
  ])
  ask({ url: 'https://api.openai.com/v1/files', body: {} })
  const { id } = ask({ url: batches, body: {} }).json
  assert.notEqual(id, batch)
  const states = [1, 2].map(() => ask({ url: `${batches}/${id}`, method: 'GET' }).json)
  assert.deepEqual(
    states.map(({ status }) => status),
    ['in_progress', 'completed'],
  )
  const content = ask({
    url: `https://api.openai.com/v1/files/${states[1].output_file_id}/content`,
    method: 'GET',
  })
  assert.equal(content.status, 200)
  // A client that was started with the cassette's ids also gets its answers.
  assert.equal(ask({ url: `${batches}/${batch}`, method: 'GET' }).status, 200)
})

test('a replayed session also accepts short ids (REC-03)', (t) => {
  for (const [prefix, id] of [
    ['batches', 'batch_abc'],
    ['batches', 'batch_1'],
    ['files', 'file-a1b2c3'],
    ['threads', 'thread_x'],
  ]) {
    const url = `https://api.openai.com/v1/${prefix}`
    const { ask } = imported(t, [
      { url, body: {}, answer: { id } },
      { url: `${url}/${id}`, method: 'GET', answer: { id, status: 'completed' } },
    ])
    const created = ask({ url, body: {} }).json
    assert.equal(ask({ url: `${url}/${created.id}`, method: 'GET' }).json.status, 'completed', id)
    assert.equal(ask({ url: `${url}/${id}`, method: 'GET' }).json.status, 'completed', id)
  }
})

test('import removes incidental versions and models from a request (REC-01)', (t) => {
  for (const { url, body } of [
    { url: `${chat}?api-version=acme-merger-7`, body: { model: 'gpt-5-mini' } },
    { url: 'https://x.openai.azure.com/openai/v1/chat/completions', body: { model: 'scenario-acme-merger' } },
    { url: `${chat}?api-version=${encodeURIComponent('2024-10-21 acme')}`, body: { model: 'gpt-5-mini' } },
  ]) {
    const { text } = imported(t, [{ url, body, answer: { id: 'x' } }])
    assert.doesNotMatch(text(), /merger-7|acme-merger|21 acme/, url)
  }
})

test('HTTP methods are read in upper and lower case', (t) => {
  const { ask } = imported(t, [{ url: chat, method: 'post', body: { model: 'm' }, answer: { id: 'x' } }])
  assert.equal(ask({ url: chat, body: { model: 'm' } }).status, 200)
})

test('no written file contains a name that a customer chose (REC-01)', (t) => {
  for (const name of ['acme-payroll', 'zebra', 'gpt-4o-acme-prod', 'Acme_GPT'])
    for (const exchange of [
      { url: `https://acme-res.openai.azure.com/openai/deployments/${name}/chat/completions`, body: {} },
      { url: 'https://acme-res.openai.azure.com/openai/v1/chat/completions', body: { model: name } },
      { url: 'https://acme-res.services.ai.azure.com/models/chat/completions', body: { model: name } },
      { url: 'https://llm.acme-res.example:8443/v1/chat/completions', body: { model: name } },
      { url: `https://llm.acme-res.example:8443/${name}/v1/chat/completions`, body: { model: 'x' } },
    ]) {
      const answer = {
        id: 'x',
        model: exchange.body.model ?? name,
        error: { message: `The deployment ${name} has none` },
      }
      const { ask, text } = imported(t, [{ ...exchange, answer }])
      assert.equal(ask(exchange).status, 200)
      assert.doesNotMatch(text(), new RegExp(`${name}|acme`, 'i'), exchange.url)
    }
})
