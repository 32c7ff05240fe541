// Tests a mock with the address, name and certificate that the run specifies, and a gateway that uses these.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { conform } from '../runner/run.ts'
import { startMock } from './mock.ts'
import { readTarget } from './read.ts'
import { isLoopback, targetSchema } from './schema.ts'

const file = fileURLToPath(new URL('../targets/waybill.source.yaml', import.meta.url))

test('a gateway that trusts the certificate authority of a TLS mock can be tested (FLOW-06, FAIL-05)', async () => {
  const target = readTarget(file)
  const only = ['ROUTE-01', 'FLOW-03', 'FLOW-06', 'FAIL-05', 'KEEP-02']
  const { results } = await conform({
    target: {
      ...target,
      instances: 1,
      mock_tls: true,
      mock_name: 'localhost',
      env: { ...target.env, NODE_EXTRA_CA_CERTS: '{{mock.ca}}' },
    },
    profile: 'core',
    only,
  })
  const verdicts = results.verdicts.filter(({ outcome }) => outcome !== 'disabled')
  assert.deepEqual(
    verdicts.map(({ id, outcome }) => `${id} ${outcome}`),
    verdicts.map(({ id }) => `${id} pass`),
  )
  assert.equal(verdicts.length, only.length)
})

test("a target's template values contain the mock's configured name and the file of its certificate authority", async () => {
  const target = { ...readTarget(file), mock_tls: true, mock_name: 'gateway.example' }
  const { values, close } = await startMock(target)
  assert.match(values['mock.openai.base_url']!, /^https:\/\/gateway\.example:\d+\/openai\/v1$/)
  assert.match(readFileSync(values['mock.ca']!, 'utf8'), /^-----BEGIN CERTIFICATE-----/)
  await close()
  assert.throws(() => readFileSync(values['mock.ca']!), { code: 'ENOENT' })
})

test('the mock listens on loopback by default, and may listen on all addresses only with a name or for an image', () => {
  const rest = { name: 'x', providers: { openai: {} }, models: { call: 'm' } }
  const url = { url: 'http://127.0.0.1:1' }
  const of = (more: object) => targetSchema.safeParse({ ...rest, start: url, ...more })
  assert.equal(of({}).data?.mock_host, '127.0.0.1')
  assert.match(of({ mock_host: '0.0.0.0' }).error!.message, /host\.docker\.internal/)
  assert.ok(of({ mock_host: '0.0.0.0', mock_name: 'host.docker.internal' }).success)
  const image = { start: { image: 'x', port: 1 } }
  assert.ok(of(image).success)
  for (const more of [{ mock_tls: true }, { mock_host: '192.0.2.1' }])
    assert.match(of({ ...image, ...more }).error!.message, /in a container next to it/)
  for (const [host, loopback] of [
    ['127.0.0.1', true],
    ['127.1.2.3', true],
    ['::1', true],
    ['0.0.0.0', false],
    ['127.evil.example', false],
    ['192.0.2.1', false],
  ] as const)
    assert.equal(isLoopback(host), loopback, host)
})
