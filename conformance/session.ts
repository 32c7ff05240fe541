// What an exercise works with: the target, the witness, and a recorder. Everything that it does goes through here, so that
// all of it is in the evidence. Over 250 lines, because that is its one job: requests, calls, records, secrets and notes
// all end up in the same list.
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { LedgerEntry } from '../mocks/ledger.ts'
import { writeNonce } from '../mocks/ledger.ts'
import type { ScriptedAnswer } from '../mocks/script.ts'
import { clock, type OpenExchange, type Outgoing, type Seen, send } from './client.ts'
import type { Evidence, Exchange } from './evidence.ts'
import { idsIn, isRedirect, listRequest, requestIdOf, theOne } from './lookup.ts'
import { at } from './reading.ts'
import { type Running, StartError } from './running.ts'
import { withoutSecrets } from './secrets.ts'
import { recordStep, type Step, step } from './step.ts'
import type { Surface } from './surface.ts'
import { shownKey, type Target } from './target.ts'

/** The witness as the suite uses it; in this process or over its control port. */
export interface WitnessControl {
  entries(since: number): Promise<readonly LedgerEntry[]>
  /** The entry of the first request that carries the nonce; null when none came within `ms`. */
  seen(nonce: string, ms: number): Promise<LedgerEntry | null>
  script(nonce: string, answers: readonly ScriptedAnswer[]): Promise<void>
  release(gate: string): Promise<void>
  /** Whether its providers take connections. */
  setReachable(reachable: boolean): Promise<void>
  /** From now on requests are searched for this secret. */
  watchFor(name: string, secret: string): Promise<void>
}

export interface ChatOptions {
  readonly model?: string
  readonly stream?: boolean
  /** How the provider answers this call's requests; a short text where nothing is said. */
  readonly script?: readonly ScriptedAnswer[]
  /** Further members of the body; `{nonce}` in their texts stands for that of the call. */
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
  /** The gateway key to show: one of the target's, another text, or null for none. */
  readonly key?: string | null
  readonly timeout?: number
  /** Behind the path, with its question mark. */
  readonly query?: string
  /** Text of the prompt, beside the nonce. */
  readonly prompt?: string
}

/** A call under way, and what it will be in the evidence. */
export interface OpenCall extends Omit<OpenExchange, 'done'> {
  readonly nonce: string
  readonly done: Promise<Exchange>
  /** Resolves with true once the answer contains the text, with false when the answer has ended without it or after `ms`. */
  says(text: string, ms?: number): Promise<boolean>
}

/** Thrown by an exercise that cannot do what the target says is possible. */
export class Untestable extends Error {
  override readonly name = 'Untestable'
}

export interface SessionOptions {
  readonly check: string
  readonly target: Target
  /** On which calls are made; the target's models are those that it has there. */
  readonly surface: Surface
  readonly running: Running
  readonly witness: WitnessControl
  /** Idle windows are short, and prove less. */
  readonly quick?: boolean
  /** The check reads the records of its calls, so that each must be told from the others. */
  readonly findsRecords?: boolean
  /** Name -> value of everything that must not appear in the evidence. */
  readonly secrets: ReadonlyMap<string, string>
  /** Starts another instance of the target; see `Session.another`. */
  readonly another: (variant: string | null) => Promise<Running>
}

/** How long a call may take, ms. */
const PATIENCE = 15_000
/** How long a record may take to become final on a busy machine, where the lag is not what is looked at, ms. */
const SETTLED = 5_000
/** Longer scripts are not kept in the evidence, characters. */
const LONGEST_SCRIPT = 4_000
/** How long after the end of a call its request may still be on the way to the witness, ms. */
const LATE = 1_000

/** A call that shows that the way to the witness is open. */
const controlCall = step<{ name: string }>('control call')

const safe = (method = 'GET'): boolean => method === 'GET' || method === 'HEAD'

export class Session {
  readonly target: Target
  readonly surface: Surface
  readonly witness: WitnessControl
  /** The instance that requests go to. */
  running: Running
  readonly #options: SessionOptions
  readonly #exchanges: Exchange[] = []
  readonly #pending: Promise<Exchange>[] = []
  readonly #scripts = new Map<string, readonly ScriptedAnswer[]>()
  readonly #marks: Record<string, number> = {}
  readonly #facts: Record<string, unknown> = {}
  readonly #secrets: Map<string, string>
  readonly #started = clock()
  /** Nonce of a call -> the records that were there before it. */
  readonly #before = new Map<string, ReadonlySet<string>>()
  /** The calls that wait for each other. */
  #turn: Promise<unknown> = Promise.resolve()
  #waited = 0
  #count = 0
  #closed = false

  constructor(options: SessionOptions) {
    this.#options = options
    this.target = options.target
    this.surface = options.surface
    this.witness = options.witness
    this.running = options.running
    this.#secrets = new Map(options.secrets)
  }

  /** Sends a request that is no call, and waits for its end. */
  async ask(step: Step, path: string, outgoing: Partial<Outgoing> & AskOptions = {}): Promise<Exchange> {
    let exchange = await this.open(step, path, outgoing).done
    // As clients do, but never away from the gateway.
    for (let hops = 0; hops < 3; hops++) {
      const there = isRedirect(exchange) && safe(outgoing.method) && this.#below(exchange.headers.location!)
      if (!there) break
      exchange = await this.open(step, there, outgoing).done
    }
    return exchange
  }

  /** Sends a request that is no call, and goes on while it runs. */
  open(
    step: Step,
    path: string,
    { key, timeout, ...outgoing }: Partial<Outgoing> & AskOptions = {},
  ): OpenCall {
    const whole = { method: 'GET', path, body: null, ...outgoing }
    return this.#open(step, '', { ...whole, headers: this.#headers(outgoing.headers, key) }, timeout)
  }

  /** Makes a call and waits for its end. */
  async chat(step: Step, options: ChatOptions = {}): Promise<Exchange> {
    if (!this.#takesTurns) return (await this.openChat(step, options)).done
    // Of two calls at the same time it could not be told whose a new record is.
    const turn = this.#turn.then(async () => {
      const exchange = await (await this.openChat(step, options)).done
      await this.#findRecord(exchange)
      return exchange
    })
    this.#turn = turn.catch(() => {})
    return turn
  }

  /** Makes a call and goes on while it runs. */
  async openChat(step: Step, options: ChatOptions = {}): Promise<OpenCall> {
    const {
      model = this.model,
      stream = false,
      script,
      body = {},
      prompt = 'Where do you go?',
      query = '',
      key,
      timeout,
    } = options
    const nonce = this.nonce()
    if (script) {
      this.#scripts.set(nonce, script)
      await this.witness.script(nonce, script)
    }
    if (this.#takesTurns) {
      // The records of the check before may still be on their way, and would be new ones here.
      if (this.#before.size === 0) await this.wait(this.target.observability.log!.lag_ms)
      this.#before.set(nonce, await this.#idsInLog())
    }
    const headers = this.#headers({ ...this.callHeaders, ...options.headers }, key)
    const asked = { model, prompt: `${prompt} ${writeNonce(nonce)}`, stream, body }
    const text = JSON.stringify(this.surface.request(asked)).replaceAll('{nonce}', writeNonce(nonce))
    return this.#open(
      step,
      nonce,
      { method: 'POST', path: this.surface.path + query, headers, body: text },
      timeout,
    )
  }

  /** A call that proves, seen at the witness, that the way there is open. Its entry, or null when none came. */
  async controlCall(name: string): Promise<LedgerEntry | null> {
    const { nonce } = await this.chat(controlCall.with({ name }))
    return this.witness.seen(nonce!, LATE)
  }

  get quick(): boolean {
    return this.#options.quick ?? false
  }

  /** The model that is called where it does not matter which. */
  get model(): string {
    const { call, logical, direct } = this.target.models
    return call ?? logical[0]?.id ?? direct[0]?.id ?? ''
  }

  /** What every call on this surface is sent with, beside what the target file says. */
  get callHeaders(): Readonly<Record<string, string>> {
    return { 'content-type': 'application/json', ...this.surface.headers }
  }

  nonce(): string {
    return randomBytes(8).toString('hex')
  }

  /** Names the present moment. */
  mark(name: string): void {
    this.#marks[name] = clock()
  }

  /** What the judge would see at this moment, for an exercise whose next step depends on it. */
  async soFar(): Promise<Pick<Evidence, 'exchanges' | 'ledger' | 'marks'>> {
    const ledger = (await this.witness.entries(0)).filter((entry) => entry.at >= this.#started)
    return { exchanges: this.#exchanges, ledger, marks: this.#marks }
  }

  /** Writes down something for the judge. */
  note(name: string, value: unknown): void {
    this.#facts[name] = value
  }

  async wait(ms: number): Promise<void> {
    this.#waited += ms
    await sleep(ms)
  }

  /** Ms that the check has waited of its own accord, often because the target file asks for it: no time of the target's. */
  get waited(): number {
    return this.#waited
  }

  /** Waits until late requests of what has just been done must have reached the witness. */
  async drain(): Promise<void> {
    await this.wait(Math.max(1_000, this.target.capabilities.retry_delay_ms))
  }

  /** From now on this text is a secret: it is named, never written, in the evidence, and the witness looks for it. */
  async watchForSecret(name: string, secret: string): Promise<void> {
    this.#secrets.set(name, secret)
    await this.witness.watchFor(name, secret)
  }

  /**
   * Reads the record of a call until it is final, for at most `patience` ms and at least the declared lag: only LOG-04 is
   * about the lag, every other check about what the record says in the end. Where it does not say that it is final, it
   * is read after the lag. `recordOf` finds the last reading in the evidence; null where there is no way to find it.
   */
  async record(exchange: Exchange, patience = SETTLED): Promise<Exchange | null> {
    const { observability } = this.target
    if (this.#takesTurns) await this.#findRecord(exchange)
    const id = requestIdOf(this.target, exchange)
    if (!observability.log || !id) return null
    const { lag_ms, one, fields, completed, failed } = observability.log
    const request =
      one === undefined
        ? listRequest(observability.log)
        : { method: 'GET', path: one.replace('{id}', encodeURIComponent(id)), headers: {}, body: null }
    // To find the record took time already.
    const began = this.#takesTurns && patience <= lag_ms ? exchange.end_at : clock()
    for (;;) {
      const reading = await this.#read(request)
      const state = one === undefined ? undefined : at(theOne(observability.log, reading.body), fields.state)
      const final = [...completed, ...failed].includes(String(state))
      const limit = state === undefined ? lag_ms : Math.max(lag_ms, patience)
      // A log that is slow to answer says how things were when it was asked.
      if (final || reading.at >= began + limit)
        return this.#keep(recordStep(exchange.n), '', request, reading)
      await this.wait(Math.max(1, Math.min(50, began + limit - clock())))
    }
  }

  /** Records are wanted and not every answer tells its own, so it is known by being new. */
  get #takesTurns(): boolean {
    const { observability } = this.target
    return (
      (this.#options.findsRecords ?? false) &&
      observability.log !== undefined &&
      observability.headers.request_id === undefined
    )
  }

  async #idsInLog(): Promise<Set<string>> {
    return new Set(idsIn(this.target, await this.#read(listRequest(this.target.observability.log!))))
  }

  /** Waits for the one record that was not there before the call, for the declared lag; two of them are none. */
  async #findRecord(exchange: Exchange): Promise<void> {
    const before = this.#before.get(exchange.nonce ?? '')
    if (!before || requestIdOf(this.target, exchange) !== null) return
    const deadline = Math.max(clock(), exchange.end_at + this.target.observability.log!.lag_ms)
    for (;;) {
      const asked = clock()
      const fresh = [...(await this.#idsInLog())].filter((id) => !before.has(id))
      const [id] = fresh
      if (fresh.length === 1) exchange.record_id = id!
      if (fresh.length > 0 || asked >= deadline) return
      await this.wait(Math.max(1, Math.min(50, deadline - clock())))
    }
  }

  /** Another instance of the target, from a configuration variant; requests go there until the check ends. */
  async another(variant: string | null): Promise<Running> {
    if (this.#closed) throw new Error('the check is over')
    this.running = await this.#options.another(variant)
    return this.running
  }

  /** Name and value of the keys that the gateway shows to its providers. */
  providerKeys(): [name: string, key: string][] {
    return Object.keys(this.target.providers).map((provider) => {
      const name = `witness.${provider}.key`
      return [name, this.#secrets.get(name) ?? '']
    })
  }

  untestable(reason: string): never {
    throw new Untestable(reason)
  }

  /** Closes the recorder: an exercise that was given up asks for nothing more, or it would disturb the next check. */
  async evidence(failure: unknown): Promise<Evidence> {
    this.#closed = true
    await Promise.all(this.#pending)
    const { ledger } = await this.soFar()
    // A variant that the target file promises and that does not start is the target's failure, not the suite's.
    const theirs = failure instanceof Untestable || failure instanceof StartError
    const untestable = theirs ? failure.message : null
    const evidence: Evidence = {
      check: this.#options.check,
      started_at: this.#started,
      ended_at: clock(),
      exchanges: this.#exchanges.sort((a, b) => a.n - b.n),
      ledger: [...ledger],
      marks: this.#marks,
      facts: this.#facts,
      untestable,
      harness_error:
        failure === null || untestable !== null ? null : String((failure as Error).stack ?? failure),
    }
    return JSON.parse(this.redact(JSON.stringify(evidence)))
  }

  #headers(
    given: Readonly<Record<string, string>> = {},
    key: string | null | undefined,
  ): Record<string, string> {
    const shown = key === undefined ? this.running.keys.client : key
    return {
      ...this.target.headers,
      ...(shown !== null && shownKey(this.target, shown)),
      ...given,
    }
  }

  #open(step: Step, nonce: string, outgoing: Outgoing, timeout = PATIENCE): OpenCall {
    if (this.#closed) throw new Error('the check is over')
    const open = this.#send(outgoing, timeout)
    const n = ++this.#count
    const done = open.done.then((seen) => this.#keep(step, nonce, outgoing, seen, n))
    this.#pending.push(done)
    // By meaning: "ten" also occurs in `"content":""`, which comes before anything is said.
    const says = (text: string, ms = 5_000) =>
      open.until((body) => this.surface.read(body).content.includes(text), ms)
    return Object.assign(Object.create(open), { nonce, done, says })
  }

  /** Path and query of an address below the gateway's own; null elsewhere. */
  #below(location: string): string | null {
    const base = new URL(this.running.baseUrl)
    const prefix = base.pathname.replace(/\/+$/, '')
    const url = new URL(location, base)
    const isThere = url.origin === base.origin && url.pathname.startsWith(`${prefix}/`)
    return isThere ? url.pathname.slice(prefix.length) + url.search : null
  }

  #read({ headers: given, ...request }: Outgoing): Promise<Seen> {
    const headers = this.#headers(given, this.running.keys.reader)
    return this.#send({ ...request, headers }, PATIENCE).done
  }

  /** Below the base URL; a whole address lies elsewhere. */
  #send({ path, ...outgoing }: Outgoing, timeout: number): OpenExchange {
    const { ca, baseUrl } = this.running
    if (!/^https?:/.test(path)) return send(baseUrl, { ...outgoing, path }, timeout, ca)
    const { origin, pathname, search } = new URL(path)
    return send(origin, { ...outgoing, path: pathname + search }, timeout, ca)
  }

  #keep(
    { step, details }: Step,
    nonce: string,
    { body, ...request }: Outgoing,
    seen: Seen,
    n = ++this.#count,
  ): Exchange {
    const text = body === null ? null : typeof body === 'string' ? body : body.toString('latin1')
    const script = this.#scripts.get(nonce)
    const kept = script && JSON.stringify(script).length <= LONGEST_SCRIPT && { script: [...script] }
    const exchange: Exchange = {
      n,
      step,
      details,
      nonce: nonce || null,
      request: { ...request, body: text },
      ...kept,
      ...seen,
    }
    this.#exchanges.push(exchange)
    return exchange
  }

  /** Puts the names of secrets where the secrets stand. */
  redact(text: string): string {
    return withoutSecrets(text, this.#secrets)
  }
}

export interface AskOptions {
  readonly key?: string | null
  readonly timeout?: number
}
