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
import { inFolder } from '../../mocks/recording/folder.ts'
import { DIALECTS } from '../dialects/registry.ts'
import { callsOf } from '../gateway/endpoints.ts'
import { detached, on, once } from '../shared/boundary.ts'
import { clock } from '../shared/clock.ts'
import { countsTokens } from '../shared/spending.ts'
import { clean } from '../terminal/clean.ts'
import { findKey } from '../terminal/key.ts'
import { namedGateway } from './gateway-client.ts'
import { complain, UsageError } from './output.ts'
import { runAgent } from './run.ts'
import { type GatewayAccess, gatewayReads, keptBodies, recordPath, sessionCalls } from './steps.ts'

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
  readonly n: number
  /** Time of the call, ms. */
  readonly at: number
  said: DigestedRequest | null
  isTaken: boolean
}

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
  const steps = await stepsOf(session, gatewayReads(options))
  const until = Number(options.until)
  const last = steps[until - 1]
  if (until > steps.length) throw new UsageError(`--until ${until}: the session has ${steps.length} steps`)
  const { key } = findKey(env, keyFile ?? null)
  const road = new Road(steps, until, { base, key, live, parent: last?.id ?? null })
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

/** Reads the kept calls of a session in order of time. */
async function stepsOf(session: string, { read, find }: ReturnType<typeof gatewayReads>): Promise<Step[]> {
  const steps: Step[] = []
  for (const { id, created_at } of await sessionCalls(session, read)) {
    const n = steps.length + 1
    const kept = await find(`${recordPath(id)}/kept`, keptCall)
    if (!kept) throw new Error(`step ${n} of the session is not kept (any more), so it cannot be replayed`)
    const at = Date.parse(created_at)
    steps.push({ ...kept, n, at, said: digest(kept.request, at, HERE), isTaken: false })
  }
  if (steps.length === 0) throw new Error(`there is no session ${JSON.stringify(session)} on record`)
  return steps
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
  return { folders, said: digest(step.request, step.at, folders)! }
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
  readonly #until: number
  readonly #beyond: Beyond
  #live = 0
  #refused = 0
  /** Folders of the session; those of this run, until a step is found that differs only in them. */
  #folders = HERE
  /** The first call that differs from its step. */
  difference: string | null = null

  constructor(steps: readonly Step[], until: number, beyond: Beyond) {
    this.#steps = steps
    this.#until = until
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
    const step = this.#take(path, said)
    if (step) return answer(response, step, this.#folders[0]!)
    if (this.#isLater(path, said)) {
      if (live) return this.#goOn(message, response, url, body)
      this.#refused++
      return refuse(
        response,
        400,
        `Step ${this.#until} was the last one. With --live, this call would be sent and cost money.`,
      )
    }
    this.difference ??= this.#worded(path, said)
    return refuse(response, 400, `This call is not the session's: ${this.difference}`)
  }

  /** Returns the next step with this content, which no call has had yet; null if there is none. */
  #take(path: string, said: DigestedRequest | null): Step | null {
    const open = this.#steps.slice(0, this.#until).filter((step) => !step.isTaken && step.path === path)
    const alike = (how: 'exact' | 'masked') => open.find((step) => isSame(step.said, said, how))
    const found =
      alike('exact') ?? alike('masked') ?? open.find((step) => this.#isElsewhere(step, said)) ?? null
    if (found) found.isTaken = true
    return found
  }

  /** Returns true for a step that is the same but for the folders of the session, and reads all steps with these. */
  #isElsewhere(step: Step, said: DigestedRequest | null): boolean {
    if (this.#folders !== HERE || said?.parts.length !== step.said?.parts.length || !said) return false
    const moved = fromElsewhere(step, said)
    const [from] = moved.folders
    if (!isSame(moved.said, said, 'masked') || !inFolder(Buffer.from(''), from!, HERE[0]!)) return false
    this.#folders = moved.folders
    for (const each of this.#steps) each.said = digest(each.request, each.at, moved.folders)
    return true
  }

  /** Returns true for a call after the last step that is replayed. Calls run in parallel, so one may come early. */
  #isLater(path: string, said: DigestedRequest | null): boolean {
    const [before, after] = [this.#steps.slice(0, this.#until), this.#steps.slice(this.#until)]
    return (
      before.every(({ isTaken }) => isTaken) ||
      after.some((step) => step.path === path && isSame(step.said, said, 'masked'))
    )
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
    const open = this.#steps.slice(0, this.#until).filter((step) => !step.isTaken)
    const near = open.filter((step) => step.path === path && step.said)
    if (!said || near.length === 0) return `step ${open[0]!.n} is a call to ${open[0]!.path}, not to ${path}`
    const isKnown = this.#folders !== HERE
    const read = near.map((step) => ({
      n: step.n,
      said: isKnown ? step.said! : fromElsewhere(step, said).said,
    }))
    const [step] = read.sort((a, b) => partsAlike(b.said, said) - partsAlike(a.said, said))
    return `step ${step!.n} differs in ${differenceOf(step!.said, said)}`
  }

  /** Returns the lines that sum the run up. */
  told(): string[] {
    const taken = this.#steps.filter(({ isTaken }) => isTaken).length
    const [folder] = this.#folders
    const place = folder === HERE[0] ? '' : ` in ${clean(folder!)}`
    const session = `${taken} of ${this.#until} steps were answered from the session${place}`
    if (this.difference !== null) return [`${session}; then a call differed: ${this.difference}`]
    if (this.#refused > 0)
      return [`${session}; the next call would be live, so it was refused; --live sends it`]
    return [this.#live > 0 ? `${session}, and ${this.#live} later calls were sent` : session]
  }
}

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
  const tool =
    call.tools.find((name) => !step.tools.includes(name)) ??
    step.tools.find((name) => !call.tools.includes(name))
  if (tool !== undefined) return `the tool ${JSON.stringify(tool)}, which only one of them offers`
  const names = Object.keys({ ...step.said.settings, ...call.said.settings })
  const setting = names.find((name) => step.said.settings[name] !== call.said.settings[name])
  return setting === undefined ? 'the definition of a tool' : `the setting ${JSON.stringify(setting)}`
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

/** Gives the answer of a step; `from` is the directory of the session, which it may name. */
function answer(response: ServerResponse, { id, status, content_type, answer }: Step, from: string): void {
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
