// Cloud libraries are loaded only by a call that needs them.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'

const LIBRARIES = /node_modules\/(@aws|@smithy|@azure|google-auth-library|gaxios|gcp-metadata|jws)\b/

/** Runs a program that prints the paths of all modules that it has loaded. */
function loadedBy(program: string): string[] {
  const listed = `
    import { registerHooks } from 'node:module'
    const loaded = []
    registerHooks({ load(url, context, next) { loaded.push(url); return next(url, context) } })
    ${program}
    console.log(JSON.stringify(loaded))`
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--import', 'tsx', '--input-type=module', '--eval', listed],
    { encoding: 'utf8' },
  )
  assert.ok(stdout.startsWith('['), stderr)
  return JSON.parse(stdout)
}

const PARTS = `
  const { connect } = await import('${new URL('../gateway/providers.ts', import.meta.url)}')
  await import('${new URL('../gateway/create-gateway.ts', import.meta.url)}')
  const { credentialsOf } = await import('${new URL('registry.ts', import.meta.url)}')
  const of = (auth) => credentialsOf('p', { auth, base_url: 'https://bedrock-runtime.us-east-1.amazonaws.com' }, {
    secrets: new Map(), memory: {}, learn() {}, now: Date.now })`

test('a gateway loads no cloud library, even if a provider is configured for a cloud', () => {
  const loaded = loadedBy(`${PARTS}
    for (const auth of ['aws', 'google', 'entra', undefined]) of(auth)`)
  assert.ok(loaded.some((url) => url.endsWith('/credentials/aws.ts')))
  assert.deepEqual(
    loaded.filter((url) => LIBRARIES.test(url)),
    [],
  )
})

test('a call that must be signed loads only the AWS libraries', () => {
  const loaded = loadedBy(`${PARTS}
    Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'AKIAEXAMPLE', AWS_SECRET_ACCESS_KEY: 'secret-0123456789' })
    const credential = await of('aws').take({ caller: null, session: null, tried: new Set() })
    await credential.complete({ path: '/', headers: [], body: '{}' }, 'POST')`)
  const libraries = loaded.filter((url) => LIBRARIES.test(url))
  assert.ok(libraries.length > 0)
  for (const url of libraries) assert.match(url, /node_modules\/(@aws|@aws-sdk|@aws-crypto|@smithy)\//)
})
