// `waybill ui`: the address that it passes to the program that opens it, with and without keys, and the
// message without a gateway. A fake of that program stores its arguments.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { runCli } from '../test/test-cli.ts'
import { temporaryDirectory, testGateway } from '../test/test-gateway.ts'

const KEY = 'wb_the-key-of-the-test'
const KEYS = `keys: [ { name: me, digest: "sha256:${createHash('sha256').update(KEY).digest('hex')}" } ]
routes: { auto: { targets: [ { model: alpha/model-a } ] } }`
const skip =
  process.platform === 'linux' ? false : 'the fake has the name of the program that Linux opens with'

/** Creates a directory with an `xdg-open` that exits with this code and stores the given address. */
function opener(t: TestContext, status = 0) {
  const directory = temporaryDirectory(t)
  const [program, told] = [join(directory, 'xdg-open'), join(directory, 'told')]
  writeFileSync(program, `#!/bin/sh\nprintf %s "$1" > '${told}'\nexit ${status}\n`)
  chmodSync(program, 0o755)
  const path = [directory, process.env.PATH].join(delimiter)
  return {
    ui: (args: readonly string[], env: Record<string, string> = {}) =>
      runCli(['ui', '-c', join(directory, 'none.yaml'), ...args], { env: { PATH: path, ...env } }),
    opened: () => (existsSync(told) ? readFileSync(told, 'utf8') : null),
  }
}

test('without keys, the page opens without a sign-in', { skip }, async (t) => {
  const { url } = await testGateway(t)
  const { ui, opened } = opener(t)
  const { code, stdout, stderr } = await ui(['--url', url])
  assert.deepEqual([code, stdout, stderr], [0, `opened ${url} in the browser\n`, ''])
  assert.equal(opened(), `${url}/`)
})

test('with a key, the address contains a one-time sign-in code instead of the key', { skip }, async (t) => {
  const { url, get } = await testGateway(t, { config: KEYS })
  const { ui, opened } = opener(t)
  const { code, stdout, stderr } = await ui(['--url', url], { WAYBILL_KEY: KEY })
  assert.deepEqual([code, stdout, stderr], [0, `opened ${url} in the browser\n`, ''])
  const [base, signIn] = opened()!.split('#code=')
  assert.equal(base, `${url}/`)
  const exchange = () =>
    get('/page/sign-in', { method: 'POST', headers: { authorization: `Bearer ${signIn}` } })
  assert.equal((await exchange()).json.name, 'me')
  assert.equal((await exchange()).status, 401)
  const without = await ui(['--url', url])
  assert.equal(without.code, 1)
  assert.match(without.stderr, /^waybill: the gateway at \S+ requires a key; [^\n]+\n$/)
})

test('if no browser can be started, the address is printed', { skip }, async (t) => {
  const { url } = await testGateway(t)
  const { code, stdout, stderr } = await opener(t, 3).ui(['--url', url])
  assert.deepEqual([code, stdout], [0, `${url}/\n`])
  assert.match(stderr, /^waybill: no browser could be started here; [^\n]+\n$/)
  const { ui, opened } = opener(t)
  const printed = await ui(['--url', url, '--print'])
  assert.deepEqual([printed.code, printed.stdout, printed.stderr], [0, `${url}/\n`, ''])
  assert.equal(opened(), null)
})

test('if no gateway runs, one line reports this, and no browser is opened', { skip }, async (t) => {
  const { ui, opened } = opener(t)
  const { code, stdout, stderr } = await ui(['--url', 'http://127.0.0.1:9'])
  assert.deepEqual([code, stdout], [1, ''])
  assert.match(stderr, /^waybill: no gateway answers at http:\/\/127\.0\.0\.1:9; [^\n]+\n$/)
  assert.equal(opened(), null)
})
