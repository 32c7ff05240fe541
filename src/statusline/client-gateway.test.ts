// Values that the line reads from its client's environment, in both variants: the gateway that Claude Code
// itself calls, and the session set by `waybill run`.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ask, temporaryDirectory, testGateway } from '../test/test-gateway.ts'
import { gatewayAddress } from './remote-line.ts'
import {
  bare,
  commands,
  patiently,
  run,
  SCRIPT,
  session,
  surroundings,
  VARIANTS,
  WENT,
} from './test-statusline.ts'

const KEY = 'wb-a-key-of-tests'

test('the client’s own gateway is queried with the client’s key; a session given by name takes precedence (LINE-03)', async (t) => {
  const gateway = await testGateway(t, {
    config: `routes: { auto: { targets: [ { model: alpha/model-a } ] } }
keys: [ { name: k, role: client, digest: "sha256:${createHash('sha256').update(KEY).digest('hex')}" } ]`,
  })
  await gateway.chat(ask('auto'), { authorization: `Bearer ${KEY}`, 'x-session-id': 'tied' })
  const programs = await commands(t)
  for (const variant of VARIANTS)
    for (const [env, input] of [
      [{ ANTHROPIC_BASE_URL: gateway.url, ANTHROPIC_AUTH_TOKEN: KEY }, session('tied')],
      [{ ANTHROPIC_BASE_URL: `${gateway.url}/`, ANTHROPIC_API_KEY: KEY }, session('tied')],
      [
        { WAYBILL_URL: gateway.url, WAYBILL_KEY: KEY, ANTHROPIC_BASE_URL: 'http://127.0.0.1:9' },
        session('tied'),
      ],
      [{ WAYBILL_URL: gateway.url, WAYBILL_KEY: KEY, WAYBILL_SESSION_ID: 'tied' }, session('its own')],
    ] as const) {
      const ran = await patiently(
        () => run(programs[variant], surroundings(t, { ...env }), JSON.stringify(input)),
        ({ stdout }) => WENT.test(bare(stdout).trimEnd()),
      )
      assert.match(bare(ran.stdout).trimEnd(), WENT, `${variant} ${JSON.stringify(env)} ${ran.stderr}`)
    }
})

test('the status line never sends a request or a key to Anthropic itself', async (t) => {
  const usual = 'http://127.0.0.1:4949'
  const bin = temporaryDirectory(t)
  const said = join(bin, 'said')
  writeFileSync(join(bin, 'curl'), `#!/bin/sh\n{ echo "$@"; cat; } >${said}\n`)
  chmodSync(join(bin, 'curl'), 0o755)
  for (const url of [
    'https://api.anthropic.com',
    'https://API.Anthropic.com:443/v1',
    'https://anthropic.com',
  ]) {
    const env = { ANTHROPIC_BASE_URL: url, ANTHROPIC_AUTH_TOKEN: 'secret' }
    assert.deepEqual(gatewayAddress(null, null, env), { url: usual, key: null, keyFrom: null, problem: null })
    const path = `${bin}:${process.env.PATH}`
    rmSync(said, { force: true })
    await patiently(
      () => run(['/bin/sh', SCRIPT], surroundings(t, { ...env, PATH: path }), JSON.stringify(session('s'))),
      () => existsSync(said) && readFileSync(said, 'utf8').includes('/api/statusline'),
    )
    assert.match(readFileSync(said, 'utf8'), new RegExp(`${usual}/api/statusline`))
    assert.doesNotMatch(readFileSync(said, 'utf8'), /secret|anthropic/i)
  }
  for (const url of ['http://gateway.lan:4949', 'https://anthropic.com.example.org'])
    assert.equal(gatewayAddress(null, null, { ANTHROPIC_BASE_URL: url }).url, url)
  assert.equal(
    gatewayAddress('http://a', null, { ANTHROPIC_BASE_URL: 'http://b', ANTHROPIC_API_KEY: 'k' }).key,
    null,
  )
})
