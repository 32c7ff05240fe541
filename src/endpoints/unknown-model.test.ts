// ROUTE-07: if a provider no longer knows a target's model, the next target is tried. Any other 404 is final.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { answer, type Script } from '../../mocks/test-upstream.ts'
import { ask, TWO_TARGETS, testGateway } from '../test/test-gateway.ts'

const notFound =
  (body: unknown, status = 404): Script =>
  (response) =>
    response
      .writeHead(status, { 'content-type': typeof body === 'string' ? 'text/html' : 'application/json' })
      .end(typeof body === 'string' ? body : JSON.stringify(body))

/** Each provider's answer for an unknown model, in its own format. */
const UNKNOWN: Readonly<Record<string, unknown>> = {
  OpenAI: {
    error: {
      message: 'The model `model-a` does not exist or you do not have access to it.',
      type: 'invalid_request_error',
      param: null,
      code: 'model_not_found',
    },
  },
  'a code alone': { error: { message: 'gone', type: 'invalid_request_error', code: 'model_not_found' } },
  Anthropic: { type: 'error', error: { type: 'not_found_error', message: 'model: model-a' } },
  Gemini: [
    {
      error: {
        code: 404,
        message: 'models/model-a is not found for API version v1main, or is not supported.',
        status: 'NOT_FOUND',
      },
    },
  ],
  Ollama: { error: { message: 'model "model-a" not found, try pulling it first', type: 'api_error' } },
  'Ollama, older': { error: "model 'model-a' not found" },
  vLLM: { object: 'error', message: 'The model `model-a` does not exist.', type: 'NotFoundError', code: 404 },
  xAI: { code: 'Some requested entity was not found', error: 'The model model-a does not exist.' },
  OpenRouter: { error: { message: 'No endpoints found for model-a.', code: 404 } },
  Azure: { error: { code: 'DeploymentNotFound', message: 'The API deployment does not exist.' } },
}

/** 404 answers that do not mention the model. */
const OTHER: Readonly<Record<string, unknown>> = {
  'a wrong base URL': '<html><h1>404 Not Found</h1></html>',
  'a file that is gone': {
    error: { message: 'No such File object: file-abc', type: 'invalid_request_error', code: null },
  },
  'another model': {
    error: { message: 'The model `model-ab` does not exist.', type: 'invalid_request_error', code: null },
  },
  'nothing said': {},
}

const withTwoTargets = (t: TestContext) =>
  testGateway(t, {
    providers: { alpha: answer(), beta: answer() },
    config: `${TWO_TARGETS}\nresilience: { cooldown: 1ms }`,
  })

test('a 404 for an unknown model moves the call to the next target', async (t) => {
  const gateway = await withTwoTargets(t)
  for (const [name, body] of Object.entries(UNKNOWN))
    await t.test(name, async () => {
      gateway.upstream.alpha!.script = notFound(body)
      const got = await gateway.chat(ask('auto'))
      assert.equal(got.status, 200, got.text)
      const record = await gateway.record(got.headers.get('x-gateway-request-id'))
      assert.deepEqual(
        record.attempt_log.map(({ provider, status, outcome }: any) => [provider, status, outcome]),
        [
          ['alpha', 404, 'failed'],
          ['beta', 200, 'answered'],
        ],
      )
      assert.match(record.attempt_log[0].error_code, /not_?found/i)
      assert.equal(record.fallbacks, 1)
    })
})

test('a 404 for any other reason is final', async (t) => {
  const gateway = await withTwoTargets(t)
  for (const [name, body] of Object.entries(OTHER))
    await t.test(name, async () => {
      gateway.upstream.alpha!.script = notFound(body)
      const before = gateway.received()
      const got = await gateway.chat(ask('auto'))
      assert.equal(got.status, 404)
      assert.equal(gateway.received() - before, 1)
    })
})

test('if no target knows the model, the client receives the last 404 unchanged', async (t) => {
  const gateway = await testGateway(t, {
    providers: {
      alpha: notFound(UNKNOWN.OpenAI),
      beta: notFound({ error: { message: 'no model-b here', type: 't', code: 'model_not_found' } }),
    },
    config: TWO_TARGETS,
  })
  const got = await gateway.chat(ask('auto'))
  assert.equal(got.status, 404)
  assert.equal(got.json.error.message, 'no model-b here')
  assert.equal(gateway.received(), 2)
})

test('a call to a direct id with an unknown model is never rerouted (ROUTE-02)', async (t) => {
  const gateway = await testGateway(t, {
    providers: { alpha: notFound(UNKNOWN.OpenAI), beta: answer() },
    config: TWO_TARGETS,
  })
  assert.equal((await gateway.chat(ask('alpha/model-a'))).status, 404)
  assert.equal(gateway.received(), 1)
})
