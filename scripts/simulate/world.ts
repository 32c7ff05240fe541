// One history of a simulation: a gateway that is started, used, stopped and killed, its clients, its providers and its
// operator. Plays the events in their order. `invariants.ts` says what must hold. Over 250 lines, because all of them act
// on one gateway, and a crash in the middle of any act ends it for all.
import { createHash } from 'node:crypto'
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Loaded, parseConfig } from '../../src/config/load.ts'
import { createGateway, type Gateway } from '../../src/gateway/create-gateway.ts'
import { MEMORY, type MemoryShare } from '../../src/shared/memory.ts'
import { claim, databaseFile } from '../../src/store/sqlite/open.ts'
import { isEnd } from '../../src/websocket/frames.ts'
import type { Event } from './events.ts'
import {
  attemptsOn,
  type CallRecords,
  checkAll,
  checkInference,
  checkRecovered,
  checkTold,
  openRecords,
  type Sent,
} from './invariants.ts'
import { Dice, SimulatedDisk, type VirtualClock } from './machine.ts'
import { HttpReader, type Message, Network, type Reach } from './network.ts'
import {
  deviationOf,
  type Inference,
  NONCE,
  type ProviderAsk,
  responseIdOf,
  type SimulatedProvider,
  serveProvider,
} from './provider.ts'
import {
  type CallEvent,
  ClientSocket,
  configurationIn,
  KEY_NAMES,
  keyOf,
  PROVIDERS,
  providerKeyOf,
  requestOf,
} from './setup.ts'

/** Parent of all directories: in memory, because a real disk waits for each sync. */
const PLACE = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
process.env.TMPDIR = PLACE // for the gateway's own lock

/** Directory with an empty database, of which each history gets a copy. */
let blank: string | undefined
function blankDatabase(): string {
  if (blank === undefined) {
    blank = mkdtempSync(join(PLACE, 'waybill-simulated-'))
    process.on('exit', () => rmSync(blank!, { recursive: true, force: true }))
    claim(blank, Date.now()).release()
  }
  return databaseFile(blank)
}

/** Messages of a flood: the answers are larger than what the gateway may hold for one reader. */
const [FLOOD, FLOODS] = [1_000, 16]
/** Two of the longest answers. */
const MAX_UNREAD_BYTES = 2 ** 20 * 1.5

const UPGRADE =
  'connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: MDEyMzQ1Njc4OWFiY2RlZg=='

/** Encrypts stored responses. */
const STORE = 'a-key-of-the-store-0123456789-0123456789'

/** Number of paths that are read. */
const READS = 14
/** Number of the read of /readyz. */
const READYZ = 7

const CALM = ['call', 'wait', 'read', 'reload', 'rotate', 'jump', 'backup', 'settle']
const isCalm = (event: Event): boolean =>
  CALM.includes(event.kind) &&
  (event.kind !== 'call' || (event.client === 'reads' && event.deeds.every(({ how }) => how === 'answers')))

/** Owners of keys that may be replaced. */
const OWNERS: readonly string[] = [...KEY_NAMES, ...PROVIDERS.map(({ name }) => name)]

/** Names the key whose request or response this is. */
const OWNER = /\bn\d+[-_](ann|bob|eve|root)\b/g

/** Returns the id of the response that a client got, or might have got. */
const responseIn = ({ answer, nonce }: Sent): string =>
  /"id":"(resp_[\w-]+)"/.exec(answer?.body ?? '')?.[1] ?? responseIdOf(nonce)

const open = MEMORY.open.bind(MEMORY)

/** Configurations by their text, because parsing takes longer than a start. */
const parsed = new Map<string, Loaded>()

export class SimulatedWorld {
  readonly clock: VirtualClock
  readonly dice: Dice
  readonly journal: string[] = []
  readonly ledger: Inference[] = []
  /** The last request with a prompt, by the name in the prompt. */
  readonly #askers = new Map<string, Sent>()
  /** Inferences by the client's request. */
  readonly inferences = new Map<string, Inference[]>()
  readonly sent: Sent[] = []
  readonly reach = new Map<string, Reach>()
  /** Number of gateways that died, or could not write the ends of their calls. */
  losses = 0
  /** Number of gateways that were stopped. */
  stops = 0
  /** Attempts on record when the database was moved away; null while it is in its place. */
  onRecord: ReadonlyMap<string, number> | null = null
  #backup: { readonly directory: string; readonly calls: number } | null = null
  #sockets: ClientSocket[] = []
  /** True if the disk has refused a call since it began to fail. */
  #isRefused = false
  /** Times at which the windows of all rates ended: a gateway began, or the date changed. */
  readonly breaks: number[] = []
  /** True if nothing but right calls and answers happens, so that all calls succeed. */
  isCalm = false
  /** Holders of memory. */
  readonly shares = new Set<MemoryShare>()
  crashes = 0
  /** Deaths that were only looked at: the history goes on without them. */
  looks = 0
  /** Share of the writes (0 to 1) in which deaths are looked at, with dice of their own: they do not change the history. */
  readonly #lookedAt: number
  readonly #lookDice: Dice
  /** Number of the present data directory. */
  #life = 0
  calls = 0
  /** Calls on record when everything had ended last. */
  #settledCalls = 0
  records!: CallRecords
  finding: string | null = null
  readonly #root: string
  readonly #durability: string
  /** US dollars that bob may spend a day. */
  readonly budget: number
  #reloads = 0
  /** Number of times that the key of each client and provider was replaced, by name. */
  readonly #rotations: Record<string, number> = {}
  /** Number of all replaced keys. */
  rotations = 0
  #gateway: Gateway | null = null
  #network!: Network
  #disk!: SimulatedDisk
  /** Number of points until the process dies; null if it does not. */
  #pointsLeft: number | null = null
  #part = 1
  #again = 0
  #isDead = false
  /** Number of the present event. */
  step = 0
  /** Inferences that arrived after their gateway had died. */
  #late: Inference[] = []

  constructor(clock: VirtualClock, dice: Dice, lookedAt: number) {
    this.clock = clock
    this.dice = dice
    this.#lookedAt = lookedAt
    this.#lookDice = new Dice(lookedAt)
    this.#root = mkdtempSync(join(PLACE, 'waybill-simulated-'))
    MEMORY.open = (...args) => {
      const share = open(...args)
      this.shares.add(share)
      return share
    }
    this.#durability = dice.weighted([
      ['process', 3],
      ['full', 1],
    ])
    this.budget = dice.pick([0.2, 2])
    mkdirSync(this.#directory(), { mode: 0o700 })
    copyFileSync(blankDatabase(), databaseFile(this.#directory()))
  }

  /** Plays the events. Returns the finding that ends the history, or null. */
  async play(events: readonly Event[]): Promise<string | null> {
    this.isCalm = events.every(isCalm)
    try {
      await this.#start()
      for (const event of events) {
        this.step++
        await this.#do(event)
        await this.turns(event.turns)
        await this.#dieIfDue()
        for (const { key, far } of this.#sockets)
          if (far.unread > MAX_UNREAD_BYTES)
            this.fail(`the gateway holds ${far.unread} bytes for a socket of ${key} that is not read`)
        if (this.#disk.refuses === 'no openings' && this.#isRefused) this.#read(READYZ)
        if (this.finding) break
      }
      if (!this.finding) await this.#settle()
    } catch (error) {
      this.fail(String((error as Error).stack))
    }
    try {
      await this.#end()
    } catch (error) {
      this.fail(`the gateway does not stop: ${(error as Error).message}`)
    }
    rmSync(this.#root, { recursive: true, force: true })
    return this.finding
  }

  note(what: string): void {
    this.journal.push(`${this.step} ${(this.clock.monotonic() % 1e9) | 0} ${what}`)
  }

  fail(what: string): void {
    if (this.finding) return
    this.finding = what
    this.note(`FINDING ${what}`)
  }

  #hold(problem: string | null): void {
    if (problem !== null) this.fail(problem)
  }

  readonly turns = async (count = 2): Promise<void> => {
    for (let n = 0; n < count; n++) await nextTurn()
  }

  #directory = (): string => join(this.#root, `life-${this.#life}`)
  #load = (): Loaded => {
    const rotations = this.#rotations
    const [durability, budget, reloads] = [this.#durability, this.budget, this.#reloads]
    const text = configurationIn({ durability, budget, reloads, rotations })
    const keys = PROVIDERS.map(({ name }) => [name, providerKeyOf(name, rotations)])
    const name = `${text}${keys}`
    const env = { STORE, ...Object.fromEntries(keys) }
    const loaded = parsed.get(name) ?? parseConfig(text, 'simulated.yaml', { env })
    parsed.set(name, loaded)
    return { ...loaded, config: { ...loaded.config, data: this.#directory() } }
  }

  async #start(): Promise<void> {
    this.#isDead = false
    this.breaks.push(this.clock.monotonic())
    this.#disk = new SimulatedDisk(this.#directory(), (disk, what) => this.#point(disk, what))
    this.#network = new Network(
      this.dice,
      (origin, far) => {
        const provider = PROVIDERS.find((each) => each.origin === origin)!
        serveProvider(provider, far, this.dice, (request, asked) => this.#arrived(provider, request, asked))
      },
      (origin) => this.reach.get(origin) ?? 'up',
    )
    const error = (fields: object, said?: string) => {
      if (/internal error|entry of the process log/.test(said ?? ''))
        this.fail(`${said}: ${JSON.stringify(fields)}`)
    }
    const started = createGateway({
      ...this.#load(),
      ...{
        clock: this.clock,
        threads: false,
        sockets: this.#network.sockets,
        page: new URL('file:///nowhere/'),
      },
      log: { error, warn() {}, info() {}, debug() {} } as never,
      onDoubt: (reason) => this.fail(`the state of the record is unknown: ${reason}`),
    })
    this.#gateway = await this.#during(started)
    this.records = openRecords(databaseFile(this.#directory()))
    this.note(`life ${this.#life} begins with ${this.records.count()} calls on record`)
    for (const each of this.#late.splice(0)) this.#hold(checkInference(this, each))
    if (this.records.count() < this.#settledCalls) this.fail('calls that had ended are no longer on record')
    for (const each of this.sent) if (!each.isChecked) this.#hold(checkTold(this, each))
  }

  /** Lets turns and time pass until a promise is settled. */
  async #during<Value>(promise: Promise<Value>): Promise<Value> {
    let isSettled = false
    const settle = () => {
      isSettled = true
    }
    promise.then(settle, settle)
    for (let tries = 0; !isSettled; tries++) {
      await this.turns(1)
      if (tries % 50 === 49) await this.clock.advance(10, this.turns)
      if (tries > 100_000) throw new Error('nothing happens any more')
    }
    return promise
  }

  #point(disk: SimulatedDisk, what: string): void {
    if (disk !== this.#disk || this.#isDead) return
    const isBefore = what.startsWith('before')
    if (this.#pointsLeft !== null) {
      this.#pointsLeft--
      if (this.#pointsLeft === 0 && isBefore) disk.before = disk.look()
      if (this.#pointsLeft < 0) this.#die(what)
    }
    if (this.#lookedAt === 0 || this.#isDead || disk.areGone) return
    if (!isBefore && disk.before)
      for (const part of [this.#lookDice.number(), 1]) this.#lookAtDeath(disk, what, part)
    else if (isBefore && this.#lookDice.number() < this.#lookedAt) disk.before ??= disk.look()
  }

  /** Checks the record that the next gateway would find if the process died now, without its death. */
  #lookAtDeath(disk: SimulatedDisk, what: string, part: number): void {
    const directory = join(this.#root, 'looked-at')
    this.looks++
    disk.copy(directory, part)
    try {
      claim(directory, this.clock.now()).release()
      const records = openRecords(databaseFile(directory))
      const { sent, inferences } = this
      const problem = checkRecovered({ records, sent, inferences, settledCalls: this.#settledCalls })
      records.close()
      if (problem !== null)
        this.fail(`if the gateway died ${what}, ${Math.floor(part * 100)} % written: ${problem}`)
    } catch (error) {
      this.fail(
        `if the gateway died ${what}, ${Math.floor(part * 100)} % written: ${(error as Error).message}`,
      )
    }
    rmSync(directory, { recursive: true, force: true })
  }

  /** The process dies: nothing that it does from now on has an effect. */
  #die(what: string): void {
    this.#isDead = true
    this.#pointsLeft = this.#again > 0 ? this.#again : null
    this.#again = 0
    this.crashes++
    this.note(
      `the gateway dies ${what}, ${this.#disk.before ? `${Math.floor(this.#part * 100)} % written` : 'at rest'}`,
    )
    this.#network.die()
    this.#moveFiles(false)
    this.#disk.copy(join(this.#root, `life-${this.#life + 1}`), this.#part)
  }

  async #dieIfDue(): Promise<void> {
    while (this.#isDead) {
      this.#network.sever()
      this.#disk.refuses = null
      const gateway = this.#gateway
      this.#gateway = null
      this.records?.close()
      if (gateway) await this.#during(gateway.close(0))
      this.#forgetMemory()
      this.#disk.forget()
      const last = this.#directory()
      this.#life++
      this.losses += 1
      await this.#start()
      rmSync(last, { recursive: true, force: true })
    }
  }

  async #do(event: Event): Promise<void> {
    switch (event.kind) {
      case 'call':
        for (let n = 0; n < event.times; n++) this.#call(event)
        break
      case 'wait':
        await this.clock.advance(event.ms, this.turns)
        break
      case 'leave': {
        const open = this.sent.filter(({ isOver }) => !isOver)
        const one = open[event.n % Math.max(1, open.length)]
        if (!one) break
        one.hasLeft = true
        this.note(`${one.nonce} leaves`)
        one.far.cut(event.n % 2 === 0)
        break
      }
      case 'read':
        this.#read(event.n)
        break
      case 'reach': {
        const { origin } = PROVIDERS[event.n % PROVIDERS.length]!
        this.reach.set(origin, event.how)
        this.note(`${origin} ${event.how}`)
        break
      }
      case 'crash':
        this.note(`a crash in ${event.points} points`)
        if (this.#pointsLeft !== null || event.points === 0) this.#die('between two turns')
        else this.#pointsLeft = event.points
        this.#part = event.part
        this.#again = event.again
        break
      case 'disk':
        this.#disk.refuses = event.how
        this.#isRefused = false
        this.note(`writes fail: ${event.how}`)
        break
      case 'files':
        if (event.are === 'gone' && !this.#disk.areGone) this.onRecord = attemptsOn(this.records)
        this.#moveFiles(event.are === 'gone')
        break
      case 'flood':
        this.#flood(KEY_NAMES[event.n % KEY_NAMES.length]!)
        break
      case 'backup':
        await this.#settle()
        if (!this.#disk.areGone && !this.finding) this.#backUp()
        break
      case 'restore':
        if (this.#backup !== null) await this.#restart(true)
        break
      case 'reload':
        this.#reloads++
        this.#gateway!.reload(this.#load)
        this.note('reload')
        break
      case 'rotate':
        this.#rotate(OWNERS[event.n % OWNERS.length]!)
        break
      case 'jump':
        this.clock.jump(event.ms)
        this.breaks.push(this.clock.monotonic())
        this.note(`the clock jumps by ${event.ms} ms`)
        break
      case 'restart':
        await this.#restart()
        break
      case 'settle':
        await this.#settle()
        break
    }
  }

  /** Stops the gateway as an operator does, and starts it again on the same directory. */
  async #restart(isRestored = false): Promise<void> {
    this.note(isRestored ? 'restart with the backup' : 'restart')
    if (this.#disk.refuses || this.#disk.areGone) this.losses++
    this.stops++
    const gateway = this.#gateway!
    await this.#during(gateway.close(1_000))
    if (this.#isDead) return
    this.#gateway = null
    this.#forgetMemory()
    await this.clock.advance(100, this.turns) // what was written arrives after the end of the process, too
    this.#network.sever()
    this.records.close()
    this.#disk.forget()
    this.#moveFiles(false)
    this.#disk.refuses = null
    if (isRestored) this.#restore()
    await this.#start()
  }

  /** Moves the database away from under the gateway, or back. */
  #moveFiles(areGone: boolean): void {
    if (this.#disk.areGone === areGone) return
    this.#disk.move(areGone)
    this.note(`the database is ${areGone ? 'gone' : 'back'}`)
    if (!areGone) this.onRecord = null
  }

  /** Replaces a key, as its owner and the operator do. The old one is valid no longer. */
  #rotate(name: string): void {
    this.#rotations[name] = 1 + (this.#rotations[name] ?? 0)
    this.rotations++
    this.#gateway!.reload(this.#load)
    this.note(`${name} has another key`)
  }

  /** Returns a client's key; `isOld`: the one before, if there is one. */
  #secretOf(key: CallEvent['key'], isOld = false): string {
    const rotation = this.#rotations[key] ?? 0
    return keyOf(key, isOld ? Math.max(0, rotation - 1) : rotation)
  }

  /** Copies the database, while all calls have ended. */
  #backUp(): void {
    const directory = join(this.#root, `backup-${this.step}`)
    this.#disk.copy(directory, 1)
    this.#backup = { directory, calls: this.sent.length }
    this.note('backup')
  }

  /** Puts the copy in the place of the database, which is not open. The calls since then are forgotten. */
  #restore(): void {
    const { directory, calls } = this.#backup!
    rmSync(this.#directory(), { recursive: true })
    this.#life++
    cpSync(directory, this.#directory(), { recursive: true })
    for (const each of this.sent.slice(calls)) each.isForgotten = true
    this.#settledCalls = 0
    this.losses++
  }

  #call(drawn: CallEvent): void {
    const repeated = drawn.again ? this.#repeatable(drawn.n) : null
    const { key, client, deeds } = drawn
    const event = repeated ? { ...repeated.event, key, client, deeds } : drawn
    const nonce = `n${this.calls++}-${event.key}`
    const asked = repeated?.asked ?? nonce
    const isOld = event.client === 'uses an old key'
    const secret = this.#secretOf(event.key, isOld)
    const isKept = (each: Sent) =>
      each.event.ask === 'continue' && each.answer?.isWhole && each.head?.start.includes(' 200 ')
    const kept = event.ask === 'continue' ? this.sent.filter(isKept) : []
    const before = kept[event.n % Math.max(1, kept.length)] ?? null
    const {
      method = 'POST',
      path,
      type,
      body,
    } = requestOf(event, asked, before ? responseIn(before) : undefined)
    const head = [
      `${method} ${path} HTTP/1.1`,
      ...['host: localhost', `authorization: Bearer ${secret}`, `x-session-id: ${nonce}`],
      ...(method === 'POST' ? [`content-length: ${Buffer.byteLength(body)}`] : []),
      ...(method === 'POST' ? [`content-type: ${type ?? 'application/json'}`] : []),
      ...(event.ask === null && event.dialect === 'messages' ? ['anthropic-version: 2023-06-01'] : []),
    ]
    const request = `${head.join('\r\n')}\r\n\r\n${body}`
    const sent: Sent = {
      nonce,
      event,
      before,
      asked,
      repeated,
      hasOldKey: secret !== this.#secretOf(event.key),
      rotations: this.rotations,
      losses: this.losses,
      stops: this.stops,
      at: this.clock.monotonic(),
      head: null,
      answer: null,
      isOver: false,
      isChecked: false,
      isForgotten: false,
      hasLeft: false,
      far: null!,
    }
    this.sent.push(sent)
    this.#askers.set(asked, sent)
    this.note(
      `${nonce} ${event.ask ?? event.dialect} ${event.model}${event.stream ? ' streamed' : ''}, ${event.client}${repeated ? `, as ${repeated.nonce}` : ''}`,
    )
    if (event.ask === 'socket') {
      this.#ask(sent, body, secret)
      return
    }
    this.#request(sent, request)
  }

  /** Returns a request that may be repeated: the last one with its prompt, so that an inference names its request. */
  #repeatable(n: number): Sent | null {
    const isWhole = ({ answer }: Sent) => answer?.isWhole === true && answer.start.includes(' 200 ')
    const some = [...this.#askers.values()].filter(
      (each) => [null, 'embeddings'].includes(each.event.ask) && each.isOver && isWhole(each),
    )
    return some[n % Math.max(1, some.length)] ?? null
  }

  /** Sends a call over a connection of its own. */
  #request(sent: Sent, request: string): void {
    const { nonce, event } = sent
    const again = event.client === 'pipelines' ? 'GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n' : null
    const messages: Message[] = []
    const began = (message: Message) => {
      messages.push(message)
      if (messages.length > 1) return
      sent.head = message
      sent.answer = message
      this.note(`${nonce} gets ${message.start}`)
      // Not the provider's own 503.
      const isOurs = message.start.includes(' 503 ') && !this.inferences.has(nonce)
      if (isOurs && this.#disk.refuses !== null) this.#isRefused = true
      this.#hold(checkTold(this, sent))
    }
    const ended = (message: Message) => {
      if (message === sent.answer) this.#over(sent)
    }
    const reader = new HttpReader(began, ended)
    sent.far = this.#network.connect(() => ({
      data: (bytes) => {
        reader.feed(bytes)
        if (sent.head && event.client === 'leaves at the start') {
          sent.hasLeft = true
          sent.far.cut(event.n % 2 === 0)
        }
      },
      end: () => reader.end(),
      gone: () => {
        reader.end()
        this.#over(sent)
      },
    }))
    const { far } = sent
    if (event.client === 'stalls') far.stall(true)
    if (event.client === 'sends half') far.send(request.slice(0, Math.max(1, request.length - 1 - event.n)))
    else if (event.client === 'sends slowly') {
      const middle = request.length >> 1
      far.send(request.slice(0, middle))
      this.clock.after(event.n + 1, () => far.send(request.slice(middle)))
    } else far.send(again === null ? request : request + again)
    if (event.client === 'closes its side') far.send(null)
    if (event.client === 'leaves') {
      this.clock.after(event.n, () => {
        sent.hasLeft = true
        far.cut(event.n % 2 === 0)
      })
    }
  }

  /** Sends many messages over a socket, and reads none of the answers. */
  #flood(key: CallEvent['key']): void {
    const socket = this.#socketOf(key, this.#secretOf(key))
    for (const each of this.sent) if (each.far === socket.far) each.hasLeft = true
    socket.whenOpen(() => socket.far.stall(true))
    for (let n = 0; n < FLOODS; n++) socket.send('1', FLOOD)
    this.note(`${key} floods a socket`)
  }

  /** Returns a socket of a key; opens one if there is none with room. */
  #socketOf(key: CallEvent['key'], secret: string): ClientSocket {
    const usable = this.#sockets.find((each) => each.secret === secret && each.hasRoom)
    if (usable) return usable
    let socket!: ClientSocket
    const far = this.#network.connect((far) => {
      socket = new ClientSocket(
        far,
        key,
        secret,
        (text) => this.#heard(socket, text),
        () => {
          this.#sockets = this.#sockets.filter((each) => each !== socket)
          for (const each of this.sent) if (each.far === far) this.#over(each)
        },
      )
      return socket
    })
    far.send(
      `GET /v1/responses HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${secret}\r\n${UPGRADE}\r\n\r\n`,
    )
    this.#sockets.push(socket)
    return socket
  }

  /** Sends a call over a socket. */
  #ask(sent: Sent, body: string, secret: string): void {
    const socket = this.#socketOf(sent.event.key, secret)
    socket.asked++
    sent.far = socket.far
    socket.send(body)
    if (sent.event.client === 'stalls') socket.far.stall(true)
    if (!sent.event.client.startsWith('leaves')) return
    this.clock.after(sent.event.n, () => {
      for (const each of this.sent) if (each.far === sent.far) each.hasLeft = true
      sent.far.cut(sent.event.n % 2 === 0)
    })
  }

  /** A message of the gateway has arrived over a socket. */
  #heard(socket: ClientSocket, text: string): void {
    let json: { type: string; status?: number; stream_id?: string }
    try {
      json = JSON.parse(text)
    } catch {
      this.fail(`${socket.key} gets a message over a socket that is not JSON: ${text.slice(0, 80)}`)
      return
    }
    const sent = this.sent.find(({ nonce, far }) => nonce === json.stream_id && far === socket.far)
    if (!sent || sent.isOver) return
    const start = `HTTP/1.1 ${json.status ?? 200} over a socket`
    sent.head ??= { start, headers: { 'transfer-encoding': 'chunked' }, body: '', isWhole: true }
    sent.answer ??= sent.head
    sent.answer.body += text
    sent.answer.isWhole = isEnd(json.type)
    if (sent.answer.isWhole) this.#over(sent)
  }

  #over(sent: Sent): void {
    if (sent.isOver) return
    sent.isOver = true
    this.note(
      `${sent.nonce} is over${sent.answer?.isWhole ? '' : ', cut'}: ${sent.answer?.body.length ?? 0} bytes`,
    )
    this.#hold(checkTold(this, sent))
    // Each client has one connection, which it closes after its answer.
    if (sent.far.isOpen && sent.event.client !== 'pipelines' && sent.event.ask !== 'socket')
      sent.far.cut(false)
  }

  #arrived(
    provider: SimulatedProvider,
    request: Message,
    { model, isStream, nonce: asked, other }: ProviderAsk,
  ): Inference {
    const sent = this.#askers.get(asked ?? '')
    const { nonce, event } = sent ?? { nonce: null, event: undefined }
    const before = this.inferences.get(nonce ?? '') ?? []
    const deed = event?.deeds[before.length] ?? { how: 'answers', n: 3 }
    const deviation = other === null ? deviationOf(provider.dialect, deed, isStream) : null
    const wire = `${request.start} ${JSON.stringify(request.headers)} ${request.body}`
    const key = /sk-sim-[\w-]+/.exec(wire)?.[0] ?? 'none'
    const inference: Inference = {
      nonce,
      provider: provider.name,
      model,
      deed,
      key,
      deviation,
      isSent: false,
    }
    this.ledger.push(inference)
    this.inferences.set(nonce ?? '', [...before, inference])
    this.note(`inference ${nonce} ${provider.name}/${model} ${deed.how}`)
    const foreign = [...wire.matchAll(OWNER)].find(([name, owner]) => owner !== event?.key && name !== asked)
    if (event && foreign) this.fail(`${nonce}: ${provider.name} gets ${foreign[0]} of another key`)
    if (wire.includes('wbkey-')) this.fail(`${provider.name} gets a client's key`)
    const isOld = sent?.rotations === this.rotations && key !== providerKeyOf(provider.name, this.#rotations)
    if (isOld || !key.startsWith(`sk-sim-${provider.name}-`))
      this.fail(`${provider.name} gets the key ${key}`)
    if (this.#isDead) this.#late.push(inference)
    else this.#hold(checkInference(this, inference))
    return inference
  }

  /** Reads as a client or an operator does. */
  #read(n: number, check: (json: { reserved_usd?: number }) => void = () => {}): void {
    const key = KEY_NAMES[Math.floor(n / READS) % KEY_NAMES.length]!
    const one = this.sent[n % Math.max(1, this.sent.length)]
    const paths = [
      '/api/usage/request-logs?limit=50',
      '/api/usage/logs',
      '/api/sessions',
      '/api/keys/me',
      '/api/usage/history?window=24h',
      '/v1/models',
      '/api/routes',
      '/readyz',
      '/api/usage/refused-calls',
      `/api/usage/request-logs?session_id=${one?.nonce}`,
      `/api/usage/request-logs/${one?.head?.headers['x-gateway-request-id'] ?? 'none'}`,
      '/api/cloud/model/resolve?model=mix',
      `/v1/responses/${one ? responseIn(one) : 'none'}`,
      `/v1/responses/${one ? responseIn(one) : 'none'}/input_items`,
    ]
    const path = paths[n % paths.length]!
    const isRefused = () => this.#isRefused && this.#disk.refuses === 'no openings'
    const wasRefused = isRefused() // an answer may be underway for a while
    const ended = (message: Message) => {
      // A key may repeat the words of another one.
      const said = new Set(this.sent.flatMap(({ event, asked }) => (event.key === key ? [asked] : [])))
      const isForeign = [...message.body.matchAll(new RegExp(NONCE, 'g'))].some(
        ([nonce]) => !nonce.endsWith(key) && !said.has(nonce),
      )
      const isReady = path === '/readyz' && message.start.includes(' 200 ')
      if (isReady && wasRefused && isRefused())
        this.fail('the gateway is ready, but the disk has no room for a call')
      if (key !== 'root' && isForeign) this.fail(`${key} reads calls of other keys at ${path}`)
      if (/sk-sim-|wbkey-/.test(message.body)) this.fail(`a secret is in the answer to ${path}`)
      this.note(
        `${key} reads ${path}: ${message.start} ${message.body.length > 0 ? createHash('sha256').update(message.body).digest('hex').slice(0, 8) : ''}`,
      )
      if (message.start.includes(' 200 ') && message.body.startsWith('{')) check(JSON.parse(message.body))
      far.cut(false)
    }
    const reader = new HttpReader(() => {}, ended)
    const far = this.#network.connect(() => ({
      data: (bytes) => reader.feed(bytes),
      end: () => far.cut(false),
      gone() {},
    }))
    far.send(
      `GET ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${this.#secretOf(key)}\r\n\r\n`,
    )
  }

  /** Lets all calls end, and checks everything. */
  async #settle(): Promise<void> {
    this.#disk.refuses = null
    this.#moveFiles(false)
    for (const each of this.sent)
      if (!each.isOver && each.event.client === 'sends half') {
        each.hasLeft = true
        each.far.cut(true)
      }
    for (
      let ms = 0;
      ms === 0 || (ms < 200_000 && this.sent.some(({ isOver, far }) => !isOver || far.isBlocked));
      ms += 2_000
    )
      await this.clock.advance(2_000, this.turns)
    await this.clock.advance(1_000, this.turns) // the end of a call is written after its client has seen it
    await this.#dieIfDue()
    for (const each of this.sent) {
      if (each.far.isBlocked && !this.#isDead)
        this.fail(`${each.nonce}: the gateway still holds an answer that is not read`)
      each.far.stall(false)
    }
    for (const { far } of [...this.#sockets]) far.stall(false)
    await this.clock.advance(10_000, this.turns)
    for (const each of [...this.#sockets]) each.far.cut(false)
    this.#read(3 + READS * KEY_NAMES.indexOf('bob'), ({ reserved_usd: usd }) => {
      if (usd !== 0) this.fail(`${usd} USD of bob's budget are set aside without a call`)
    })
    await this.clock.advance(10_000, this.turns)
    await this.#dieIfDue()
    this.#pointsLeft = null
    if (!this.finding) this.#hold(checkAll(this))
    this.#settledCalls = this.records.count()
    this.note(`settled: ${this.#settledCalls} calls on record, ${this.ledger.length} inferences`)
  }

  async #end(): Promise<void> {
    this.#pointsLeft = null
    this.#network.die()
    this.#network.sever()
    this.records?.close()
    if (this.#gateway) await this.#during(this.#gateway.close(0))
    this.#disk.forget()
    this.#forgetMemory()
  }

  /** A process that has ended holds no memory. */
  #forgetMemory(): void {
    for (const each of this.shares) each.drop()
    this.shares.clear()
  }
}
