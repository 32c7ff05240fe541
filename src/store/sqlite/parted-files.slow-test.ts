// LOG-07, LIFE-04: the names in the data directory no longer lead to the files that the gateway has open. Links,
// mounts and renamed parent directories cause this. Either the gateway notices and refuses calls, or the change is
// harmless. After SIGKILL and a restart, every inference that the provider received is on record. Runs the real
// program, one process for each start.
import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  copyFileSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { type MockServer, startMockServer } from '../../../mocks/test-upstream.ts'
import { ask, temporaryDirectory } from '../../test/test-gateway.ts'
import { IS_FULL, sample } from '../../test/test-size.ts'
import { until } from '../../test/test-until.ts'
import { diagnoseData } from './diagnose.ts'
import { databaseFile } from './open.ts'

interface Place {
  /** The data directory of the configuration, `parent/data`. */
  readonly data: string
  readonly parent: string
  /** A directory next to the parent, on the same file system. */
  readonly beside: string
  /** A directory on another file system; null if the machine has none. */
  readonly elsewhere: string | null
}

interface Deed {
  readonly what: string
  /** Runs before the first start. */
  prepare?(place: Place): void
  act(place: Place): void
  /** The reason that /readyz gives; absent if the change is harmless. */
  readonly says?: RegExp
  /** Refusal of a start while the change is in place. */
  readonly restart?: RegExp
  /** Restores the original files, after the kill. */
  undo?(place: Place): void
  readonly needs?: 'mount' | 'elsewhere'
}

const OTHER_FILE_SYSTEM = '/dev/shm'
const hasElsewhere =
  existsSync(OTHER_FILE_SYSTEM) && statSync(OTHER_FILE_SYSTEM).dev !== statSync(import.meta.dirname).dev

const run = (program: string, ...args: string[]) => execFileSync(program, args, { stdio: 'ignore' })

/** Moves a file and leaves a link to it. */
function moveAndLink(file: string, target: string): void {
  run('mv', file, target)
  symlinkSync(target, file)
}

function putBack(file: string, target: string): void {
  unlinkSync(file)
  run('mv', target, file)
}

const bind = (from: string, to: string) => run('mount', '--bind', from, to)
const unbind = (to: string) => run('umount', to)

const name = (end: string) => (end === '.lock' ? 'waybill.lock' : `waybill.db${end}`)
const fileOf = ({ data }: Place, end = '') => join(data, name(end))
const movedOf = ({ data }: Place, end = '') => join(data, `real${end}`)

const escaped = (text: string) => text.replaceAll('.', '\\.')

const IS_LINK = /is a symbolic link/
const GONE = /waybill\.db is gone/
const REPLACED = /waybill\.db was replaced by another file/

const DEEDS: readonly Deed[] = [
  ...['', '-wal', '-shm', '.lock'].map(
    (end): Deed => ({
      what: `${name(end)} is moved, with a link in its place`,
      act: (place) => moveAndLink(fileOf(place, end), movedOf(place, end)),
      says: new RegExp(`${escaped(name(end))} was replaced by a symbolic link`),
      restart: new RegExp(`${escaped(name(end))} is a symbolic link`),
      undo: (place) => putBack(fileOf(place, end), movedOf(place, end)),
    }),
  ),
  {
    what: 'the database is moved to another directory, with a relative link to it',
    act(place) {
      renameSync(fileOf(place), join(place.beside, 'real.db'))
      symlinkSync('../../beside/real.db', fileOf(place))
    },
    says: /waybill\.db was replaced by a symbolic link/,
    restart: IS_LINK,
    undo: (place) => putBack(fileOf(place), join(place.beside, 'real.db')),
  },
  {
    what: 'the database is moved to another file system, with a link to it',
    needs: 'elsewhere',
    act: (place) => moveAndLink(fileOf(place), join(place.elsewhere!, 'real.db')),
    says: /waybill\.db was replaced by a symbolic link/,
    restart: IS_LINK,
    undo: (place) => putBack(fileOf(place), join(place.elsewhere!, 'real.db')),
  },
  {
    what: 'all files are moved, with a link to each',
    act(place) {
      for (const file of readdirSync(place.data))
        moveAndLink(join(place.data, file), join(place.beside, file))
    },
    says: /waybill\.db was replaced by a symbolic link/,
    restart: IS_LINK,
    undo(place) {
      for (const file of readdirSync(place.beside)) putBack(join(place.data, file), join(place.beside, file))
    },
  },
  {
    what: 'the database is moved away',
    act: (place) => renameSync(fileOf(place), movedOf(place)),
    says: GONE,
    undo: (place) => renameSync(movedOf(place), fileOf(place)),
  },
  {
    what: 'the database is renamed in capital letters',
    act: (place) => renameSync(fileOf(place), join(place.data, 'WAYBILL.DB')),
    says: GONE,
    undo: (place) => renameSync(join(place.data, 'WAYBILL.DB'), fileOf(place)),
  },
  {
    what: 'each file is moved, with a hard link in its place',
    act(place) {
      for (const end of ['', '-wal', '-shm', '.lock']) {
        renameSync(fileOf(place, end), movedOf(place, end))
        linkSync(movedOf(place, end), fileOf(place, end))
      }
    },
  },
  {
    what: 'each file is mounted over itself',
    needs: 'mount',
    act(place) {
      for (const end of ['', '-wal', '-shm', '.lock']) bind(fileOf(place, end), fileOf(place, end))
    },
    undo(place) {
      for (const end of ['', '-wal', '-shm', '.lock']) unbind(fileOf(place, end))
    },
  },
  {
    what: 'the database is moved, and mounted over an empty file',
    needs: 'mount',
    act(place) {
      renameSync(fileOf(place), movedOf(place))
      writeFileSync(fileOf(place), '')
      bind(movedOf(place), fileOf(place))
    },
    undo(place) {
      unbind(fileOf(place))
      renameSync(movedOf(place), fileOf(place))
    },
  },
  {
    what: 'a copy is mounted over the database',
    needs: 'mount',
    act(place) {
      copyFileSync(fileOf(place), movedOf(place))
      bind(movedOf(place), fileOf(place))
    },
    says: REPLACED,
    undo: (place) => unbind(fileOf(place)),
  },
  {
    what: 'the directory is mounted over itself',
    needs: 'mount',
    act: ({ data }) => bind(data, data),
    undo: ({ data }) => unbind(data),
  },
  {
    what: 'another directory is mounted over the data directory',
    needs: 'mount',
    act: ({ data, beside }) => bind(beside, data),
    says: GONE,
    undo: ({ data }) => unbind(data),
  },
  {
    what: 'another directory is mounted over the parent directory',
    needs: 'mount',
    act: ({ parent, beside }) => bind(beside, parent),
    says: GONE,
    undo: ({ parent }) => unbind(parent),
  },
  {
    what: 'the directory is moved, with a link to it',
    act: ({ data, beside }) => moveAndLink(data, join(beside, 'moved')),
  },
  {
    what: 'the parent directory is moved, with a link to it',
    act: ({ parent, beside }) => moveAndLink(parent, join(beside, 'moved')),
  },
  {
    what: 'the parent directory is moved, and a new parent contains an empty data directory',
    act({ parent, data, beside }) {
      renameSync(parent, join(beside, 'moved'))
      mkdirSync(data, { recursive: true })
    },
    says: GONE,
    undo({ parent, beside }) {
      rmSync(parent, { recursive: true })
      renameSync(join(beside, 'moved'), parent)
    },
  },
  {
    what: 'the data directory is a link that is changed to another directory',
    prepare({ data, beside }) {
      mkdirSync(join(beside, 'one'))
      mkdirSync(join(beside, 'two'))
      symlinkSync(join(beside, 'one'), data)
    },
    act({ data, beside }) {
      unlinkSync(data)
      symlinkSync(join(beside, 'two'), data)
    },
    says: GONE,
    undo({ data, beside }) {
      unlinkSync(data)
      symlinkSync(join(beside, 'one'), data)
    },
  },
  {
    what: 'the data directory is a link; its target moves, and the link is updated',
    prepare({ data, beside }) {
      mkdirSync(join(beside, 'one'))
      symlinkSync(join(beside, 'one'), data)
    },
    act({ data, beside }) {
      renameSync(join(beside, 'one'), join(beside, 'two'))
      unlinkSync(data)
      symlinkSync(join(beside, 'two'), data)
    },
  },
  {
    what: 'the parent directory is a link that is changed to a copy',
    prepare({ parent, beside }) {
      renameSync(parent, join(beside, 'one'))
      symlinkSync(join(beside, 'one'), parent)
    },
    act({ parent, beside }) {
      run('cp', '-r', join(beside, 'one'), join(beside, 'two'))
      unlinkSync(parent)
      symlinkSync(join(beside, 'two'), parent)
    },
    says: REPLACED,
    undo({ parent, beside }) {
      unlinkSync(parent)
      symlinkSync(join(beside, 'one'), parent)
    },
  },
]

/**
 * The gateway as a process. `url` is null if it refused to start; `text` contains everything that it printed.
 */
interface Life {
  readonly child: ChildProcess
  readonly url: string | null
  readonly text: string
}

async function startLife(t: TestContext, config: string): Promise<Life> {
  const child = spawn(process.execPath, ['src/cli.ts', 'serve', '--config', config], {
    cwd: join(import.meta.dirname, '../../..'),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.after(() => child.kill('SIGKILL'))
  let text = ''
  const url = await new Promise<string | null>((resolve) => {
    for (const output of [child.stdout!, child.stderr!])
      output.setEncoding('utf8').on('data', (part: string) => {
        text += part
        const found = /listens on ([^\s"]+)/.exec(text)?.[1]
        if (found) resolve(found)
      })
    child.once('close', () => resolve(null))
  })
  return { child, url, text }
}

async function kill({ child }: Life): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}

const chat = async (url: string, nonce: string): Promise<number> => {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-session-id': nonce },
    body: JSON.stringify(ask('auto', { user: nonce })),
  })
  await response.arrayBuffer()
  return response.status
}

async function readiness(url: string): Promise<{ status: number; message: string }> {
  const response = await fetch(`${url}/readyz`)
  const json = (await response.json()) as { error?: { message: string } }
  return { status: response.status, message: json.error?.message ?? '' }
}

/** A data directory, a configuration next to it, and a provider that stores the received requests. */
async function place(t: TestContext): Promise<{ place: Place; config: string; provider: MockServer }> {
  const root = temporaryDirectory(t)
  const parent = join(root, 'parent')
  const beside = join(root, 'beside')
  mkdirSync(parent)
  mkdirSync(beside)
  const elsewhere = hasElsewhere ? mkdtempSync(join(OTHER_FILE_SYSTEM, 'waybill-')) : null
  if (elsewhere) t.after(() => rmSync(elsewhere, { recursive: true, force: true }))
  const provider = await startMockServer()
  t.after(() => provider.close())
  const config = join(root, 'waybill.yaml')
  writeFileSync(
    config,
    `server: { port: 0 }
data: ./parent/data
providers: { alpha: { dialect: openai, base_url: "${provider.baseUrl}" } }
routes: { auto: { targets: [ { model: alpha/model-a } ] } }
`,
  )
  return { place: { data: join(parent, 'data'), parent, beside, elsewhere }, config, provider }
}

/** Returns the sessions of inferences that are not on record. */
function unrecorded(data: string, provider: MockServer): string[] {
  const db = new Database(databaseFile(data), { readonly: true })
  try {
    const recorded = db
      .prepare<[], string>(
        `SELECT session_id FROM call_logs JOIN call_attempts ON call_id = call_logs.id WHERE outcome <> 'not_sent'`,
      )
      .pluck()
      .all()
    assert.equal(db.pragma('integrity_check', { simple: true }), 'ok')
    const known = new Set(recorded)
    return provider.ledger
      .map(({ json }) => (json as { user: string }).user)
      .filter((user) => !known.has(user))
  } finally {
    db.close()
  }
}

function canMount(t: TestContext): boolean {
  if (process.platform !== 'linux') return false
  const directory = temporaryDirectory(t)
  const [from, to] = [join(directory, 'from'), join(directory, 'to')]
  writeFileSync(from, '')
  writeFileSync(to, '')
  if (spawnSync('mount', ['--bind', from, to]).status !== 0) return false
  unbind(to)
  return true
}

/** Starts clients that send calls without a pause until they are stopped; each call has its own session. */
function load(t: TestContext, url: string) {
  let made = 0
  let calling = true
  const underWay = new Set<Promise<unknown>>()
  const loops = Array.from({ length: 4 }, async () => {
    while (calling) {
      const call = chat(url, `${made++}`).catch(() => sleep(10))
      underWay.add(call)
      await call
      underWay.delete(call)
    }
  })
  const stop = async () => {
    calling = false
    await Promise.all(loops)
  }
  t.after(stop)
  return {
    async made(count: number) {
      while (made < count) await sleep(5)
    },
    /** Waits for the end of the calls that are under way now. */
    async settled() {
      await Promise.all(underWay)
    },
    stop,
  }
}

/**
 * Checks that every call is refused for this reason, and that nothing is spent. Calls that were admitted before the
 * gateway noticed may still reach the provider, so they end first.
 */
async function assertRefused(
  url: string,
  says: RegExp,
  provider: MockServer,
  clients: ReturnType<typeof load>,
): Promise<void> {
  await until('it is noticed', async () => (await readiness(url)).status === 503)
  assert.match((await readiness(url)).message, says)
  await clients.settled()
  const spent = provider.ledger.length
  assert.equal(await chat(url, 'refused'), 503)
  assert.equal(provider.ledger.length, spent, 'nothing more is spent')
}

async function assertServed(url: string): Promise<void> {
  await sleep(1_000)
  for (let n = 0; n < 20; n++) assert.equal(await chat(url, `harmless-${n}`), 200)
  assert.equal((await readiness(url)).status, 200)
}

/**
 * Makes the change under load, and kills the gateway immediately or once it has noticed. Then restores the
 * files and reads the record.
 */
async function carryOut(t: TestContext, { prepare, act, says, restart, undo }: Deed, pause: Pause) {
  const { place: at, config, provider } = await place(t)
  prepare?.(at)
  const first = await startLife(t, config)
  assert.ok(first.url, first.text)
  const clients = load(t, first.url)
  await clients.made(60)
  act(at)
  let isUndone = false
  const undoOnce = () => {
    if (!isUndone) undo?.(at)
    isUndone = true
  }
  try {
    if (pause === 'later' && says) {
      await assertRefused(first.url, says, provider, clients)
    } else if (pause === 'later') await assertServed(first.url)
    await kill(first)
    await clients.stop()
    if (restart) {
      const refused = await startLife(t, config)
      assert.equal(refused.url, null, 'it started')
      assert.match(refused.text, restart)
      assert.match(refused.text, /; put the file itself/)
    }
    if (says) undoOnce()
    const second = await startLife(t, config)
    assert.ok(second.url, second.text)
    assert.equal(await chat(second.url, 'after'), 200)
    await kill(second)
    const missing = unrecorded(at.data, provider)
    t.diagnostic(`${provider.ledger.length} inferences, ${missing.length} not on record`)
    assert.deepEqual(missing, [])
  } finally {
    await kill(first)
    undoOnce()
  }
}

type Pause = 'at once' | 'later'

for (const deed of sample(DEEDS, 4))
  for (const pause of IS_FULL && deed.restart ? (['at once', 'later'] as const) : (['later'] as const))
    test(`${deed.what}; SIGKILL ${pause}: every call is refused or on record (LOG-07, LIFE-04)`, async (t) => {
      if (deed.needs === 'elsewhere' && !hasElsewhere) return t.skip('there is no other file system here')
      if (deed.needs === 'mount' && !canMount(t)) return t.skip('this user cannot mount')
      await carryOut(t, deed, pause)
    })

for (const end of ['SIGTERM', 'SIGKILL'] as const)
  test(`a database that is a link is refused on startup after ${end}, with the reason (LIFE-04)`, async (t) => {
    const { place: at, config, provider } = await place(t)
    const first = await startLife(t, config)
    for (let n = 0; n < 20; n++) assert.equal(await chat(first.url!, `${n}`), 200)
    const exit = once(first.child, 'exit')
    first.child.kill(end)
    await exit
    moveAndLink(fileOf(at), movedOf(at))
    const refused = await startLife(t, config)
    assert.equal(refused.url, null)
    assert.match(refused.text, /waybill\.db is a symbolic link.*; put the file itself/)
    const { findings } = diagnoseData(at.data, { rows: 1_000_000, days: 30, bytes: 2 ** 30 }, [], Date.now())
    assert.ok(
      findings.some(({ verdict, text }) => verdict === 'BAD' && /waybill\.db is a symbolic link/.test(text)),
    )
    assert.equal(lstatSync(fileOf(at)).isSymbolicLink(), true, 'nothing was changed')
    putBack(fileOf(at), movedOf(at))
    const second = await startLife(t, config)
    assert.ok(second.url, second.text)
    await kill(second)
    assert.deepEqual(unrecorded(at.data, provider), [])
  })

test('after a backup is copied over its files, a gateway refuses calls or ends, and spends nothing unrecorded (LIFE-04)', async (t) => {
  const { place: at, config, provider } = await place(t)
  const first = await startLife(t, config)
  const exit = once(first.child, 'exit')
  for (let n = 0; n < 20; n++) assert.equal(await chat(first.url!, `before-${n}`), 200)
  run('cp', '-a', `${at.data}/.`, join(at.beside, 'backup'))
  for (let n = 0; n < 20; n++) assert.equal(await chat(first.url!, `lost-${n}`), 200)
  run('cp', '-a', `${join(at.beside, 'backup')}/.`, at.data)
  const spent = provider.ledger.length
  for (let n = 0; n < 20; n++) assert.notEqual(await chat(first.url!, `after-${n}`).catch(() => 0), 200)
  const ended = first.child.exitCode ?? first.child.signalCode
  t.diagnostic(ended === null ? (await readiness(first.url!)).message : `the gateway was ended by ${ended}`)
  if (ended === null) first.child.kill('SIGKILL')
  else assert.equal(ended, 'SIGBUS')
  await exit
  const second = await startLife(t, config)
  assert.ok(second.url, second.text)
  await kill(second)
  assert.equal(provider.ledger.length, spent, 'nothing was spent after it')
  assert.ok(unrecorded(at.data, provider).every((user) => user.startsWith('lost-')))
})

test('when the shared memory is truncated under load, the process refuses calls or is ended, and nothing is lost (LOG-07)', async (t) => {
  const { place: at, config, provider } = await place(t)
  const first = await startLife(t, config)
  const clients = load(t, first.url!)
  await clients.made(60)
  run('truncate', '-s', '0', fileOf(at, '-shm'))
  const refusal = () => readiness(first.url!).then(({ status, message }) => status === 503 && message)
  const noticed = () => first.child.signalCode ?? refusal().catch(() => null)
  const outcome = await until('it is noticed', noticed)
  t.diagnostic(outcome)
  assert.match(outcome, /^SIGBUS$|^The request log cannot be written: /)
  await kill(first)
  await clients.stop()
  const second = await startLife(t, config)
  assert.ok(second.url, second.text)
  await kill(second)
  assert.deepEqual(unrecorded(at.data, provider), [])
})

for (const what of ['gone', 'empty'] as const)
  test(`on startup, no new database is created if the old one is ${what} but its log is still there (LIFE-04)`, async (t) => {
    const { place: at, config, provider } = await place(t)
    const first = await startLife(t, config)
    for (let n = 0; n < 20; n++) assert.equal(await chat(first.url!, `${n}`), 200)
    await kill(first)
    renameSync(fileOf(at), movedOf(at))
    if (what === 'empty') writeFileSync(fileOf(at), '')
    const refused = await startLife(t, config)
    assert.equal(refused.url, null)
    assert.match(refused.text, new RegExp(`waybill\\.db is ${what}, but its log waybill\\.db-wal is there; `))
    renameSync(movedOf(at), fileOf(at))
    const second = await startLife(t, config)
    assert.ok(second.url, second.text)
    await kill(second)
    assert.deepEqual(unrecorded(at.data, provider), [])
    assert.ok(dirname(at.data))
  })
