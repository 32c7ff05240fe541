// Recognizes addresses that end in an endpoint's path, for every dialect.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DIALECTS } from '../dialects/registry.ts'
import { endpointIn, withoutEndpoint } from './schema.ts'

test('every dialect’s path is recognized at the end of an address and removed', () => {
  const paths = Object.values(DIALECTS)
    .map(({ client }) => client.path)
    .filter((path) => !path.includes('*'))
  assert.ok(paths.length >= 5, paths.join())
  for (const path of paths)
    for (const slash of ['', '/']) {
      const address = `https://api.example.com${path}${slash}`
      const [version = ''] = /^\/v1(beta)?/.exec(path) ?? []
      assert.equal(endpointIn(address), path.slice(version.length))
      assert.equal(withoutEndpoint(address), `https://api.example.com${version}`)
    }
  assert.equal(endpointIn('https://api.example.com/v1/'), null)
  assert.equal(withoutEndpoint('https://api.example.com/v1/'), 'https://api.example.com/v1')
})
