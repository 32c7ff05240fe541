// Runs the conformance suite from the image. The image contains everything that the suite needs. The suite
// tests a gateway in another container, which reaches the mock by the name of the suite's container.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from './test-gateway.ts'
import { docker, image, key, networkAndVolume, noEngine, startGateway } from './test-image.ts'

test('the suite runs in the image, even on a read-only file system', { skip: noEngine }, async () => {
  const inImage = (...command: string[]) =>
    docker('run', '--rm', '--no-healthcheck', '--read-only', '--tmpfs', '/tmp', image, 'conform', ...command)
  assert.match(await inImage('--list'), /^FLOW-06 +MUST +every gateway +/m)
  assert.match(await inImage('explain', 'FLOW-06'), /What usually causes a failure/)
  const out = await inImage('waybill', '--only', 'ROUTE-01', 'FLOW-06')
  assert.match(out, /✓ ROUTE-01/)
  assert.match(out, /✓ FLOW-06/)
})

test('the suite in the image tests a gateway in another container, and writes a report', {
  skip: noEngine,
}, async (t) => {
  const place = await networkAndVolume(t)
  const gateway = await startGateway(
    t,
    {
      place,
      config: `
providers: { openai: { dialect: openai, base_url: "http://suite:4950/openai/v1", key: $OPENAI_API_KEY } }
routes: { auto: { targets: [ { model: openai/gpt-5-mini } ] } }
`,
    },
    'serve',
  )
  const at = `{{(index .NetworkSettings.Networks "${place}").IPAddress}}`
  const address = await docker('inspect', '--format', at, gateway.id)
  const directory = temporaryDirectory(t)
  const file = join(directory, 'target.yaml')
  writeFileSync(
    file,
    JSON.stringify({
      name: 'a gateway in another container',
      start: { url: `http://${address}:4949` },
      ready: { path: '/readyz' },
      key_env: 'GATEWAY_KEY',
      mock_port: 4950,
      providers: { openai: {} },
      models: { logical: [{ id: 'auto', targets: [{ provider: 'openai', model: 'gpt-5-mini' }] }] },
      observability: { headers: { provider: 'x-gateway-provider', model: 'x-gateway-model' } },
      capabilities: { catalog: '/v1/models', read_paths: ['/v1/models'] },
    }),
  )
  const only = ['ROUTE-01', 'FLOW-06', 'TELL-01', 'KEEP-01', 'CAT-01']
  const suite = await docker(
    ...['create', '--network', place, '--network-alias', 'suite', '--no-healthcheck'],
    ...['--env', `GATEWAY_KEY=${key}`, image, 'conform', '/target.yaml', '--profile', 'observable'],
    ...['--mock-host', '0.0.0.0', '--mock-name', 'suite', '--report', '/tmp/report', '--only', ...only],
  )
  await docker('cp', file, `${suite}:/target.yaml`)
  const out = await docker('start', '--attach', suite)
  for (const id of only) assert.match(out, new RegExp(`✓ ${id}`))
  await docker('cp', `${suite}:/tmp/report`, directory)
  const { counts, inferences } = JSON.parse(readFileSync(join(directory, 'report', 'results.json'), 'utf8'))
  assert.equal(counts.pass, only.length)
  assert.equal(inferences.accounted, inferences.total)
  assert.ok(!readFileSync(join(directory, 'report', 'index.html'), 'utf8').includes(key))
})
