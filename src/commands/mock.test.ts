// `waybill mock` as a separate process, as a user runs it.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { createInterface } from 'node:readline'
import test, { type TestContext } from 'node:test'
import type { LedgerPage } from '../../mocks/ledger.ts'
import { CLI, ENVIRONMENT } from '../test/test-cli.ts'

function run(t: TestContext, ...args: string[]) {
  const child = spawn(process.execPath, [CLI, 'mock', ...args], { env: ENVIRONMENT })
  t.after(() => child.kill('SIGKILL'))
  return child
}

async function outcome(t: TestContext, ...args: string[]) {
  const child = run(t, ...args)
  let [out, err] = ['', '']
  child.stdout.on('data', (chunk) => (out += chunk))
  child.stderr.on('data', (chunk) => (err += chunk))
  const [code] = await once(child, 'close')
  return { code, out, err }
}

test('`waybill mock` prints the providers’ addresses, serves them, and ends on SIGTERM', async (t) => {
  const child = run(t, '--port', '0', '--control-port', '0', '--json')
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
  const told = JSON.parse(line)
  const { base_url, key } = told.providers.groq
  const response = await fetch(`${base_url}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }] }),
  })
  assert.equal(response.status, 200)
  assert.equal(((await response.json()) as { object: string }).object, 'chat.completion')
  const ledger = (await (await fetch(`${told.control_url}/ledger`)).json()) as { entries: unknown[] }
  assert.equal(ledger.entries.length, 1)
  child.kill('SIGTERM')
  assert.deepEqual(await once(child, 'close'), [0, null])
})

test('`waybill mock --deviations` answers with deviations, by name or by a seed, and says what they mean', async (t) => {
  for (const deviations of ['chat/word-error-whole', 'seed:7']) {
    const child = run(t, '--port', '0', '--control-port', '0', '--json', '--deviations', deviations)
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
    const told = JSON.parse(line)
    const { base_url, key } = told.providers.groq
    await fetch(`${base_url}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }] }),
    })
    const { entries } = (await (await fetch(`${told.control_url}/ledger`)).json()) as LedgerPage
    assert.match(entries[0]!.answer.from, /^deviation:chat\//)
    assert.equal(typeof entries[0]!.answer.concludes!.end, 'string')
  }
})

test('`waybill mock` lists its scenarios, all labelled synthetic', async (t) => {
  const { code, out } = await outcome(t, '--list', '--json')
  const listed = JSON.parse(out) as { name: string; origin: string; shape: string }[]
  assert.equal(code, 0)
  assert.ok(listed.some(({ name }) => name === 'cut-in-utf8'))
  assert.ok(listed.some(({ name }) => name === 'deviation:chat/id-per-fragment'))
  assert.ok(listed.every(({ origin, shape }) => origin === 'synthetic' && shape.length > 0))
})

test('a wrong argument causes a one-line error and exit code 2; a missing folder or a busy port causes exit code 1', async (t) => {
  const wrong = await outcome(t, '--port', '70000')
  assert.deepEqual([wrong.code, wrong.out], [2, ''])
  assert.match(wrong.err, /A port is a number from 0 to 65535/)
  const unknown = await outcome(t, '--deviations', 'chat/id-per-fragmnt')
  assert.equal(unknown.code, 2)
  assert.match(
    unknown.err,
    /^waybill: --deviations: there is no deviation "chat\/id-per-fragmnt"; near it are chat\/id-per-fragment[^\n]*\n$/,
  )
  const missing = await outcome(t, '--port', '0', '--control-port', '0', '--recordings', '/nowhere/at/all')
  assert.equal(missing.code, 1)
  assert.match(missing.err, /^waybill: \/nowhere\/at\/all is not a folder of recordings: .*\n$/)
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.after(() => taken.close())
  const { port } = taken.address() as AddressInfo
  const busy = await outcome(t, '--port', String(port), '--control-port', '0')
  assert.equal(busy.code, 1)
  assert.match(
    busy.err,
    /^waybill: cannot listen on 127\.0\.0\.1, port \d+: the port is already in use; [^\n]+\n$/,
  )
})
