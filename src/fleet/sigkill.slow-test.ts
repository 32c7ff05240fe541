// Kills gateways of a fleet under load, and stops, freezes and kills their database. Then compares the provider's
// ledger, held in this process, with the shared log. `.ci/run` makes 2 kills, `.ci/run --whole` makes 20.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { answer, startMockServer } from '../../mocks/test-upstream.ts'
import type { Link } from '../store/postgres/link.ts'
import { forget, listInstances } from '../store/postgres/retention.ts'
import { checkSharedSums } from '../store/postgres/test-shared-log.ts'
import { ask, temporaryDirectory } from '../test/test-gateway.ts'
import { IS_FULL } from '../test/test-size.ts'
import { fleetTests, openShared, skip } from './test-fleet.ts'

const KILLS = Number(process.env.WAYBILL_KILLS ?? (IS_FULL ? 20 : 2))
const PAUSE_MS = 400
/** Pause of a client between two calls, ms: six clients still make thousands of calls. */
const CLIENT_PAUSE_MS = 50
const NAMES = ['one', 'two', 'three']
const fleet = fleetTests({ fsync: 'on' })

const options = { skip, timeout: 300_000 }

test(
  'after SIGKILLs of 3 gateways and database outages, every inference is recorded once and sums equal rows (FLEET-01)',
  options,
  (t) => killThem(t, 'process', false),
)

test(
  'with durability shared, no inference is lost even if each killed gateway’s data is deleted (FLEET-02)',
  options,
  (t) => killThem(t, 'shared', true),
)

/** Kills gateways under load. `loses`: true if each kill also deletes the data directory. */
async function killThem(t: TestContext, durability: string, loses: boolean): Promise<void> {
  const url = await fleet.freshDatabase()
  const { postgres } = fleet
  const link = openShared(t, url)
  const provider = await startMockServer(answer())
  t.after(() => provider.close())
  const directory = temporaryDirectory(t)
  const gateways = NAMES.map(
    (name) => new Member(t, join(directory, name), name, durability, url, provider.baseUrl),
  )
  await Promise.all(gateways.map((each) => each.start()))

  const statuses = new Map<string, number>()
  let calls = 0
  let done = false
  const work = async () => {
    while (!done) {
      const nonce = `${durability}-${calls++}`
      const { address } = gateways[Math.floor(Math.random() * gateways.length)]!
      const status = address ? await call(address, nonce) : 0
      if (status !== 0) statuses.set(nonce, status)
      await sleep(CLIENT_PAUSE_MS)
    }
  }
  const workers = Array.from({ length: 6 }, work)
  const outages: readonly (() => Promise<unknown>)[] = [
    async () => {
      await postgres.stop()
      await sleep(PAUSE_MS)
      await postgres.start()
    },
    async () => {
      postgres.freeze()
      await sleep(PAUSE_MS)
      postgres.thaw()
    },
    async () => {
      await postgres.stop('SIGKILL')
      await postgres.start()
    },
  ]
  for (let kill = 0; kill < KILLS; kill++) {
    await sleep(PAUSE_MS)
    const outage = outages[kill % 4]?.()
    const gateway = gateways[kill % gateways.length]!
    await gateway.kill()
    if (loses) gateway.lose()
    await outage
    await gateway.start()
  }
  await sleep(PAUSE_MS)
  done = true
  await Promise.all(workers)
  await shipped(link, gateways)
  if (loses)
    for (const instance of await listInstances(link))
      if (!instance.alive) await forget(link, instance, Date.now())

  const told = await compare(link, provider.ledger, statuses)
  t.diagnostic(`${calls} calls, ${KILLS} kills, ${told}`)
  await checkSharedSums(link)
  const counts = await Promise.all(
    gateways.map(async ({ address }) => {
      const response = await fetch(`${address}/api/usage/history?window=24h`)
      return ((await response.json()) as { totals: { calls: number } }).totals.calls
    }),
  )
  const [{ rows }] = (await link.query<{ rows: number }>('SELECT count(*) AS rows FROM waybill.calls')) as [
    { rows: number },
  ]
  assert.deepEqual(counts, [rows, rows, rows], 'every instance adds up to the rows')
}

async function call(address: string, nonce: string): Promise<number> {
  try {
    const response = await fetch(`${address}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-session-id': nonce },
      body: JSON.stringify({ ...ask('auto'), user: nonce }),
    })
    await response.text()
    return response.status
  } catch {
    return -1
  }
}

/** Waits until the journals of all live gateways are shipped and their calls are closed. */
async function shipped(link: Link, gateways: readonly Member[]): Promise<void> {
  for (let tries = 0; tries < 300; tries++) {
    const ready = await Promise.all(
      gateways.map(({ address }) =>
        fetch(`${address}/api/usage/request-logs?limit=1`).then(({ status }) => status),
      ),
    )
    const open = (await listInstances(link)).filter(({ alive, open }) => alive && open > 0)
    if (ready.every((status) => status === 200) && open.length === 0) return
    await sleep(100)
  }
  assert.fail('not everything was shipped')
}

/**
 * Checks that every inference is one attempt in the shared log, and that every attempt with a known outcome
 * is one inference.
 */
async function compare(
  link: Link,
  ledger: readonly { json: any }[],
  statuses: ReadonlyMap<string, number>,
): Promise<string> {
  const rows = await link.query<{ session_id: string; state: string; attempt_log: string }>(
    'SELECT session_id, state, attempt_log FROM waybill.calls',
  )
  const broken: string[] = []
  const bySession = Map.groupBy(rows, ({ session_id }) => session_id)
  const inferences = Map.groupBy(ledger, ({ json }) => json.user as string)
  let unknown = 0
  for (const [nonce, sent] of inferences) {
    const [row, ...more] = bySession.get(nonce) ?? []
    const attempts = row ? (JSON.parse(row.attempt_log) as { outcome: string }[]) : []
    if (!row) broken.push(`${nonce}: ${sent.length} inferences and no record`)
    if (more.length > 0) broken.push(`${nonce}: ${more.length + 1} records`)
    if (row && attempts.filter(({ outcome }) => outcome !== 'not_sent').length !== sent.length)
      broken.push(`${nonce}: ${sent.length} inferences, ${JSON.stringify(attempts)}`)
  }
  for (const { session_id, state, attempt_log } of rows) {
    for (const { outcome } of JSON.parse(attempt_log) as { outcome: string }[]) {
      if (outcome === 'unknown') unknown++
      if (outcome === 'open') broken.push(`${session_id} (${state}): an attempt is open`)
      if (outcome === 'answered' && !inferences.has(session_id))
        broken.push(`${session_id}: answered and not in the ledger`)
    }
    const status = statuses.get(session_id)
    if (status === 200 && state !== 'completed' && state !== 'interrupted')
      broken.push(`${session_id}: 200 and ${state}`)
  }
  for (const [nonce, status] of statuses)
    if (status === 503 && inferences.has(nonce)) broken.push(`${nonce}: refused and sent`)
  assert.deepEqual(broken.slice(0, 10), [], `${broken.length} breaches`)
  const refused = [...statuses.values()].filter((status) => status === 503).length
  return `${ledger.length} inferences, ${rows.length} records, ${unknown} unknown attempts, ${refused} refused`
}

/** A gateway of the fleet in a separate process. */
class Member {
  /** Address of the gateway; null while it is not running. */
  address: string | null = null
  readonly #directory: string
  readonly #name: string
  readonly #url: string
  #child: ChildProcess | null = null
  readonly #config: string

  constructor(
    t: TestContext,
    directory: string,
    name: string,
    durability: string,
    url: string,
    provider: string,
  ) {
    this.#directory = directory
    this.#name = name
    this.#url = url
    this.#config = `${directory}.yaml`
    writeFileSync(
      this.#config,
      `server: { port: 0 }
data: ${directory}
durability: ${durability}
fleet: { url: $FLEET_URL }
providers: { alpha: { dialect: chat, base_url: "${provider}" } }
routes: { auto: { targets: [ { model: alpha/model-a } ] } }
`,
    )
    t.after(() => this.#child?.kill('SIGKILL'))
  }

  async start(): Promise<void> {
    mkdirSync(this.#directory, { recursive: true })
    const child = spawn(process.execPath, ['src/cli.ts', 'serve', '--config', this.#config], {
      cwd: join(import.meta.dirname, '../..'),
      env: { ...process.env, FLEET_URL: this.#url, WAYBILL_INSTANCE: this.#name },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.#child = child
    child.stdout.setEncoding('utf8')
    let said = ''
    this.address = await new Promise<string>((resolve, reject) => {
      child.once('exit', (code) => reject(new Error(`exit code ${code}: ${said.slice(-500)}`)))
      child.stdout.on('data', (text: string) => {
        said += text
        const url = /listens on ([^\s"]+)/.exec(said)?.[1]
        if (url) resolve(url)
      })
    })
  }

  async kill(): Promise<void> {
    this.address = null
    const exit = once(this.#child!, 'exit')
    this.#child!.kill('SIGKILL')
    await exit
  }

  /** Deletes the gateway's data, as if its disk were lost. */
  lose(): void {
    rmSync(this.#directory, { recursive: true, force: true })
  }
}
