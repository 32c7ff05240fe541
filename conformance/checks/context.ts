// Environment of an exercise: the target, the mock, and a recorder. All actions of an exercise go through
// this file, so that the evidence contains all of them.
import { randomBytes } from 'node:crypto'
import { type LedgerEntry, writeNonce } from '../../mocks/ledger.ts'
import type { ScriptedAnswer } from '../../mocks/server/script.ts'
import { clock, sleep } from '../../src/shared/clock.ts'
import type { Dialect } from '../dialects/dialect.ts'
import { idsIn, listRequest, nonceOf, recordIn, requestIdOf, theOne } from '../dialects/lookup.ts'
import {
  type Evidence,
  type Exchange,
  isRedirect,
  recordStep,
  type Step,
  step,
} from '../evidence/evidence.ts'
import {
  type ByteBudget,
  type OpenExchange,
  type Outgoing,
  type Seen,
  type SendRequestOptions,
  sendMessage,
  sendRequest,
} from '../evidence/http-client.ts'
import { at, withoutSecrets } from '../evidence/reading.ts'
import { type Running, StartError } from '../target/instance.ts'
import type { MockControl } from '../target/mock.ts'
import { shownKey, type Target } from '../target/schema.ts'

export interface ChatOptions {
  readonly model?: string
  readonly stream?: boolean
  /** Provider's answers to this call's requests; default: a short text. */
  readonly script?: readonly ScriptedAnswer[]
  /** Extra members of the body; `{nonce}` in their texts is replaced with the call's nonce. */
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
  /** Gateway key to send: one of the target's, another text, or null for none. */
  readonly key?: string | null
  readonly timeout?: number
  /** Query after the path, including its question mark. */
  readonly query?: string
  /** Path that replaces the dialect's path. */
  readonly path?: string
  /** Prompt in addition to the nonce. */
  readonly prompt?: string
}

/** Call in progress, with its future entry in the evidence. */
export interface OpenCall extends Omit<OpenExchange, 'done'> {
  readonly nonce: string
  readonly done: Promise<Exchange>
  /**
   * Resolves with true once the answer contains the text, or with false when the answer has ended without it
   * or after `ms`, by default `TEXT_TIMEOUT_MS`.
   */
  says(text: string, ms?: number): Promise<boolean>
}

/** Error of an exercise that cannot use a capability that the target declares. */
class UntestableError extends Error {
  override readonly name = 'UntestableError'
}

interface SessionOptions {
  readonly check: string
  readonly target: Target
  /** Dialect of calls; the target has only its models in this dialect. */
  readonly dialect: Dialect
  readonly running: Running
  readonly mock: MockControl
  /** True if idle windows are short and therefore prove less. */
  readonly quick?: boolean
  /** True if the check reads the records of its calls, which must then be distinguishable. */
  readonly findsRecords?: boolean
  /** Texts that must not appear in the evidence: name -> value. */
  readonly secrets: ReadonlyMap<string, string>
  /** Sends each request; used by a run that counts or limits requests. */
  readonly send?: typeof sendRequest | undefined
  /** Starts another instance of the target; see `Session.another`. */
  readonly another: (variant: string | null) => Promise<Running>
}

/** Default maximum duration of a call, ms. */
const CALL_TIMEOUT_MS = 15_000
/** Default time until an answer contains a text, ms. A busy machine needed more than five seconds. */
const TEXT_TIMEOUT_MS = 10_000
/** Maximum number of consecutive answers that do not end in time. */
export const MAX_WITHOUT_END = 6
/** Maximum bytes of all answers to one check. */
const MAX_CHECK_BYTES = 24 * 2 ** 20
/** Time that a record may take to become final on a busy machine, ms; not used by the test of the lag. */
const SETTLE_TIMEOUT_MS = 5_000
/** Maximum length of a script that the evidence stores, characters. */
const MAX_SCRIPT_LENGTH = 4_000
/** Time after the end of a call in which its request may still reach the mock, ms. */
const LATE_REQUEST_MS = 1_000

/** Counts another answer. An answer without a body does not count as unfinished. */
export const countWithoutEnd = (count: number, { end, body }: Pick<Exchange, 'end' | 'body'>): number =>
  end === 'timed_out' ? count + 1 : body === '' ? count : 0

/** Step of the call that shows that calls reach the mock. */
const controlCall = step<{ name: string }>('control call')

const safe = (method = 'GET'): boolean => method === 'GET' || method === 'HEAD'

export class CheckContext {
  readonly target: Target
  readonly dialect: Dialect
  readonly mock: MockControl
  /** Instance that receives the requests. */
  running: Running
  readonly #options: SessionOptions
  readonly #exchanges: Exchange[] = []
  readonly #pending: Promise<Exchange>[] = []
  readonly #scripts = new Map<string, readonly ScriptedAnswer[]>()
  readonly #marks: Record<string, number> = {}
  readonly #facts: Record<string, unknown> = {}
  readonly #secrets: Map<string, string>
  readonly #started = clock.monotonic()
  /** Nonce of a call -> the records that were there before it. */
  readonly #before = new Map<string, ReadonlySet<string>>()
  /** Records that were matched to a call. A later call must not use the record of an earlier one. */
  readonly #found = new Set<string>()
  /** Queue of calls that must not overlap. */
  #turn: Promise<unknown> = Promise.resolve()
  #waited = 0
  /** Number of latest consecutive answers that did not end in time. */
  #withoutEnd = 0
  readonly #budget: ByteBudget = { left: MAX_CHECK_BYTES }
  #count = 0
  #closed = false

  constructor(options: SessionOptions) {
    this.#options = options
    this.target = options.target
    this.dialect = options.dialect
    this.mock = options.mock
    this.running = options.running
    this.#secrets = new Map(options.secrets)
  }

  /** Sends a request other than a call, and waits for its end. */
  async ask(step: Step, path: string, outgoing: Partial<Outgoing> & AskOptions = {}): Promise<Exchange> {
    let exchange = await this.open(step, path, outgoing).done
    // Follows redirects as clients do, but never away from the gateway.
    for (let hops = 0; hops < 3; hops++) {
      const there = isRedirect(exchange) && safe(outgoing.method) && this.#below(exchange.headers.location!)
      if (!there) break
      exchange = await this.open(step, there, outgoing).done
    }
    return exchange
  }

  /** Sends a request other than a call, and returns while it runs. */
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
    // With two concurrent calls, a new record could belong to either call.
    const turn = this.#turn.then(async () => {
      const exchange = await (await this.openChat(step, options)).done
      await this.#findRecord(exchange)
      return exchange
    })
    this.#turn = turn.catch(() => {})
    return turn
  }

  /** Makes a call and returns while it runs. */
  async openChat(step: Step, options: ChatOptions = {}): Promise<OpenCall> {
    const { query = '', path } = options
    const { nonce, headers, asked, body } = await this.#prepare(options)
    const place = path ?? this.dialect.pathOf?.(asked) ?? this.dialect.path
    const more = place.includes('?') ? query.replace('?', '&') : query
    return this.#open(step, nonce, { method: 'POST', path: place + more, headers, body }, options.timeout)
  }

  /**
   * Makes a call over its own WebSocket, and waits for its end. `frame` receives the call's message and
   * returns its replacement.
   */
  async chatOverSocket(
    step: Step,
    {
      frame = (message) => message,
      timeout = CALL_TIMEOUT_MS,
      ...options
    }: ChatOptions & { readonly frame?: (message: string) => string | Buffer } = {},
  ): Promise<Exchange> {
    this.#mayGoOn()
    const { nonce, headers, body } = await this.#prepare(options)
    const { stream: _, ...call } = JSON.parse(body)
    const message = frame(JSON.stringify({ type: 'response.create', ...call }))
    const outgoing = { method: 'WEBSOCKET', path: this.dialect.path, headers, body: message }
    const { baseUrl, ca } = this.running
    const n = ++this.#count
    const sent = sendMessage(baseUrl, outgoing, timeout, { ca, budget: this.#budget })
    const done = sent.then((seen) => this.#keep(step, nonce, outgoing, seen, n))
    this.#pending.push(done)
    return done
  }

  /** Announces a call to the mock and the log, and returns the call's request. */
  async #prepare({
    model = this.model,
    stream = false,
    script,
    body = {},
    prompt = 'Where do you go?',
    key,
    headers = {},
  }: ChatOptions) {
    const nonce = this.nonce()
    if (script) {
      this.#scripts.set(nonce, script)
      await this.mock.script(nonce, script)
    }
    if (this.#takesTurns) {
      // Late records of the previous check would look new.
      if (this.#before.size === 0) await this.wait(this.target.observability.log!.lag_ms)
      this.#before.set(nonce, await this.#idsInLog())
    }
    const asked = { model, prompt: `${prompt} ${writeNonce(nonce)}`, stream, body }
    return {
      nonce,
      asked,
      headers: this.#headers({ ...this.callHeaders, ...headers }, key),
      body: JSON.stringify(this.dialect.request(asked)).replaceAll('{nonce}', writeNonce(nonce)),
    }
  }

  /** Makes a call that must reach the mock, which proves that calls arrive there. Returns its entry, or null. */
  async controlCall(name: string): Promise<LedgerEntry | null> {
    const { nonce } = await this.chat(controlCall.with({ name }))
    return this.mock.seen(nonce!, LATE_REQUEST_MS)
  }

  get quick(): boolean {
    return this.#options.quick ?? false
  }

  /** Default model, for calls that need no particular model. */
  get model(): string {
    const { call, logical, direct } = this.target.models
    return call ?? logical[0]?.id ?? direct[0]?.id ?? ''
  }

  /** Headers of every call in this dialect, in addition to those of the target file. */
  get callHeaders(): Readonly<Record<string, string>> {
    return { 'content-type': 'application/json', ...this.dialect.headers }
  }

  /**
   * Returns the member of a body that limits the tokens of an answer; an empty object for answers without
   * tokens.
   */
  limit(tokens: number): object {
    return this.dialect.limit === null ? {} : { [this.dialect.limit]: tokens }
  }

  nonce(): string {
    return randomBytes(8).toString('hex')
  }

  /** Stores the current time under a name. */
  mark(name: string): void {
    this.#marks[name] = clock.monotonic()
  }

  /** Returns the evidence so far, for an exercise with a next step that depends on it. */
  async soFar(): Promise<Pick<Evidence, 'exchanges' | 'ledger' | 'marks' | 'facts'>> {
    const ledger = (await this.mock.entries(0)).filter((entry) => entry.at >= this.#started)
    return { exchanges: this.#exchanges, ledger, marks: this.#marks, facts: this.#facts }
  }

  /** Adds a fact for the judge. */
  note(name: string, value: unknown): void {
    this.#facts[name] = value
  }

  async wait(ms: number): Promise<void> {
    this.#waited += ms
    await sleep(ms)
  }

  /**
   * Returns the time that the check itself has waited, ms, often because the target file requires it. This
   * time does not count as the target's.
   */
  get waited(): number {
    return this.#waited
  }

  /** Waits for the maximum time that late requests take to reach the mock. */
  async drain(): Promise<void> {
    await this.wait(drainOf(this.target.capabilities))
  }

  /** From now on, replaces this text with its name in the evidence, and makes the mock search for it. */
  async watchForSecret(name: string, secret: string): Promise<void> {
    this.#secrets.set(name, secret)
    await this.mock.watchFor(name, secret)
  }

  /**
   * Reads the record of a call until it is final: at least for the declared lag, and at most for `patience`
   * ms. Only LOG-04 tests the lag; every other check tests the final content. A record that does not say
   * whether it is final, or that is not `whole` yet, is read after the lag. `recordExchange` finds this
   * exchange in the evidence; null if a record cannot be found.
   */
  async record(
    exchange: Exchange,
    patience = SETTLE_TIMEOUT_MS,
    whole: (record: unknown) => boolean = () => true,
  ): Promise<Exchange | null> {
    const { observability } = this.target
    if (this.#takesTurns) await this.#findRecord(exchange)
    const id = requestIdOf(this.target, exchange)
    if (!observability.log || !id) return null
    const { lag_ms, one, fields, completed, failed } = observability.log
    const request =
      one === undefined
        ? listRequest(observability.log)
        : { method: 'GET', path: one.replace('{id}', encodeURIComponent(id)), headers: {}, body: null }
    // The search for the record has already taken time. Without a state, only the time shows that a record is
    // final.
    const isTimed = patience <= lag_ms || fields.state === undefined
    const began = this.#takesTurns && isTimed ? exchange.end_at : clock.monotonic()
    for (;;) {
      const reading = await this.#read(request)
      const { log } = observability
      const record = one === undefined ? recordIn(this.target, reading, id) : theOne(log, reading.body)
      const state = at(record, fields.state)
      const isOver = [...completed, ...failed].includes(String(state))
      const final = isOver && whole(record)
      const isThere = one === undefined || record !== undefined
      const limit = isOver || (isThere && state === undefined) ? lag_ms : Math.max(lag_ms, patience)
      // A slow log answers with the state at the time of the request.
      if (final || reading.at >= began + limit) {
        this.#budget.left -= reading.body.length
        return this.#keep(recordStep(exchange.n), '', request, reading)
      }
      await this.wait(Math.max(1, Math.min(50, began + limit - clock.monotonic())))
    }
  }

  /**
   * Returns true if records are needed but some answers have no request id. A record is then found because it
   * is new.
   */
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

  /**
   * Waits for the only new record since the call, at most for the declared lag. Two new records are ambiguous
   * and count as none.
   */
  async #findRecord(exchange: Exchange): Promise<void> {
    const before = this.#before.get(exchange.nonce ?? '')
    if (!before || requestIdOf(this.target, exchange) !== null) return
    const deadline = Math.max(clock.monotonic(), exchange.end_at + this.target.observability.log!.lag_ms)
    for (;;) {
      const asked = clock.monotonic()
      const fresh = [...(await this.#idsInLog())].filter((id) => !before.has(id) && !this.#found.has(id))
      const [id] = fresh
      if (fresh.length === 1) {
        exchange.record_id = id!
        this.#found.add(id!)
      }
      if (fresh.length > 0 || asked >= deadline) return
      await this.wait(Math.max(1, Math.min(50, deadline - clock.monotonic())))
    }
  }

  /**
   * Starts another instance of the target from a configuration variant; requests go to it until the check
   * ends.
   */
  async another(variant: string | null): Promise<Running> {
    if (this.#closed) throw new Error('the check is over')
    this.running = await this.#options.another(variant)
    return this.running
  }

  /** Returns name and value of the keys that the gateway sends to its providers. */
  providerKeys(): [name: string, key: string][] {
    return Object.keys(this.target.providers).map((provider) => {
      const name = `mock.${provider}.key`
      return [name, this.#secrets.get(name) ?? '']
    })
  }

  untestable(reason: string): never {
    throw new UntestableError(reason)
  }

  /**
   * Closes the recorder, so that an abandoned exercise sends nothing more, which would disturb the next
   * check.
   */
  async evidence(failure: unknown): Promise<Evidence> {
    this.#closed = true
    await Promise.all(this.#pending)
    const { ledger } = await this.soFar()
    // If a declared variant does not start, this is the target's failure, not the suite's.
    const theirs = failure instanceof UntestableError || failure instanceof StartError
    const untestable = theirs ? failure.message : null
    const evidence: Evidence = {
      check: this.#options.check,
      started_at: this.#started,
      ended_at: clock.monotonic(),
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

  #open(step: Step, nonce: string, outgoing: Outgoing, timeout = CALL_TIMEOUT_MS): OpenCall {
    this.#mayGoOn()
    const open = this.#send(outgoing, timeout, {
      budget: this.#budget,
      sentByProvider: () => this.#sentFor(nonce),
    })
    const n = ++this.#count
    const done = open.done.then((seen) => this.#keep(step, nonce, outgoing, seen, n))
    this.#pending.push(done)
    // Compares the text instead of the body, because "ten" also occurs in `"content":""`, which comes before
    // any text.
    const says = (text: string, ms = TEXT_TIMEOUT_MS) =>
      open.until((body) => this.dialect.read(body).content.includes(text), ms)
    return Object.assign(Object.create(open), { nonce, done, says })
  }

  /** Throws if the check is over, or if too many answers did not end. */
  #mayGoOn(): void {
    if (this.#closed) throw new Error('the check is over')
    if (this.#withoutEnd >= MAX_WITHOUT_END)
      this.untestable(`${this.#withoutEnd} answers in a row had no end within their time`)
  }

  /** Returns the path and query of an address below the gateway's own address; null for any other address. */
  #below(location: string): string | null {
    const base = new URL(this.running.baseUrl)
    const prefix = base.pathname.replace(/\/+$/, '')
    const url = new URL(location, base)
    const isThere = url.origin === base.origin && url.pathname.startsWith(`${prefix}/`)
    return isThere ? url.pathname.slice(prefix.length) + url.search : null
  }

  #read({ headers: given, ...request }: Outgoing): Promise<Seen> {
    const headers = this.#headers(given, this.running.keys.reader)
    return this.#send({ ...request, headers }, CALL_TIMEOUT_MS).done
  }

  /** Returns the bytes that the mock has sent for a call so far. */
  async #sentFor(nonce: string): Promise<number> {
    const entries = nonce === '' ? [] : (await this.soFar()).ledger
    return entries.reduce((sum, entry) => sum + (nonceOf(entry) === nonce ? entry.answer.bytes : 0), 0)
  }

  /** Resolves a path against the base URL; a complete URL replaces the base URL. */
  #send({ path, ...outgoing }: Outgoing, timeout: number, more: SendRequestOptions = {}): OpenExchange {
    const { ca, baseUrl } = this.running
    const { send = sendRequest } = this.#options
    const options = { ca, ...more }
    if (!/^https?:/.test(path)) return send(baseUrl, { ...outgoing, path }, timeout, options)
    const { origin, pathname, search } = new URL(path)
    return send(origin, { ...outgoing, path: pathname + search }, timeout, options)
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
    const kept = script && JSON.stringify(script).length <= MAX_SCRIPT_LENGTH && { script: [...script] }
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
    this.#withoutEnd = countWithoutEnd(this.#withoutEnd, seen)
    return exchange
  }

  /** Replaces secrets with their names. */
  redact(text: string): string {
    return withoutSecrets(text, this.#secrets)
  }
}

/** Returns the maximum time that late requests of a target take to reach the mock, ms. */
export const drainOf = ({ retry_delay_ms }: Target['capabilities']): number => Math.max(1_000, retry_delay_ms)

interface AskOptions {
  readonly key?: string | null
  readonly timeout?: number
}
