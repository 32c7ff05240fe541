// Repeatedly kills the gateway under load, then compares by id the requests that providers received with the
// record. The ledger is in this process, so a kill of the gateway cannot lose it. Over 250 lines, because it
// is one test: its load, its kills, its comparison.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { Agent, request } from 'undici'
import { fail, type Received, type Script, stream } from '../../mocks/test-upstream.ts'
import { DIALECTS } from '../dialects/registry.ts'
import { ALL } from '../dialects/test-samples.ts'
import { seeded } from '../shared/seeded.ts'
import { ENVIRONMENT } from './test-cli.ts'

const SEED = Number(process.env.WAYBILL_KILL_SEED ?? Date.now() % 2 ** 32)
const WORKERS = 24
/** Maximum time until a record is final, contract LOG-04, ms. */
const LAG = 1_000

/** One inference as received by a provider. */
interface Inference {
  readonly provider: string
  readonly model: string
}

/** Result of a call as its client saw it. */
interface Seen {
  readonly model: string
  /** Number of the gateway's start that served the call. */
  readonly life: number
  readonly result: 'whole' | 'left' | 'broken' | `status ${number}`
  readonly requestId: string | null
  readonly endedAt: number
}

interface CallRow {
  readonly id: string
  readonly session_id: string
  readonly state: string
  readonly attempts: number
  readonly completed_at: number | null
}

interface AttemptRow extends Inference {
  readonly call_id: string
  readonly n: number
  readonly outcome: string
}

interface KillPlan {
  readonly calls: number
  readonly kills: number
  /** Durability setting of the gateway. */
  readonly durability?: 'process' | 'full'
  /** Number of short locks on the database by another program, spread over the calls. */
  readonly locks?: number
}

/** Runs the plan, and fails if the record and the ledger differ in any id. */
export async function killUnderLoad(t: TestContext, plan: KillPlan): Promise<void> {
  t.diagnostic(`seed ${SEED} (WAYBILL_KILL_SEED=${SEED} repeats the plan, not the timing)`)
  const { calls, kills, durability = 'process', locks = 0 } = plan
  const start = performance.now()
  const random = seeded(SEED)
  const directory = mkdtempSync(join(tmpdir(), 'waybill-sigkill-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const { origin, ledger } = await startProviders(t, random)
  const gateway = new KillableGateway(t, directory, origin, durability)
  gateway.start()

  const progress = { begun: 0, calls }
  const locking = lockNowAndThen(join(directory, 'waybill.db'), locks, gateway, progress)
  const seen = await drive(gateway, kills, progress, random)
  const locked = await locking
  await sleep(LAG) // waits for the last closing writes, and for requests that providers have not parsed yet
  assert.equal(await gateway.end('SIGTERM'), 0, 'SIGTERM ends the gateway with exit code 0')

  const record = readRecord(join(directory, 'waybill.db'))
  const counts = compare(ledger, seen, record, gateway.killedAt)
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  t.diagnostic(
    `${durability}: ${seen.size} calls, ${gateway.killedAt.size} kills, ${locked} locks, ${counts.inferences} ledger inferences, ` +
      `${record.attempts.length} attempts, ${counts.interrupted} interrupted, ${counts.unknown} unknown ` +
      `(${counts.unknownSent} of them received), ${counts.whole} whole answers seen ` +
      `(${counts.wholeInterrupted} of them interrupted on record), ${seconds} s`,
  )
  assert.equal(seen.size, calls)
  assert.ok(gateway.killedAt.size >= kills)
  assert.ok(locked >= locks / 2, `${locked} of ${locks} locks were taken`)
}

/** Time for which another program holds the lock, ms. A gateway waits this long without refusing a call. */
const LOCK_MS = 100

interface Progress {
  begun: number
  readonly calls: number
}

/** Takes the write lock as another program would. Returns the number of locks. */
async function lockNowAndThen(
  file: string,
  locks: number,
  gateway: KillableGateway,
  progress: Progress,
): Promise<number> {
  let taken = 0
  for (let lock = 1; lock <= locks; lock++) {
    while (progress.begun < (progress.calls * lock) / (locks + 1)) await sleep(1)
    await gateway.ready
    const db = new Database(file, { timeout: 1_000 })
    try {
      db.exec('BEGIN IMMEDIATE')
      taken++
      await sleep(LOCK_MS)
      db.exec('ROLLBACK')
    } catch (error) {
      if ((error as { code?: string }).code !== 'SQLITE_BUSY') throw error
    } finally {
      db.close()
    }
  }
  return taken
}

/** Checks every promise about the record. Throws with all violations. */
function compare(
  ledger: ReadonlyMap<string, readonly Inference[]>,
  seen: ReadonlyMap<string, Seen>,
  { calls, attempts }: ReturnType<typeof readRecord>,
  killedAt: ReadonlyMap<number, number>,
) {
  const broken: string[] = []
  const counts = { inferences: 0, interrupted: 0, unknown: 0, unknownSent: 0, whole: 0, wholeInterrupted: 0 }
  const attemptsOf = Map.groupBy(attempts, ({ call_id }) => call_id)
  const bySession = new Map<string, CallRow>()
  for (const call of calls) {
    if (bySession.has(call.session_id)) broken.push(`${call.session_id}: two records for one call`)
    if (!seen.has(call.session_id)) broken.push(`${call.session_id}: a record of a call that was not made`)
    bySession.set(call.session_id, call)
  }
  const ids = new Set(calls.map(({ id }) => id))
  for (const { call_id, n } of attempts)
    if (!ids.has(call_id)) broken.push(`${call_id}: attempt ${n} belongs to no record`)

  for (const [nonce, inferences] of ledger) {
    counts.inferences += inferences.length
    if (!bySession.has(nonce)) broken.push(`${nonce}: ${inferences.length} inferences and no record`)
  }

  for (const [nonce, call] of bySession) {
    const complain = (what: string) => broken.push(`${nonce} (${call.state}): ${what}`)
    const rows = attemptsOf.get(call.id) ?? []
    const inferences = ledger.get(nonce) ?? []
    let mapped = 0
    for (const { n, provider, model, outcome } of rows) {
      const next = inferences[mapped]
      const received = outcome !== 'not_sent' && next?.provider === provider && next.model === model
      if (received) mapped++
      else if (outcome !== 'not_sent' && outcome !== 'unknown')
        complain(`attempt ${n} (${provider}/${model}, ${outcome}) is not in the ledger`)
      if (outcome === 'open') complain(`attempt ${n} is still open`)
      if (outcome === 'unknown') counts.unknown++
      if (outcome === 'unknown' && received) counts.unknownSent++
      if ((outcome === 'unknown') !== (call.state === 'interrupted' && n === rows.length))
        complain(`attempt ${n} of ${rows.length} is ${outcome}`)
    }
    if (mapped < inferences.length)
      complain(`of ${inferences.length} inferences in the ledger only ${mapped} are on record`)
    if (rows.some(({ n }, index) => n !== index + 1)) complain('the attempts are not numbered 1, 2, …')
    if (call.completed_at === null) complain('the call is still open')
    if (call.state === 'interrupted') {
      counts.interrupted++
      const { life, endedAt } = seen.get(nonce)!
      if (!(endedAt > killedAt.get(life)! - LAG))
        complain(`it was over more than ${LAG} ms before the gateway was killed`)
    }
  }

  for (const [nonce, { result, model, requestId }] of seen) {
    const call = bySession.get(nonce)
    const complain = (what: string) => broken.push(`${nonce} (${model}): ${what}`)
    if (result.startsWith('status')) complain(`the client got ${result}`)
    if (requestId !== null && call?.id !== requestId)
      complain(`the client was told request id ${requestId}, the record has ${call?.id}`)
    if (result !== 'whole') continue
    counts.whole++
    if (call?.state === 'interrupted') counts.wholeInterrupted++
    else if (call?.state !== 'completed')
      complain(`the client has the whole answer, the record is ${call?.state}`)
  }
  assert.deepEqual(broken.slice(0, 20), [], `${broken.length} breaches`)
  return counts
}

/** Makes all calls and kills the gateway meanwhile. Resolves with the clients' results, by nonce. */
async function drive(
  gateway: KillableGateway,
  kills: number,
  progress: Progress,
  random: () => number,
): Promise<Map<string, Seen>> {
  const seen = new Map<string, Seen>()
  const agent = new Agent()
  const work = async () => {
    while (progress.begun < progress.calls) {
      const nonce = `kill-${SEED}-${progress.begun++}`
      const plan = planOf(random)
      const { url, life } = await gateway.ready
      seen.set(nonce, {
        model: plan.model,
        life,
        ...(await call(url, nonce, plan, agent)),
        endedAt: Date.now(),
      })
    }
  }
  const kill = async () => {
    const moments = Array.from({ length: kills }, () => Math.floor(random() * progress.calls * 0.98))
    for (const moment of moments.sort((a, b) => a - b)) {
      // One kill in five hits a gateway that is starting, and may still be cleaning up after the previous
      // kill.
      if (random() < 0.2) await Promise.race([gateway.ready, sleep(random() * 1_000)])
      else {
        await gateway.ready
        while (progress.begun < moment) await sleep(1)
        await sleep(random() * 30)
      }
      await gateway.end('SIGKILL')
      gateway.start()
    }
  }
  await Promise.all([kill(), ...Array.from({ length: WORKERS }, work)])
  await agent.destroy()
  return seen
}

/** The dialects that a configuration may contain. */
const SPOKEN = ALL.filter(([name]) => name in DIALECTS)
type Samples = (typeof ALL)[number][2]

interface Plan {
  /** Index of the dialect in SPOKEN. */
  readonly dialect: number
  readonly model: string
  readonly stream: boolean
  /** True if the client leaves at the first event. */
  readonly leaves: boolean
}

function planOf(random: () => number): Plan {
  const dice = random()
  const model = dice < 0.1 ? 'limited' : dice < 0.2 ? 'broken' : dice < 0.6 ? 'plain' : 'alpha/direct'
  const dialect = Math.floor(random() * SPOKEN.length)
  const stream = random() < 0.4 && SPOKEN[dialect]![2].stream('m') !== ''
  return { dialect, model, stream, leaves: stream && random() < 0.1 }
}

/** Returns the path and body of a call. The body contains its nonce, and its dialect for the provider. */
function requestOf({ dialect, model, stream }: Plan, nonce: string): { path: string; body: string } {
  const [, { client }, samples] = SPOKEN[dialect]!
  const { path, rest, query } = samples.arrival?.(model, stream) ?? { path: client.path, rest: '', query: '' }
  const body = samples.request(model, stream).replace('{"a": 1.0}', JSON.stringify({ nonce, dialect }))
  return { path: `${path.replace('*', rest)}?${query}`, body }
}

const eventsOf = (samples: Samples): string[] => samples.stream('m').split(/(?<=\n\r?\n)/)

async function call(
  url: string,
  nonce: string,
  plan: Plan,
  dispatcher: Agent,
): Promise<Pick<Seen, 'result' | 'requestId'>> {
  const { path, body: asked } = requestOf(plan, nonce)
  let requestId: string | null = null
  try {
    const { statusCode, headers, body } = await request(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-gateway-session-id': nonce },
      body: asked,
      dispatcher,
    })
    requestId = (headers['x-gateway-request-id'] as string | undefined) ?? null
    let text = ''
    for await (const part of body) {
      if (plan.leaves) return { result: 'left', requestId }
      text += part
    }
    if (statusCode !== 200) return { result: `status ${statusCode}`, requestId }
    const end = plan.stream ? eventsOf(SPOKEN[plan.dialect]![2]).at(-1)! : '}'
    return { result: text.endsWith(end) ? 'whole' : 'broken', requestId }
  } catch {
    return { result: 'broken', requestId }
  }
}

/**
 * Starts the providers `alpha` and `beta` on one port. The ledger lists by nonce the requests that reached
 * them, in order.
 */
async function startProviders(t: TestContext, random: () => number) {
  const ledger = new Map<string, Inference[]>()
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = []
    incoming.on('error', () => {}) // killed during a request, so it is not an inference
    incoming.on('data', (bytes: Buffer) => chunks.push(bytes))
    incoming.on('end', () => {
      const text = Buffer.concat(chunks).toString('utf8')
      const json = JSON.parse(text)
      const { nonce, dialect } = json.unknown as { nonce: string; dialect: number }
      const model: string = json.model ?? /\/models\/(\w+):/.exec(incoming.url!)![1]
      const isStream = json.stream === true || incoming.url!.endsWith('alt=sse')
      const inferences = ledger.get(nonce) ?? []
      ledger.set(nonce, [...inferences, { provider: incoming.url!.split('/')[1]!, model }])
      const received: Received = { path: incoming.url!, headers: incoming.headers, text, json }
      const pause = () => random() * 6
      if (model === 'limited') fail(429)(response, received)
      else if (model === 'broken') fail(500)(response, received)
      else say(SPOKEN[dialect]![2], isStream, pause, response, received)
    })
  })
  server.keepAliveTimeout = 0 // never closes a connection that the gateway may be about to reuse
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, ledger }
}

/**
 * Answers in a dialect. A stream is sent event by event; a whole answer is sent immediately or after a while.
 */
const say = (
  samples: Samples,
  isStream: boolean,
  pause: () => number,
  ...[response, received]: Parameters<Script>
): void => {
  if (isStream) stream(...eventsOf(samples).flatMap((event) => [event, pause()]))(response, received)
  else setTimeout(() => response.end(samples.answer('m', {})), pause() < 3 ? 0 : pause())
}

/** The gateway as a separate process that can be restarted on the same data directory. */
class KillableGateway {
  /** Address of the current process; pending while it starts, also across kills. */
  ready: Promise<{ url: string; life: number }>
  /** Time of each SIGKILL, ms since the epoch. */
  readonly killedAt = new Map<number, number>()
  #becomeReady!: (value: { url: string; life: number }) => void
  #giveUp!: (error: Error) => void
  #isReady = false
  #child: ChildProcess | null = null
  #life = 0
  readonly #config: string

  constructor(t: TestContext, directory: string, origin: string, durability: string) {
    this.ready = this.#pending()
    this.#config = join(directory, 'waybill.yaml')
    writeFileSync(
      this.#config,
      `server: { port: 0 }
data: .
durability: ${durability}
providers:
  alpha: { dialect: [${Object.keys(DIALECTS)}], base_url: ${origin}/alpha }
  beta: { dialect: [${Object.keys(DIALECTS)}], base_url: ${origin}/beta }
routes:
  plain: { targets: [ { model: alpha/plain } ] }
  limited: { embeddings: any_model, targets: [ { model: alpha/limited }, { model: beta/spare } ] }
  broken: { embeddings: any_model, targets: [ { model: alpha/broken }, { model: beta/spare } ] }
resilience: { cooldown: 0ms }
`,
    )
    t.after(() => this.#child?.kill('SIGKILL'))
  }

  start(): void {
    const life = ++this.#life
    const child = spawn(process.execPath, ['src/cli.ts', 'serve', '--config', this.#config], {
      cwd: join(import.meta.dirname, '../..'),
      env: ENVIRONMENT,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.#child = child
    child.once('exit', (code) => {
      if (child === this.#child) this.#giveUp(new Error(`the gateway ended by itself with exit code ${code}`))
    })
    child.stdout.setEncoding('utf8')
    child.stdout.on('data', (text: string) => {
      const url = /listens on ([^\s"]+)/.exec(text)?.[1]
      if (!url || child !== this.#child) return
      this.#becomeReady({ url, life })
      this.#isReady = true
    })
  }

  /** Resolves with the exit code when the process has ended. */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null> {
    const child = this.#child!
    this.#child = null
    const exit = once(child, 'exit')
    if (signal === 'SIGKILL') this.killedAt.set(this.#life, Date.now())
    child.kill(signal)
    // Callers that wait for a process that was killed during its start then wait for the next one.
    if (this.#isReady) this.ready = this.#pending()
    const [code] = await exit
    return code
  }

  #pending(): Promise<{ url: string; life: number }> {
    this.#isReady = false
    return new Promise((resolve, reject) => {
      this.#becomeReady = resolve
      this.#giveUp = reject
    })
  }
}

function readRecord(file: string) {
  const db = new Database(file, { readonly: true })
  try {
    assert.deepEqual(db.pragma('integrity_check'), [{ integrity_check: 'ok' }])
    const calls = db
      .prepare<[], CallRow>('SELECT id, session_id, state, attempts, completed_at FROM call_logs')
      .all()
    const attempts = db
      .prepare<[], AttemptRow>(
        'SELECT call_id, n, provider, model, outcome FROM call_attempts ORDER BY call_id, n',
      )
      .all()
    return { calls, attempts }
  } finally {
    db.close()
  }
}
