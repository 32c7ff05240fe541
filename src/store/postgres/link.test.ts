// TLS of the connection to the shared log: which certificates are trusted, and the error if none is.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import { certify } from '../../../mocks/server/certificate.ts'
import { temporaryDirectory } from '../../test/test-gateway.ts'
import { NO_POSTGRES, startPostgres, type TestPostgres } from '../../test/test-postgres.ts'
import type { SharedLogOptions } from '../shared-log.ts'
import { openLink } from './link.ts'

const skip = NO_POSTGRES
const PASSWORD = 'hunter2hunter2'
const shown = certify(['127.0.0.1'])
let postgres: TestPostgres
let port: number
if (!skip) {
  before(async () => {
    port = await freePort()
    postgres = await startPostgres({ listen_addresses: '127.0.0.1', port: String(port) })
    const { uid } = statSync(postgres.directory)
    const put = (name: string, text: string) => {
      const file = join(postgres.directory, name)
      writeFileSync(file, text)
      chmodSync(file, 0o600)
      chownSync(file, uid, uid)
      return file
    }
    const link = openLink({ url: await postgres.database('tls'), tls: 'verify' }, 'admin')
    await link.query(`ALTER SYSTEM SET ssl_cert_file = '${put('cert.pem', shown.cert)}'`)
    await link.query(`ALTER SYSTEM SET ssl_key_file = '${put('key.pem', shown.key)}'`)
    await link.query('ALTER SYSTEM SET ssl = on')
    await link.query('SELECT pg_reload_conf()')
    await link.close()
  })
  after(() => postgres.end())
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((done) => server.once('listening', done))
  const { port } = server.address() as { port: number }
  await new Promise((done) => server.close(done))
  return port
}

/** 0.0.0.0 reaches this machine, but the link does not recognize it as a local name. */
const urlTo = (host: '127.0.0.1' | '0.0.0.0') => `postgresql://waybill:${PASSWORD}@${host}:${port}/tls`

const file = (t: TestContext, text: string): string => {
  const path = join(temporaryDirectory(t), 'ca.pem')
  writeFileSync(path, text)
  return path
}

/** Reports whether the connection is encrypted; rejects if it fails. */
async function encrypted(
  t: TestContext,
  options: Omit<SharedLogOptions, 'tls'> & Partial<SharedLogOptions>,
): Promise<boolean> {
  const link = openLink({ tls: 'verify', ...options }, 'tls')
  t.after(() => link.close())
  const [row] = await link.query<{ ssl: boolean }>('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()')
  return row!.ssl
}

test('a certificate for the right name from the configured authority is accepted (FLEET-17)', {
  skip,
}, async (t) => {
  const ca = file(t, shown.ca)
  assert.equal(await encrypted(t, { url: urlTo('127.0.0.1'), ca }), true)
  assert.equal(await encrypted(t, { url: urlTo('127.0.0.1') }), false, 'on this machine it need not be')
  assert.equal(await encrypted(t, { url: urlTo('0.0.0.0'), tls: 'off' }), false)
})

test('a certificate from an unknown authority or for another name is refused with a one-line error that omits the address (FLEET-17)', {
  skip,
}, async (t) => {
  for (const [options, said] of [
    [{ url: urlTo('127.0.0.1'), ca: file(t, certify(['127.0.0.1']).ca) }, /certificate/],
    [{ url: urlTo('0.0.0.0') }, /certificate/],
    [{ url: urlTo('0.0.0.0'), ca: file(t, shown.ca) }, /IP: 0\.0\.0\.0 is not in the cert's list/],
    [{ url: urlTo('127.0.0.1'), ca: '/no/such/file.pem' }, /\/no\/such\/file\.pem/],
    // The address may request weaker TLS, but `fleet.tls` decides.
    [{ url: `${urlTo('0.0.0.0')}?sslmode=disable` }, /certificate/],
  ] as const)
    await assert.rejects(encrypted(t, options), ({ name, message }: Error) => {
      assert.equal(name, 'LinkError')
      assert.match(message, said)
      assert.doesNotMatch(message, /\n|hunter2|postgresql:/)
      return true
    })
})

test('a bad certificate causes a one-line error in a command, and a server without TLS is refused (FLEET-17)', {
  skip,
}, async (t) => {
  const directory = temporaryDirectory(t)
  const config = join(directory, 'waybill.yaml')
  const status = (url: string, ca: string) => {
    writeFileSync(
      config,
      `data: ${directory}\nfleet: { url: $FLEET_URL, ca: ${ca} }\nproviders: { alpha: { dialect: chat, base_url: "http://127.0.0.1:9" } }\nroutes: { auto: { targets: [ { model: alpha/a } ] } }\n`,
    )
    const { stdout, stderr, status } = spawnSync(
      process.execPath,
      ['src/cli.ts', 'fleet', 'status', '--config', config],
      {
        cwd: join(import.meta.dirname, '../../..'),
        env: { ...process.env, FLEET_URL: url },
        encoding: 'utf8',
      },
    )
    return { lines: (stdout + stderr).trimEnd().split('\n'), status }
  }
  const wrong = status(urlTo('127.0.0.1'), file(t, certify(['127.0.0.1']).ca))
  assert.equal(wrong.lines.length, 1, wrong.lines.join('\n'))
  assert.match(wrong.lines[0]!, /certificate/)
  assert.notEqual(wrong.status, 0)
  const link = openLink({ url: urlTo('127.0.0.1'), tls: 'verify' }, 'admin')
  t.after(() => link.close())
  await link.query('ALTER SYSTEM SET ssl = off')
  await link.query('SELECT pg_reload_conf()')
  await assert.rejects(
    encrypted(t, { url: urlTo('127.0.0.1'), ca: file(t, shown.ca) }),
    /does not support SSL/,
  )
})
