// `waybill replay SESSION --until N -- PROGRAM`: the program gets the answers of a kept session up to step N, byte for
// byte except for the name of its directory, from a server of its own on this machine. Later calls are refused, or with
// --live go to the gateway, where they are on record with the step from which they branch off. Before that, nothing
// reaches a provider.
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { homedir } from 'node:os'
import { pipeline } from 'node:stream/promises'
import { z } from 'zod'
import { createDigester, type DigestedRequest, idOf } from '../../mocks/matching/digest.ts'
import { foldersBefore } from '../../mocks/matching/mask.ts'
import { inFolder } from '../../mocks/recording/replay.ts'
import { DIALECTS } from '../dialects/registry.ts'
import { callsOf } from '../gateway/endpoints.ts'
import { detached, on, once } from '../shared/boundary.ts'
import { clock, sleep } from '../shared/clock.ts'
import { countsTokens } from '../shared/spending.ts'
import { clean } from '../terminal/clean.ts'
import { findKey } from '../terminal/keys.ts'
import { namedGateway } from './gateway-client.ts'
import { complain, UsageError } from './output.ts'
import { runAgent } from './run.ts'
import {
  FORK,
  type GatewayAccess,
  gatewayReads,
  keptBodies,
  type Recorded,
  recordOf,
  recordPath,
  sessionCalls,
} from './steps.ts'

interface BranchOptions extends GatewayAccess {
  /** The session. */
  readonly kept: string
  /** The program and its arguments. */
  readonly words: readonly string[]
  /** Last step that is answered from the session. */
  readonly until: string
  /** True if later calls may spend. */
  readonly live?: boolean
  readonly model?: string
}

/** A kept call, with what its client got. */
const keptCall = keptBodies.extend({
  status: z.number(),
  content_type: z.string().nullable(),
  answer: z.string(),
})

/** A call of the kept session. */
interface Step extends z.output<typeof keptCall> {
  readonly name: string
  readonly session: string | null
  /** Time at which the request was sent, ms. */
  readonly sentAt: number
  /** Times at which the call began and ended, ms; those of a branch follow those of its origin. */
  readonly at: number
  readonly end: number
  /** Working directory and home of the session; those of this run, until a step is found that differs only in them. */
  folders: readonly string[]
  said: DigestedRequest | null
  /** True once a call of this run is this step. */
  isTaken: boolean
  /** Time at which that call was answered, ms. */
  answeredAt: number | null
  /** The agent that called; null for the conversation itself. */
  readonly agent: string | null
  /** Steps of which calls must have arrived, and those that must be answered for some time, before this one is answered. */
  readonly needs: Step[]
  readonly follows: { readonly step: Step; readonly ms: number }[]
}

/** Time by which the record of a call may end after its client has the answer, ms. */
const SKEW_MS = 50
/** Time by which a run may be slower than the session before its calls are no longer put in order, ms. */
const SLOWER_MS = 10_000
const POLL_MS = 5
/** Time that an agent needs to tell another one that it is done, ms. */
const TELL_MS = 500

/** Largest request of a program, bytes. */
const MAX_BYTES = 64 * 2 ** 20

/** Resolves with the program's exit code; 1 if a call differs from its step. Rejects if the session is not kept. */
export async function branch(options: BranchOptions): Promise<number> {
  const { kept: session, env, live = false } = options
  const [program, ...args] = options.words
  if (program === undefined)
    throw new UsageError('replay --until takes a session and a program: replay SESSION --until N -- PROGRAM')
  if (!/^\d+$/.test(options.until))
    throw new UsageError(`--until takes the number of a step, not ${JSON.stringify(options.until)}`)
  const base = namedGateway(options.url, options.config, env)
  const keyFile = options.keyFile ?? env.WAYBILL_KEY_FILE
  const reads = gatewayReads(options)
  const { before, own } = await callsOfRun(session, reads)
  const until = Number(options.until)
  if (until > own.length) throw new UsageError(`--until ${until}: the session has ${own.length} steps`)
  // The calls of a fork are answers to the same request.
  const isFork = session.startsWith(FORK)
  const passed = [...before, ...own.slice(isFork ? Math.max(0, until - 1) : 0, until)]
  const steps = await stepsOf(passed, isFork ? [] : own.slice(until), reads)
  const { key } = findKey(env, keyFile ?? null)
  const parent = passed.at(-1)?.call.id ?? null
  const road = new Road(steps, passed.length, { base, key, live, parent })
  const server = createServer((message, response) =>
    detached(road.serve(message, response), () => response.destroy()),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  try {
    const { port } = server.address() as { port: number }
    const exitCode = await runAgent({
      ...options,
      program,
      args,
      url: `http://127.0.0.1:${port}`,
      quiet: true,
    })
    for (const line of road.told()) complain(line)
    return road.difference !== null ? 1 : exitCode
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

/** A call with the name of its step. */
interface NamedCall {
  readonly call: Recorded
  readonly name: string
}

type Reads = ReturnType<typeof gatewayReads>
type Calls = readonly NamedCall[]

/** Lists the calls of a session in order of time, and those that come before: of a branch or a fork, its origin's. */
async function callsOfRun(session: string, reads: Reads, of = ''): Promise<{ before: Calls; own: Calls }> {
  const calls = await sessionCalls(session, reads.read)
  if (calls.length === 0) throw new Error(`there is no session ${JSON.stringify(session)} on record`)
  const own = calls.map((call, index) => ({ call, name: `step ${index + 1}${of}` }))
  const { id, parent_id } = calls[0]!
  // Only an older parent, so that this ends.
  const parent = parent_id && parent_id < id ? await reads.find(recordPath(parent_id), recordOf) : null
  if (!parent?.session_id) return { before: [], own }
  const origin = await callsOfRun(parent.session_id, reads, ` of ${parent.session_id}`)
  const at = origin.own.findIndex(({ call }) => call.id === parent_id)
  return { before: [...origin.before, ...origin.own.slice(0, session.startsWith(FORK) ? at : at + 1)], own }
}

/** Reads the kept bodies of calls that are needed, and of later ones, of which some may be missing. */
async function stepsOf(needed: Calls, later: Calls, { find }: Reads): Promise<Step[]> {
  const steps: Step[] = []
  let moved = 0
  for (const { name, call } of [...needed, ...later]) {
    const { id, session_id, created_at, completed_at } = call
    const kept = completed_at === null ? null : await find(`${recordPath(id)}/kept`, keptCall)
    if (!kept && steps.length >= needed.length) continue
    const why = completed_at === null ? 'has not ended' : 'is not kept (any more)'
    if (!kept) throw new Error(`${name} ${why}, so it cannot be replayed`)
    const [at, end] = [created_at, completed_at!].map(Date.parse) as [number, number]
    const last = steps.at(-1)
    // A branch goes on where its origin ended.
    if (last && last.session !== session_id) moved = Math.max(...steps.map((step) => step.end)) - at
    const said = digest(kept.request, at, HERE)
    const times = { sentAt: at, at: at + moved, end: end + moved }
    const state = { folders: HERE, said, isTaken: false, answeredAt: null, needs: [], follows: [] }
    steps.push({ ...kept, ...times, ...state, name, session: session_id, agent: call.agent_id })
  }
  putInOrder(steps, needed.length)
  return steps
}

/**
 * Puts the answers of steps in the order of the session. Agents that run in parallel tell one another when they are done,
 * so that the next requests of the others depend on it.
 */
function putInOrder(steps: readonly Step[], count: number): void {
  const replayed = steps.slice(0, count)
  for (const step of replayed) {
    const told = toldIn(steps, step)
    const meanwhile = replayed.filter(
      ({ agent, at }) => told && agent === told.agent && step.at < at && at < told.at,
    )
    for (const other of replayed) {
      if (other !== step && (other.at + SKEW_MS < step.end || meanwhile.includes(other)))
        step.needs.push(other)
      // The answers to these lead to the last one, for which this step waits.
      if (step.end + SKEW_MS < other.end && !meanwhile.includes(other)) other.follows.push({ step, ms: 0 })
    }
    meanwhile.at(-1)?.follows.push({ step, ms: TELL_MS })
  }
}

/**
 * Returns the first step of another agent that shows that an agent is done: it has the agent's last words, or names the
 * agent anew and does not say that it is running.
 */
function toldIn(steps: readonly Step[], step: Step): Step | undefined {
  const { agent, at, end } = step
  const words = lastWordsOf(step)
  if (agent === null || words === undefined) return undefined
  // Two agents may say the same.
  const before = steps.filter(
    (other) => other.agent !== null && other.end < end && lastWordsOf(other) === words,
  )
  const known = new Set<string>()
  const isNew = (text: string) => !known.has(text) && !text.split(agent).slice(1).some(saysRunning)
  for (const other of steps) {
    if (other.agent === agent) continue
    const count = other.input.reduce((sum, { text }) => sum + text.split(words).length - 1, 0)
    const named = other.input.flatMap(({ text }) => (text.includes(agent) ? [text] : []))
    if (other.at > at && count > before.length) return other
    if (other.at > end && known.size > 0 && named.some(isNew)) return other
    for (const text of named) known.add(text)
  }
  return undefined
}

const saysRunning = (afterName: string): boolean => /^.{0,80}\brunning\b/.test(afterName)

const lastWordsOf = ({ output }: Step): string | undefined => {
  const last = output.at(-1)
  return last?.kind === 'text' && last.text.trim() !== '' ? last.text.trim() : undefined
}

/** The program's working directory and the user's home. */
const HERE: readonly string[] = [process.cwd(), homedir()]

/** Digests a request; nothing is stored, so the key need not be secret. */
const digest = (request: string, at: number, folders: readonly string[]): DigestedRequest | null =>
  createDigester('replay of a session', [], folders)(parsed(request), at)

/** Returns the step's request, digested with the folders that it names where a call of this run names its own. */
function fromElsewhere(step: Step, said: DigestedRequest) {
  const textsOf = (request: DigestedRequest) => request.parts.map(({ text }) => text)
  const folders = foldersBefore(textsOf(step.said!), textsOf(said), HERE)
  return { folders, said: digest(step.request, step.sentAt, folders)! }
}

interface Beyond {
  readonly base: URL
  readonly key: string | null
  readonly live: boolean
  /** The last step that is replayed; null if there is none. */
  readonly parent: string | null
}

/** The calls of one run: along the steps, and then on. */
class Road {
  readonly #steps: readonly Step[]
  /** The steps that are answered from the session. */
  readonly #replayed: readonly Step[]
  readonly #beyond: Beyond
  #live = 0
  #refused = 0
  /** Time of the first call, ms; null before it. */
  #began: number | null = null
  /** The first call that differs from its step. */
  difference: string | null = null

  constructor(steps: readonly Step[], until: number, beyond: Beyond) {
    this.#steps = steps
    this.#replayed = steps.slice(0, until)
    this.#beyond = beyond
  }

  async serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', headers, url = '' } = message
    const path = url.replace(/\?.*/s, '')
    const { key, live } = this.#beyond
    if (!/^(127\.0\.0\.1|localhost)(:|$)/.test(headers.host ?? '') || !hasKey(headers, key))
      return refuse(response, 401, 'This replay answers only the program that it was started for.')
    if (method !== 'POST' || !isCall(path)) return this.#pass(message, response, url, [])
    const body = await bodyOf(message)
    const said = digest(body.toString(), clock.now(), HERE)
    this.#began ??= clock.now()
    const step = this.#take(path, said)
    if (step) {
      await this.#inOrder(step.end, () => isTurnOf(step))
      step.answeredAt = clock.now()
      return answer(response, step)
    }
    if (this.#isLater(path, said)) {
      await this.#inOrder(Infinity, () => this.#replayed.every(({ answeredAt }) => answeredAt !== null))
      if (live) return this.#goOn(message, response, url, body)
      this.#refused++
      return refuse(response, 400, BEYOND)
    }
    this.difference ??= this.#worded(path, said)
    return refuse(response, 400, `This call is not the session's: ${this.difference}`)
  }

  /** Returns the next step with this content, which no call has had yet; null if there is none. */
  #take(path: string, said: DigestedRequest | null): Step | null {
    const open = this.#replayed.filter((step) => !step.isTaken && step.path === path)
    const alike = (how: 'exact' | 'masked') => open.find((step) => isSame(step.said, said, how))
    const found =
      alike('exact') ?? alike('masked') ?? open.find((step) => this.#isElsewhere(step, said)) ?? null
    if (found) found.isTaken = true
    return found
  }

  /**
   * Returns true if a step differs from a call only in the folders of its session. All steps of that session are then read
   * with these folders.
   */
  #isElsewhere(step: Step, said: DigestedRequest | null): boolean {
    if (step.folders !== HERE || said?.parts.length !== step.said?.parts.length || !said) return false
    const { folders, ...moved } = fromElsewhere(step, said)
    if (!isSame(moved.said, said, 'masked') || !inFolder(Buffer.from(''), folders[0]!, HERE[0]!)) return false
    for (const each of this.#steps.filter(({ session }) => session === step.session))
      Object.assign(each, { folders, said: digest(each.request, each.sentAt, folders) })
    return true
  }

  /** Returns true for a call after the last step that is replayed. Calls run in parallel, so one may come early. */
  #isLater(path: string, said: DigestedRequest | null): boolean {
    const isThis = (step: Step) => step.path === path && isSame(step.said, said, 'masked')
    return (
      this.#replayed.every(({ isTaken }) => isTaken) || this.#steps.slice(this.#replayed.length).some(isThis)
    )
  }

  /** Waits for other steps, but no longer than the session took to get there: a changed agent may leave one out. */
  async #inOrder(end: number, isReady: () => boolean): Promise<void> {
    const last = Math.max(...this.#replayed.map((step) => step.end))
    const limit = this.#began! + Math.min(end, last) - this.#steps[0]!.at + SLOWER_MS
    while (this.difference === null && !isReady() && clock.now() < limit) await sleep(POLL_MS)
  }

  /** Sends a call that is not in the session. */
  #goOn(message: IncomingMessage, response: ServerResponse, url: string, body: Buffer): void {
    this.#live++
    const { parent } = this.#beyond
    this.#pass(message, response, `/keep${url}`, parent === null ? [] : ['x-gateway-parent', parent], body)
  }

  /** Passes a request on to the gateway. */
  #pass(
    message: IncomingMessage,
    response: ServerResponse,
    target: string,
    more: readonly string[],
    body?: Buffer,
  ): void {
    const { base } = this.#beyond
    const kept = message.rawHeaders.filter((_, at, all) => !/^(host|connection)$/i.test(all[at - (at % 2)]!))
    const sent = (base.protocol === 'https:' ? httpsRequest : request)(
      base.href.replace(/\/+$/, '') + target,
      { method: message.method, headers: [...kept, 'host', base.host, ...more] },
    )
    on(
      sent,
      {
        response: (got: IncomingMessage) => {
          response.writeHead(got.statusCode!, got.rawHeaders)
          detached(pipeline(got, response), () => response.destroy())
        },
        error: () => refuse(response, 502, `No gateway answers at ${base.origin}.`),
      },
      () => response.destroy(),
    )
    once(
      response,
      'close',
      () => sent.destroy(),
      () => sent.destroy(),
    )
    if (body) sent.end(body)
    else detached(pipeline(message, sent), () => response.destroy())
  }

  /** Names the step that a call is nearest to, and the first part in which they differ. */
  #worded(path: string, said: DigestedRequest | null): string {
    const open = this.#replayed.filter((step) => !step.isTaken)
    const near = open.filter((step) => step.path === path && step.said)
    if (!said || near.length === 0) return `${open[0]!.name} is a call to ${open[0]!.path}, not to ${path}`
    const read = near.map((step) => ({
      name: step.name,
      said: step.folders === HERE ? fromElsewhere(step, said).said : step.said!,
    }))
    const [step] = read.sort((a, b) => partsAlike(b.said, said) - partsAlike(a.said, said))
    return `${step!.name} differs in ${differenceOf(step!.said, said)}`
  }

  /** Returns the lines that sum the run up. */
  told(): string[] {
    const taken = this.#steps.filter(({ isTaken }) => isTaken).length
    const folder = this.#steps[0]?.folders[0] ?? HERE[0]
    const place = folder === HERE[0] ? '' : ` in ${clean(folder!)}`
    const session = `${taken} of ${this.#replayed.length} steps were answered from the session${place}`
    if (this.difference !== null) return [`${session}; then a call differed: ${this.difference}`]
    if (this.#refused > 0)
      return [`${session}; the next call would be live, so it was refused; --live sends it`]
    return [this.#live > 0 ? `${session}, and ${this.#live} later calls were sent` : session]
  }
}

const isTurnOf = ({ needs, follows }: Step): boolean =>
  needs.every(({ isTaken }) => isTaken) &&
  follows.every(({ step: { answeredAt }, ms }) => answeredAt !== null && clock.now() >= answeredAt + ms)

const BEYOND = 'The last step was answered. With --live, this call would be sent and cost money.'

/** Addresses of calls to models. */
const CALL = new RegExp(
  `^(${callsOf(DIALECTS)
    .filter(({ methods }) => !methods)
    .map(({ path }) => path.replaceAll(/[.+?()]/g, '\\$&').replace('*', '.+'))
    .join('|')})$`,
)
const isCall = (path: string): boolean =>
  CALL.test(path) && !countsTokens('POST', path.replace(/^\/v1\w*\//, ''))

const isSame = (a: DigestedRequest | null, b: DigestedRequest | null, how: 'exact' | 'masked'): boolean =>
  a !== null && b !== null && idOf(a.said, how) === idOf(b.said, how)

/** Returns the number of parts at the start that are the same. */
function partsAlike({ said: a }: DigestedRequest, { said: b }: DigestedRequest): number {
  const at = a.parts.findIndex(({ digest }, index) => digest !== b.parts[index]?.digest)
  return at < 0 ? a.parts.length : at
}

const toolsOf = ({ tools, said }: DigestedRequest) => new Map(tools.map((name, i) => [name, said.tools[i]]))

/** Describes the first difference between a step and a call, with both texts from there. */
function differenceOf(step: DigestedRequest, call: DigestedRequest): string {
  const at = partsAlike(step, call)
  const [before, now] = [step.texts[at], call.texts[at]]
  if (before !== undefined || now !== undefined) {
    const { role, kind } = (step.parts[at] ?? call.parts[at])!
    const shown = (text: string | undefined) =>
      text === undefined ? 'nothing' : around(text, before ?? '', now ?? '')
    return `part ${at + 1}, ${role} ${kind}: it was ${shown(before)}, and is ${shown(now)}`
  }
  const [old, own] = [toolsOf(step), toolsOf(call)]
  const tool = [...call.tools, ...step.tools].find((name) => old.get(name) !== own.get(name))
  if (tool !== undefined && old.has(tool) && own.has(tool))
    return `the definition of the tool ${JSON.stringify(tool)}`
  if (tool !== undefined) return `the tool ${JSON.stringify(tool)}, which only one of them offers`
  const names = Object.keys({ ...step.said.settings, ...call.said.settings })
  const setting = names.find((name) => step.said.settings[name] !== call.said.settings[name])
  return setting === undefined ? 'something that is not read' : `the setting ${JSON.stringify(setting)}`
}

/** Characters that are shown of a text. */
const SHOWN = 60

/** Returns a text from a little before the place where two texts part. */
function around(text: string, a: string, b: string): string {
  let at = 0
  while (at < a.length && a[at] === b[at]) at++
  const from = Math.max(0, at - SHOWN / 3)
  const end = from + SHOWN < text.length ? '…' : ''
  return clean(JSON.stringify(`${from > 0 ? '…' : ''}${text.slice(from, from + SHOWN)}${end}`))
}

/** Gives the answer of a step, which may name the directory of its session. */
function answer(response: ServerResponse, { id, status, content_type, answer, folders }: Step): void {
  const [from] = folders as [string]
  const body = Buffer.from(answer)
  response.writeHead(status, {
    ...(content_type !== null && { 'content-type': content_type }),
    'x-gateway-request-id': id,
    'request-id': id,
    'cache-control': 'no-store',
  })
  response.end(from === HERE[0] ? body : inFolder(body, from, HERE[0]!))
}

/** Refuses a call in words that agents of every dialect show, with a status at which they do not try again. */
function refuse(response: ServerResponse, status: number, message: string): void {
  const error = { type: 'invalid_request_error', message, code: 'replay', status: 'INVALID_ARGUMENT' }
  if (response.headersSent) response.destroy()
  else
    response
      .writeHead(status, { 'content-type': 'application/json', 'x-should-retry': 'false' })
      .end(JSON.stringify({ type: 'error', error }))
}

/** Returns true if a request has the key with which the program was started. */
const hasKey = (headers: IncomingMessage['headers'], key: string | null): boolean =>
  key === null ||
  ['authorization', 'x-api-key', 'x-goog-api-key', 'x-gateway-key'].some(
    (name) => String(headers[name] ?? '').replace(/^Bearer +/i, '') === key,
  )

async function bodyOf(message: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of message) {
    size += piece.length
    if (size > MAX_BYTES) throw new Error('the request is too large')
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
