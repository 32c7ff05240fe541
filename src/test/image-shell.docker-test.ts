// Commands that a user runs inside a running container with `docker exec`, as the documentation lists them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { docker, networkAndVolume, noEngine, startGateway } from './test-image.ts'

test('the commands `doctor`, `config check` and `routes` run in the image, with waybill on its path', {
  skip: noEngine,
}, async (t) => {
  const gateway = await startGateway(t, { place: await networkAndVolume(t) }, 'serve', '--replay')
  const example = '/app/examples/waybill.yaml'
  assert.match(await docker('exec', gateway.id, 'waybill', '--version'), /^\d+\.\d+\.\d+(-rc\.\d+)?$/)
  assert.match(await docker('exec', gateway.id, 'waybill', 'routes', '-c', example), /^auto {2}\(priority\)/)
})

test('`waybill key new` creates a key file in the volume, and only the image’s user can read the key', {
  skip: noEngine,
}, async (t) => {
  const gateway = await startGateway(t, { place: await networkAndVolume(t) }, 'serve', '--replay')
  const said = await docker('exec', gateway.id, 'waybill', 'key', 'new', 'laptop')
  assert.match(said, /^The key is in \/data\/waybill\/keys\/laptop\n/)
  assert.match(said, /digest: "sha256:[0-9a-f]{64}"/)
  assert.match(await docker('exec', gateway.id, 'cat', '/data/waybill/keys/laptop'), /^wb_\S+$/)
  assert.equal(
    await docker('exec', gateway.id, 'stat', '-c', '%a %u', '/data/waybill/keys/laptop'),
    '600 1000',
  )
})
