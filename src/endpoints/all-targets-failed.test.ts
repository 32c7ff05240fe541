// When no target answers, the error lists the failure of each target, and `waybill doctor` reports it.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { answer, fail } from '../../mocks/test-upstream.ts'
import { runCli } from '../test/test-cli.ts'
import { ask, providerKey, TWO_TARGETS, temporaryDirectory, testGateway } from '../test/test-gateway.ts'

test('the error names every tried target and why it failed, but no key', async (t) => {
  const gateway = await testGateway(t, {
    providers: { alpha: fail(401), beta: answer() },
    config: TWO_TARGETS,
  })
  await gateway.upstream.beta!.close()
  const { status, json } = await gateway.chat(ask('auto'))
  assert.ok(status >= 500, `${status}`)
  assert.match(
    json.error.message,
    /^no target answered: alpha\/model-a: denied the gateway access with status 401; check the key .*; beta\/model-b: no connection \(ECONNREFUSED\)\.$/,
  )
  assert.ok(!JSON.stringify(json).includes(providerKey('alpha')))
})

test('if a route has only one target, and that target fails, the message is the target’s own error', async (t) => {
  const gateway = await testGateway(t)
  await gateway.upstream.alpha!.close()
  const { json } = await gateway.chat(ask('auto'))
  assert.match(json.error.message, /^alpha\/model-a: no connection \(ECONNREFUSED\)\.$/)
})

test('`waybill doctor` reports a route without a ready target, and reports when all calls fail', async (t) => {
  const gateway = await testGateway(t, {
    providers: { alpha: fail(500), beta: fail(503) },
    config: TWO_TARGETS,
  })
  const file = join(temporaryDirectory(t), 'waybill.yaml')
  const provider = '{ dialect: openai, base_url: "http://127.0.0.1:9/v1" }'
  const { port } = new URL(gateway.url)
  writeFileSync(
    file,
    `server: { port: ${port} }\ndata: ./data\nproviders: { alpha: ${provider}, beta: ${provider} }\n${TWO_TARGETS}\n`,
  )
  const doctor = () => runCli(['doctor', '-c', file])
  const before = await doctor()
  assert.equal(before.code, 0, before.stdout)
  assert.match(before.stdout, new RegExp(`is Waybill .*; its record is in ${gateway.data}$`, 'm'))
  await gateway.chat(ask('auto'))
  await gateway.record((await gateway.chat(ask('auto'))).headers.get('x-gateway-request-id'))
  const { code, stdout } = await doctor()
  assert.equal(code, 1)
  assert.match(
    stdout,
    /^BAD {2}no target of auto is ready: alpha\/model-a failed; passed over until \S+; beta\/model-b failed; passed over until \S+$/m,
  )
  assert.match(
    stdout,
    /^BAD {2}each of the newest 2 calls failed, last auto → \S+ with \S+ at \S+; its attempts: \/api\/usage\/request-logs\/\S+$/m,
  )
})
