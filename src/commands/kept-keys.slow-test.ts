// Keys that are kept next to the configuration: the real command in an empty home, with a provider on loopback.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { answer, startMockServer } from '../../mocks/test-upstream.ts'
import { freePort, runCli, startCli, startServer } from '../test/test-cli.ts'
import { temporaryDirectory } from '../test/test-gateway.ts'
import { until } from '../test/test-until.ts'

const SECRET = 'sk-kept-0123456789'

async function home(t: TestContext) {
  const provider = await startMockServer(answer('hello'))
  t.after(() => provider.close())
  const directory = temporaryDirectory(t)
  const file = join(directory, 'waybill.yaml')
  writeFileSync(
    file,
    `# mine\nserver: { port: 0 }\nproviders:\n  a: { dialect: chat, base_url: ${provider.baseUrl}, key: $A_KEY }\nroutes: { auto: { targets: [ { model: a/m } ] } }\n`,
  )
  const options = { cwd: directory, env: { HOME: directory } }
  const withInput = async (args: readonly string[], text: string) => {
    const { child, ended } = startCli(args, options)
    child.stdin.end(text)
    return ended
  }
  const call = (url: string, key?: string) =>
    fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(key && { authorization: `Bearer ${key}` }) },
      body: JSON.stringify({ model: 'auto', messages: [{ role: 'user', content: 'hi' }] }),
    })
  return { provider, directory, file, options, withInput, call, keys: join(directory, 'keys.env') }
}

suite('kept keys', () => {
  test('a kept key is private, stays out of the configuration and of all output, and signs the calls of `serve`', async (t) => {
    const { provider, file, options, withInput, call, keys } = await home(t)
    const before = await runCli(['config', 'check'], options)
    assert.match(before.stderr, /A_KEY is not set; export it, keep it with `waybill key set A_KEY`/)
    const kept = await withInput(['key', 'set', 'A_KEY'], `${SECRET}\n`)
    assert.deepEqual([kept.code, kept.stdout, kept.stderr], [0, 'A_KEY is kept in keys.env\n', ''])
    assert.equal(statSync(keys).mode & 0o777, 0o600)
    const gateway = await startServer(t, ['serve'], options)
    assert.equal((await call(gateway.url)).status, 200)
    assert.equal(provider.ledger.at(-1)!.headers.authorization, `Bearer ${SECRET}`)
    const other = await withInput(['key', 'set', 'A_KEY'], 'sk-another-0123456789')
    assert.equal(other.code, 0)
    await until('the reload', () => /the configuration was reloaded/.test(gateway.said.stdout))
    assert.equal((await call(gateway.url)).status, 200)
    assert.equal(provider.ledger.at(-1)!.headers.authorization, 'Bearer sk-another-0123456789')
    assert.doesNotMatch(readFileSync(file, 'utf8') + JSON.stringify(gateway.said), /0123456789/)
  })

  test('a variable of the environment takes precedence, unless it is empty', async (t) => {
    const { provider, options, call, keys } = await home(t)
    writeFileSync(keys, `# mine\nexport A_KEY="${SECRET}"\n`, { mode: 0o600 })
    for (const [value, sent] of [
      ['sk-of-the-shell', 'sk-of-the-shell'],
      [' ', SECRET],
    ] as const) {
      const gateway = await startServer(t, ['serve'], { ...options, env: { ...options.env, A_KEY: value } })
      assert.equal((await call(gateway.url)).status, 200)
      assert.equal(provider.ledger.at(-1)!.headers.authorization, `Bearer ${sent}`)
      gateway.child.kill('SIGTERM')
      await gateway.ended
    }
  })

  test('a file that others may read is not used, and the command says so', async (t) => {
    const { options, keys, withInput } = await home(t)
    writeFileSync(keys, `A_KEY=${SECRET}\nWAYBILL_KEY=wb_x\n`)
    for (const mode of [0o644, 0o640, 0o604, 0o660]) {
      chmodSync(keys, mode)
      const { code, stderr } = await runCli(['serve'], options)
      assert.equal(code, 2)
      assert.match(stderr, /A_KEY is not set; the file of keys keys\.env is open to others; run chmod 600/)
      assert.doesNotMatch(stderr, /0123456789/)
    }
    const shell = { ...options, env: { ...options.env, A_KEY: 'x' } }
    assert.match(
      (await runCli(['config', 'check'], shell)).stderr,
      /warning: the file of keys keys\.env is open/,
    )
    assert.match((await runCli(['logs'], options)).stderr, /keys\.env is open to others; .* it is not used/)
    const set = await withInput(['key', 'set', 'B_KEY'], 'sk-b')
    assert.deepEqual([set.code, set.stdout], [1, ''])
  })

  test('`key new --own` makes the owner’s key, and every command finds it without an option', async (t) => {
    const { file, options, call, keys, directory } = await home(t)
    writeFileSync(keys, `A_KEY=${SECRET}\n`, { mode: 0o600 })
    const port = await freePort()
    writeFileSync(file, readFileSync(file, 'utf8').replace('port: 0', `port: ${port}`))
    const made = await runCli(['key', 'new', 'me', '--own'], options)
    assert.deepEqual([made.code, made.stderr], [0, ''])
    const text = readFileSync(file, 'utf8')
    assert.match(
      text,
      /^# mine\n[\s\S]*\nkeys:\n {2}- \{ name: me, role: admin, digest: sha256:[0-9a-f]{64} \}\n$/,
    )
    const key = /WAYBILL_KEY=(wb_\S+)/.exec(readFileSync(keys, 'utf8'))![1]!
    assert.ok(!(made.stdout + text).includes(key))
    const gateway = await startServer(t, ['serve'], options)
    assert.equal((await call(gateway.url)).status, 401)
    assert.equal((await call(gateway.url, key)).status, 200)
    for (const args of [
      ['logs'],
      ['sessions'],
      ['costs'],
      ['export'],
      ['ui', '--print'],
      ['doctor'],
      ['routes'],
      ['key', 'list'],
      ['run', '--quiet', '--', process.execPath, '-e', '""'],
      ['logs', '--url', `http://localhost:${port}`],
    ]) {
      const { code, stdout, stderr } = await runCli(args, options)
      assert.equal(code, 0, `${args.join(' ')}: ${stdout}${stderr}`)
      assert.ok(!(stdout + stderr).includes(key))
    }
    // The same from another directory, if the configuration is the user's.
    const elsewhere = join(directory, 'elsewhere')
    mkdirSync(join(directory, '.config', 'waybill'), { recursive: true })
    mkdirSync(elsewhere)
    for (const name of ['waybill.yaml', 'keys.env'])
      writeFileSync(join(directory, '.config', 'waybill', name), readFileSync(join(directory, name)), {
        mode: 0o600,
      })
    const far = { ...options, cwd: elsewhere }
    assert.equal((await runCli(['logs'], far)).code, 0)
    const line = await runCli(['statusline', 'install'], far)
    assert.match(line.stdout, new RegExp(`--url http://127.0.0.1:${port} --key-file \\S+/keys\\.env`))
    for (const variant of [[], ['--sh']]) {
      await runCli(['statusline', 'uninstall'], far)
      assert.equal((await runCli(['statusline', 'install', ...variant], far)).code, 0)
      const checked = await runCli(['statusline', 'doctor'], far)
      assert.doesNotMatch(checked.stdout, /requires a key|does not accept/, checked.stdout)
      assert.ok(!checked.stdout.includes(key))
    }
    const again = await runCli(['key', 'new', 'me2', '--own'], options)
    assert.match(again.stderr, /has a key of yours already/)
  })

  test('the owner’s key reaches no other address than that of its configuration', async (t) => {
    const { file, options, keys } = await home(t)
    writeFileSync(keys, `A_KEY=${SECRET}\nWAYBILL_KEY=wb_of_the_owner\n`, { mode: 0o600 })
    const heard: string[] = []
    const server = createServer((request, response) => {
      heard.push(JSON.stringify(request.headers))
      response.writeHead(401).end('{}')
    }).listen(0, '127.0.0.1')
    t.after(() => server.close())
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    writeFileSync(file, readFileSync(file, 'utf8').replace('port: 0', 'port: 4948'))
    for (const more of [
      { args: ['--url', `http://127.0.0.1:${port}`] },
      { env: { WAYBILL_URL: `http://127.0.0.1:${port}` } },
    ]) {
      const { code } = await runCli(['logs', ...(more.args ?? [])], {
        ...options,
        env: { ...options.env, ...more.env },
      })
      assert.equal(code, 1)
    }
    assert.ok(heard.length >= 2)
    assert.doesNotMatch(heard.join(), /wb_of_the_owner/)
  })
})
