// Errors that only Bedrock sends: a model that failed, and a request that is too long.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { answer, type Script, startMockServer } from '../../mocks/test-upstream.ts'
import { testGateway } from '../test/test-gateway.ts'

const refused =
  (status: number, type: string, message: string): Script =>
  (response) =>
    response
      .writeHead(status, {
        'content-type': 'application/json',
        'x-amzn-errortype': `${type}:http://a.example/`,
      })
      .end(JSON.stringify({ message }))

/** Makes a call. Its first target is a model at Bedrock, the second a larger model elsewhere. */
async function call(t: TestContext, script: Script) {
  const bedrock = await startMockServer(script)
  t.after(() => bedrock.close())
  const origin = bedrock.baseUrl.replace('/v1', '')
  const { chat, record } = await testGateway(t, {
    env: { BEDROCK_KEY: 'bedrock-api-key-0123456789' },
    providers: { alpha: answer('elsewhere') },
    config: `  aws: { dialect: messages, platform: bedrock, base_url: "${origin}", key: $BEDROCK_KEY }
models: { aws/m: { context: 1000 }, alpha/m: { context: 2000 } }
routes: { auto: { targets: [ { model: aws/m }, { model: alpha/m } ] } }
resilience: { retries: 0 }`,
  })
  const said = await chat({ model: 'auto', messages: [{ role: 'user', content: 'hi' }] })
  const { attempt_log: log } = await record(said.headers.get('x-gateway-request-id'))
  return { said, attempts: log.map(({ provider, status }: any) => `${provider} ${status}`) }
}

for (const [what, script] of [
  ['a model that failed (424)', refused(424, 'ModelErrorException', 'The model could not be run.')],
  [
    'a request that is too long',
    refused(400, 'ValidationException', 'Input is too long for requested model.'),
  ],
  [
    'a request that the model itself calls too long',
    refused(
      400,
      'ValidationException',
      'The model returned the following errors: prompt is too long: 1001 tokens > 1000 maximum',
    ),
  ],
] as const)
  test(`after ${what} at Bedrock, the next target is tried (FIT-07, ROUTE-07)`, async (t) => {
    const { said, attempts } = await call(t, script)
    assert.equal(said.status, 200, said.text)
    assert.deepEqual(attempts, [`aws ${what.includes('424') ? 424 : 400}`, 'alpha 200'])
  })

test('any other request that Bedrock refuses as invalid is not tried elsewhere', async (t) => {
  const { said, attempts } = await call(t, refused(400, 'ValidationException', 'messages: too few'))
  assert.equal(said.status, 400)
  assert.match(said.json.error.message, /messages: too few/)
  assert.deepEqual(attempts, ['aws 400'])
})
