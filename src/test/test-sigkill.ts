// Repeatedly kills the gateway under load, while other things fail too, then compares by id the requests that
// providers received with the record. The ledger is in this process, so a kill of the gateway cannot lose it. Over 250
// lines, because it is one test: its load, its kills, its comparison.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { Agent, request } from 'undici'
import { fail, type Received, type Script, stream } from '../../mocks/test-upstream.ts'
import { idOf } from '../core/call.ts'
import { DIALECTS } from '../dialects/registry.ts'
import { ALL } from '../dialects/test-samples.ts'
import { seeded } from '../shared/chance.ts'
import { migrate } from '../store/sqlite/migrations.ts'
import { checkReferences, checkRollUps } from '../store/sqlite/test-database.ts'
import { ENVIRONMENT } from './test-cli.ts'
import { until } from './test-until.ts'

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
  /** True for a call in the background of its provider. Its answer is whole if the client could fetch it at the end. */
  readonly background: boolean
}

interface CallRow {
  readonly id: string
  readonly session_id: string
  readonly state: string
  readonly attempts: number
  readonly completed_at: number | null
  readonly tokens_output: number | null
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
  /** Number of times that each trouble occurs, spread over the calls. */
  readonly troubles?: number
  /** Number of calls that the first release recorded. The gateway is then also killed while it upgrades their record. */
  readonly earlier?: number
  /** Dialects of the calls; all by default. */
  readonly dialects?: readonly string[]
  /** Share of the calls that run in the background of their provider, for a dialect that has this. */
  readonly background?: number
}

/** Runs the plan, and fails if the record and the ledger differ in any id. */
export async function killUnderLoad(t: TestContext, plan: KillPlan): Promise<void> {
  t.diagnostic(`seed ${SEED} (WAYBILL_KILL_SEED=${SEED} repeats the plan, not the timing)`)
  const { calls, kills, durability = 'process', troubles = 0, earlier = 0 } = plan
  const start = performance.now()
  const random = seeded(SEED)
  const directory = mkdtempSync(join(tmpdir(), 'waybill-sigkill-'))
  const kinds = troubles > 0 ? troublesOn(t, directory) : []
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const { origin, ledger } = await startProviders(t, random)
  const gateway = new KillableGateway(t, directory, origin, durability)
  const file = join(directory, 'waybill.db')
  const before = recordFirst(file, earlier, ledger)
  const upgrades = earlier > 0 ? await killUpgrades(gateway, file, random) : 0
  gateway.start()

  const progress: Progress = { begun: 0, calls, troubles: [], disk: Promise.resolve() }
  const troubling = makeTrouble(kinds, troubles, file, gateway, progress)
  const seen = await drive(gateway, plan, progress, random)
  await troubling
  await sleep(LAG) // waits for the last closing writes, and for requests that providers have not parsed yet
  await until(
    'the gateway has asked for the end of every call in the background',
    () => countOpen(file) === 0,
  )
  assert.equal(await gateway.end('SIGTERM'), 0, 'SIGTERM ends the gateway with exit code 0')

  const record = readRecord(file)
  const all = new Map([...before, ...seen])
  const counts = compare(ledger, all, record, gateway.killedAt, progress.troubles)
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  const made = kinds.map(
    (kind) => `${progress.troubles.filter((each) => each.kind === kind).length} × ${kind}`,
  )
  t.diagnostic(
    `${durability}: ${seen.size} calls, ${before.size} of the first release, ${gateway.killedAt.size} kills (${upgrades} during the upgrade), ` +
      `${made.join(', ') || 'no trouble'}, ${counts.inferences} ledger inferences, ${record.attempts.length} attempts, ` +
      `${counts.refused} refused, ${counts.interrupted} interrupted, ${counts.unknown} unknown ` +
      `(${counts.unknownSent} of them received), ${counts.whole} whole answers seen ` +
      `(${counts.wholeInterrupted} of them interrupted on record), ${counts.background} fetched from the background, ${seconds} s`,
  )
  assert.equal(seen.size, calls)
  assert.ok(gateway.killedAt.size >= kills)
  assert.ok(progress.troubles.length >= (troubles * kinds.length) / 2, `${made} of ${troubles} of each`)
}

interface Progress {
  begun: number
  readonly calls: number
  readonly troubles: { readonly kind: TroubleKind; readonly from: number; readonly to: number }[]
  /** Resolves when the disk has space. */
  disk: Promise<void>
}

/** Time for which a trouble lasts, ms. A gateway waits this long for a lock without refusing a call. */
const TROUBLE_MS = 100

/** Troubles beside the kills. Each resolves with false if it did not occur. */
const TROUBLES = {
  /** Another program holds the write lock. */
  async lock(file: string): Promise<boolean> {
    const db = new Database(file, { timeout: 1_000 })
    try {
      db.exec('BEGIN IMMEDIATE')
      await sleep(TROUBLE_MS)
      db.exec('ROLLBACK')
      return true
    } catch (error) {
      if ((error as { code?: string }).code !== 'SQLITE_BUSY') throw error
      return false
    } finally {
      db.close()
    }
  },
  /** The disk is full. */
  async full(file: string): Promise<boolean> {
    const filler = `${file}.filler`
    const handle = openSync(filler, 'w')
    for (const size of [2 ** 20, 2 ** 12])
      assert.throws(() => {
        for (;;) writeSync(handle, Buffer.alloc(size))
      }, /ENOSPC/)
    closeSync(handle)
    await sleep(TROUBLE_MS)
    rmSync(filler)
    return true
  },
  /** The thread that writes ends. */
  async writer(_: string, gateway: KillableGateway): Promise<boolean> {
    return gateway.endWriter()
  },
}
type TroubleKind = keyof typeof TROUBLES

/** Returns the troubles that are possible in a directory. A full disk needs the permission to mount a small one there. */
function troublesOn(t: TestContext, directory: string): TroubleKind[] {
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64m', 'tmpfs', directory])
  if (status !== 0) t.diagnostic('no disk is full, because mounting a file system is not permitted here')
  else t.after(() => spawnSync('umount', ['-l', directory]))
  return status === 0 ? ['lock', 'full', 'writer'] : ['lock', 'writer']
}

/** Makes the troubles in turn, each as often as told. */
async function makeTrouble(
  kinds: readonly TroubleKind[],
  times: number,
  file: string,
  gateway: KillableGateway,
  progress: Progress,
): Promise<void> {
  const all = Array.from({ length: times }, () => kinds).flat()
  for (const [at, kind] of all.entries()) {
    while (progress.begun < (progress.calls * (at + 1)) / (all.length + 1)) await sleep(1)
    await gateway.ready
    const from = Date.now()
    const trouble = TROUBLES[kind](file, gateway)
    if (kind === 'full') progress.disk = trouble.then(() => {})
    if (await trouble) progress.troubles.push({ kind, from, to: Date.now() })
  }
}

/**
 * Writes a record as the first release did, and its inferences into the ledger. The last calls are open. Returns the
 * calls as their clients saw them.
 */
function recordFirst(file: string, calls: number, ledger: Map<string, Inference[]>): Map<string, Seen> {
  const seen = new Map<string, Seen>()
  if (calls === 0) return seen
  const db = new Database(file)
  db.pragma('journal_mode = WAL')
  migrate(db, 1)
  const call =
    db.prepare(`INSERT INTO call_logs (id, created_at, completed_at, state, endpoint, requested_model, resolved_provider,
    resolved_model, picked_provider, picked_model, decision, session_id, stream, status, attempts, fallbacks, cache,
    latency_ms)
    VALUES (@id, @at, @end, @state, '/v1/chat/completions', 'plain', 'alpha', 'plain', 'alpha', 'plain', '{"cause":"priority","skipped":[]}',
    @nonce, 0, @status, 1, 0, 'BYPASS', @latency)`)
  const attempt =
    db.prepare(`INSERT INTO call_attempts (call_id, n, provider, model, started_at, ended_at, status, outcome)
    VALUES (@id, 1, 'alpha', 'plain', @at, @end, @status, @outcome)`)
  const begin = Date.now() - calls * 100
  db.transaction(() => {
    for (let n = 0; n < calls; n++) {
      const [at, nonce, isOpen] = [begin + n * 100, `first-${n}`, n >= calls - WORKERS]
      const id = idOf(at)
      const end = isOpen
        ? { end: null, status: null, state: 'streaming', outcome: 'open', latency: null }
        : { end: at + 50, status: 200, state: 'completed', outcome: 'answered', latency: 50 }
      call.run({ id, at, nonce, ...end })
      attempt.run({ id, at, ...end })
      ledger.set(nonce, [{ provider: 'alpha', model: 'plain' }])
      const result = isOpen ? 'broken' : 'whole'
      seen.set(nonce, {
        model: 'plain',
        life: 1,
        result,
        requestId: id,
        endedAt: Infinity,
        background: false,
      })
    }
  })()
  db.close()
  return seen
}

/** Files that an upgrade writes one after the other: it rewrites the database, and then changes it. */
const UPGRADED = ['-journal', '-wal']
/** Number of kills in each of them, and longest time from its first write to a kill, ms. */
const [UPGRADE_KILLS, UPGRADE_MS] = [4, 100]

/** Kills the gateway again and again while it upgrades the record. Returns how often it had begun and was not done. */
async function killUpgrades(gateway: KillableGateway, file: string, random: () => number): Promise<number> {
  let amid = 0
  for (const name of UPGRADED)
    for (let n = 0; n < UPGRADE_KILLS; n++) {
      const start = Date.now()
      gateway.start()
      const isReady = gateway.ready.then(() => true)
      const isWritten = () => (statSync(file + name, { throwIfNoEntry: false })?.mtimeMs ?? 0) >= start
      while (!isWritten() && !(await Promise.race([isReady, sleep(1)])));
      await sleep(UPGRADE_MS * random())
      await gateway.end('SIGKILL')
      const db = new Database(file)
      if (db.pragma('user_version', { simple: true }) === 1) amid++
      db.close()
    }
  return amid
}

/** Checks every promise about the record. Throws with all violations. */
function compare(
  ledger: ReadonlyMap<string, readonly Inference[]>,
  seen: ReadonlyMap<string, Seen>,
  { calls, attempts }: ReturnType<typeof readRecord>,
  killedAt: ReadonlyMap<number, number>,
  troubles: Progress['troubles'],
) {
  const broken: string[] = []
  const counts = {
    ...{ inferences: 0, refused: 0, interrupted: 0, unknown: 0, unknownSent: 0 },
    ...{ whole: 0, wholeInterrupted: 0, background: 0 },
  }
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
      const killed = killedAt.get(life)!
      const usable = troubles.filter(({ from }) => from < killed).map(({ to }) => to)
      if (!(Math.max(endedAt, ...usable) > killed - LAG))
        complain(`it was over more than ${LAG} ms before the gateway was killed`)
    }
  }

  for (const [nonce, { result, model, requestId, background }] of seen) {
    const call = bySession.get(nonce)
    const complain = (what: string) => broken.push(`${nonce} (${model}): ${what}`)
    // A fallback that cannot be recorded is not tried; the client then gets the first provider's answer.
    const isRefused = result === 'status 503' || (model in FAILING && result === `status ${FAILING[model]}`)
    if (isRefused && troubles.length > 0) {
      counts.refused++
      if (result === 'status 503' && call) complain('it was refused, and is on record')
      continue
    }
    if (result.startsWith('status')) complain(`the client got ${result}`)
    if (requestId !== null && call?.id !== requestId)
      complain(`the client was told request id ${requestId}, the record has ${call?.id}`)
    if (result !== 'whole') continue
    counts.whole++
    if (background) {
      counts.background++
      if (call?.state !== 'completed' || call.tokens_output !== BACKGROUND_OUTPUT)
        complain(
          `it ended in the background, the record is ${call?.state} with ${call?.tokens_output} tokens`,
        )
    } else if (call?.state === 'interrupted') counts.wholeInterrupted++
    else if (call?.state !== 'completed')
      complain(`the client has the whole answer, the record is ${call?.state}`)
  }
  assert.deepEqual(broken.slice(0, 20), [], `${broken.length} breaches`)
  return counts
}

/** Makes all calls and kills the gateway meanwhile. Resolves with the clients' results, by nonce. */
async function drive(
  gateway: KillableGateway,
  { kills, dialects, background = 0 }: KillPlan,
  progress: Progress,
  random: () => number,
): Promise<Map<string, Seen>> {
  const spoken = SPOKEN.filter(([name]) => dialects?.includes(name) ?? true)
  const seen = new Map<string, Seen>()
  const agent = new Agent()
  const work = async () => {
    while (progress.begun < progress.calls) {
      const nonce = `kill-${SEED}-${progress.begun++}`
      const plan = planOf(random, spoken, background)
      const { url, life } = await gateway.ready
      seen.set(nonce, {
        ...{ model: plan.model, life, background: plan.background },
        ...(await call(url, nonce, plan, agent, gateway)),
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
      await progress.disk
      gateway.start()
    }
  }
  await Promise.all([kill(), ...Array.from({ length: WORKERS }, work)])
  await agent.destroy()
  return seen
}

/** Statuses of the providers for the models that fail. */
const FAILING: Readonly<Record<string, number>> = { limited: 429, broken: 500 }

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
  readonly background: boolean
}

function planOf(random: () => number, spoken: typeof SPOKEN, share: number): Plan {
  const dice = random()
  const model = dice < 0.1 ? 'limited' : dice < 0.2 ? 'broken' : dice < 0.6 ? 'plain' : 'alpha/direct'
  const dialect = SPOKEN.indexOf(spoken[Math.floor(random() * spoken.length)]!)
  const background = share > 0 && random() < share
  const stream = !background && random() < 0.4 && SPOKEN[dialect]![2].stream('m') !== ''
  return { dialect, model, stream, leaves: stream && random() < 0.1, background }
}

/** Returns the path and body of a call. The body contains its nonce, and its dialect for the provider. */
function requestOf(
  { dialect, model, stream, background }: Plan,
  nonce: string,
): { path: string; body: string } {
  const [, { client }, samples] = SPOKEN[dialect]!
  const { path, rest, query } = samples.arrival?.(model, stream) ?? { path: client.path, rest: '', query: '' }
  const body = samples.request(model, stream).replace('{"a": 1.0}', JSON.stringify({ nonce, dialect }))
  const whole = background ? JSON.stringify({ ...JSON.parse(body), background }) : body
  return { path: `${path.replace('*', rest)}?${query}`, body: whole }
}

/** Pause of a client after a refusal, ms. */
const REFUSED_MS = 200

const eventsOf = (samples: Samples): string[] => samples.stream('m').split(/(?<=\n\r?\n)/)

async function call(
  url: string,
  nonce: string,
  plan: Plan,
  dispatcher: Agent,
  gateway: KillableGateway,
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
    if (statusCode !== 200) {
      await sleep(REFUSED_MS)
      return { result: `status ${statusCode}`, requestId }
    }
    if (plan.background)
      return { result: await fetched(JSON.parse(text).id, path, dispatcher, gateway), requestId }
    const end = plan.stream ? eventsOf(SPOKEN[plan.dialect]![2]).at(-1)! : '}'
    return { result: text.endsWith(end) ? 'whole' : 'broken', requestId }
  } catch {
    return { result: 'broken', requestId }
  }
}

/** Tokens in the output of an answer in the background. */
const BACKGROUND_OUTPUT = 7
const BACKGROUND_USAGE = { total_input_tokens: 20, total_output_tokens: 5, total_thought_tokens: 2 }
/** Longest run of an answer in the background, ms. */
const BACKGROUND_MS = 800
/** Maximum time for fetching an answer from the background, ms. */
const FETCH_LIMIT_MS = 60_000

/** Fetches an answer of the background again and again, also from the next process, until it is complete. */
async function fetched(
  id: string,
  path: string,
  dispatcher: Agent,
  gateway: KillableGateway,
): Promise<Seen['result']> {
  const url = path.replace(/\?.*/s, `/${id}`)
  for (const end = performance.now() + FETCH_LIMIT_MS; performance.now() < end; await sleep(50)) {
    const { url: origin } = await gateway.ready
    const answer = await request(origin + url, { dispatcher })
      .then(async ({ statusCode, body }) => ({ status: statusCode, json: (await body.json()) as any }))
      .catch(() => null) // killed meanwhile
    if (answer && answer.status !== 200 && answer.status !== 502 && answer.status !== 503)
      return `status ${answer.status}`
    if (answer?.json.status === 'completed') return 'whole'
  }
  return 'status 504'
}

/**
 * Starts the providers `alpha` and `beta` on one port. The ledger lists by nonce the requests that reached
 * them, in order.
 */
async function startProviders(t: TestContext, random: () => number) {
  const ledger = new Map<string, Inference[]>()
  const running = new Background(random)
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = []
    incoming.on('error', () => {}) // killed during a request, so it is not an inference
    incoming.on('data', (bytes: Buffer) => chunks.push(bytes))
    incoming.on('end', () => {
      if (incoming.method === 'GET') return void response.end(running.answer(incoming.url!))
      const text = Buffer.concat(chunks).toString('utf8')
      const json = JSON.parse(text)
      const { nonce, dialect } = json.unknown as { nonce: string; dialect: number }
      const model: string = json.model ?? /\/models\/(\w+):/.exec(incoming.url!)![1]
      const isStream = json.stream === true || incoming.url!.endsWith('alt=sse')
      const inferences = ledger.get(nonce) ?? []
      ledger.set(nonce, [...inferences, { provider: incoming.url!.split('/')[1]!, model }])
      const received: Received = { path: incoming.url!, headers: incoming.headers, text, json }
      const pause = () => random() * 6
      if (model in FAILING) fail(FAILING[model]!)(response, received)
      else if (json.background) response.end(running.begin(nonce))
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

/** The interactions that run in the background of the providers. */
class Background {
  /** End of each, ms of the `performance` clock. */
  readonly #ends = new Map<string, number>()
  readonly #random: () => number

  constructor(random: () => number) {
    this.#random = random
  }

  /** Returns the first answer. */
  begin(nonce: string): string {
    const id = `v1_${nonce}_${this.#ends.size}`
    this.#ends.set(id, performance.now() + this.#random() * BACKGROUND_MS)
    return this.answer(id)
  }

  /** Returns the present state of the interaction at an address that ends with its id. */
  answer(address: string): string {
    const id = address.replace(/^.*\/|\?.*$/g, '')
    const isOver = performance.now() > this.#ends.get(id)!
    const head = { id, object: 'interaction', model: 'm' }
    return JSON.stringify({
      ...{ ...head, status: isOver ? 'completed' : 'in_progress', steps: [] },
      ...(isOver && { usage: BACKGROUND_USAGE }),
    })
  }
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

/** An argument of Node: SIGUSR2 ends the writer thread. */
const MORTAL = `--import=data:text/javascript,${encodeURIComponent(`let writer
process.on('worker', (worker) => {
  if (worker.threadName === 'writer') writer = worker
})
process.on('SIGUSR2', () => writer?.terminate())`)}`

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
    const child = spawn(process.execPath, [MORTAL, 'src/cli.ts', 'serve', '--config', this.#config], {
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

  /** Ends the writer thread. Returns false if the process has just been killed. */
  endWriter(): boolean {
    return this.#child?.kill('SIGUSR2') ?? false
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

/** Returns the number of calls that are still open on record. */
function countOpen(file: string): number {
  const db = new Database(file, { readonly: true })
  try {
    return db.prepare<[], number>('SELECT count(*) FROM call_logs WHERE completed_at IS NULL').pluck().get()!
  } finally {
    db.close()
  }
}

function readRecord(file: string) {
  const db = new Database(file, { readonly: true })
  try {
    checkReferences(db)
    checkRollUps(db)
    const calls = db
      .prepare<[], CallRow>(
        'SELECT id, session_id, state, attempts, completed_at, tokens_output FROM call_logs',
      )
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
