// Background calls that no provider of the route can run. The gateway runs them as ordinary calls and stores
// the answers for the client. Independent of the dialect.
import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import type { CallOutcome } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import type { AnswerStoring, ClientDialect, ReadRequest } from '../dialects/dialect.ts'
import type { JsonBody } from '../http/body.ts'
import { replyJson } from '../http/reply.ts'
import type { Router } from '../routing/router.ts'
import { clock, sleep } from '../shared/clock.ts'
import type { KeptResponse, ResponseStore } from '../store/kept.ts'

/**
 * Converts a background request to an ordinary request. Returns null if a target of the route can run
 * background calls, or if the gateway may not store the answer. Throws for a streamed request.
 */
export function plainIfRunHere(
  { name, storing }: ClientDialect,
  { text, json, ...body }: JsonBody,
  { request: { model, stream }, traits }: ReadRequest,
  { router, responses }: { readonly router: Router; readonly responses: ResponseStore | null },
): JsonBody | null {
  if (!responses || !storing?.mayKeep(json)) return null
  try {
    router.resolve(model, traits, name)
    return null
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'dialect_not_spoken') throw error
  }
  if (stream)
    throw new GatewayError(
      'invalid_request',
      'stream: not with `background` here, since the gateway runs it; leave one of them out.',
      { param: 'stream' },
    )
  const plain = storing.runs.plain(text)
  return { ...body, text: plain, json: JSON.parse(plain) }
}

interface RunOptions {
  readonly callId: string
  readonly keyName: string | null
  readonly store: ResponseStore
  readonly storing: AnswerStoring
  /** Request as received, and the id of the response that it continues. */
  readonly text: string
  readonly previous: string | null
  /** Stops the call. The call then ends as if the client had disconnected. */
  readonly stop: () => void
}

/** Maximum bytes of an answer that are searched for an error. */
const MAX_ERROR_BYTES = 2 ** 16

export class RunHere {
  readonly id: string
  readonly #options: RunOptions
  readonly #runs: RunsHere
  readonly #ended = Promise.withResolvers<void>()
  readonly #sink = new Sink()
  #isStopping = false

  constructor(options: RunOptions, runs: RunsHere) {
    this.#options = options
    this.#runs = runs
    this.id = `${options.storing.runs.idPrefix}${options.callId.replaceAll('-', '')}`
  }

  /** Stores the run, answers the client, and returns the response object for the call itself. */
  async begin(response: ServerResponse, now: number, requestIdHeader: string): Promise<ServerResponse> {
    const { callId, keyName, storing, text } = this.#options
    const answer = storing.runs.queued(text, this.id, now)
    await this.#save(answer, { run: { gateway: this.#runs.gateway, since: now, callId } })
    this.#runs.add(this, this.id, keyName)
    replyJson(response, 200, answer, { [requestIdHeader]: callId, 'x-gateway-request-id': callId })
    return detachedResponse(response.req, this.#sink)
  }

  /** Ends the run, and resolves once its end is stored. */
  async cancel(): Promise<void> {
    this.#options.stop()
    await this.#ended.promise
  }

  /** Ends the run because the gateway is stopping. */
  async interrupt(): Promise<void> {
    this.#isStopping = true
    await this.cancel()
  }

  /** Stores the end of the call, unless its answer is stored. */
  async ended(
    { state, errorCode }: Pick<CallOutcome, 'state' | 'errorCode'>,
    isKept: boolean,
  ): Promise<void> {
    const { storing, keyName, store, callId } = this.#options
    try {
      const before = isKept ? null : await store.find(this.id, keyName)
      if (before === null) return
      const isCancelled = state === 'aborted' && !this.#isStopping
      const error = this.#isStopping
        ? interruption(callId)
        : (errorIn(this.#sink.text) ?? {
            code: errorCode ?? 'answer_not_kept',
            message: `The call ended without an answer that can be kept; its record is ${callId}.`,
          })
      await this.#save(storing.runs.ended(before.answer, isCancelled ? null : error), {})
    } finally {
      this.#runs.remove(this.id, keyName)
      this.#ended.resolve()
    }
  }

  async #save(answer: string, more: Pick<KeptResponse, 'run'>): Promise<void> {
    const { store, storing, keyName, previous, text } = this.#options
    const input = storing.inputItems(text)
    await store.save(this.id, keyName, previous, {
      ...{ input, output: [], answer, keeper: null, isUnanswered: true, ...more },
    })
  }
}

/** Returns the error of a run that ended because its gateway stopped. */
const interruption = (callId: string) => ({
  code: 'interrupted',
  message: `The gateway stopped while it ran; its record, ${callId}, says what was spent. Ask again.`,
})

/** Runs of this gateway, by id and key. */
export class RunsHere {
  /** Name of this gateway in its fleet; empty without one. */
  readonly gateway: string
  readonly #running = new Map<string, RunHere>()

  constructor(gateway: string) {
    this.gateway = gateway
  }

  add(run: RunHere, id: string, keyName: string | null): void {
    this.#running.set(JSON.stringify([id, keyName]), run)
  }

  remove(id: string, keyName: string | null): void {
    this.#running.delete(JSON.stringify([id, keyName]))
  }

  find(id: string, keyName: string | null): RunHere | null {
    return this.#running.get(JSON.stringify([id, keyName])) ?? null
  }

  /**
   * Returns the present state of a stored response. A response whose gateway has stopped is interrupted.
   * `limit`: maximum time of a run, ms.
   */
  shown(
    { run, answer }: KeptResponse,
    isRunning: boolean,
    {
      storing,
      now,
      limit,
    }: { readonly storing: AnswerStoring; readonly now: number; readonly limit: number },
  ): string {
    if (!run) return answer
    const isElsewhere = run.gateway !== this.gateway && now - run.since < limit
    return isRunning || isElsewhere
      ? storing.runs.inProgress(answer)
      : storing.runs.ended(answer, interruption(run.callId))
  }

  /** Waits up to `graceMs` for runs to end, and interrupts the rest. */
  async close(graceMs: number): Promise<void> {
    const end = clock.monotonic() + graceMs
    while (this.#running.size > 0 && clock.monotonic() < end) await sleep(20)
    await Promise.all([...this.#running.values()].map((run) => run.interrupt()))
  }
}

/** Accepts all writes, like a client that reads everything, and stores their beginning. */
class Sink extends Duplex {
  text = ''

  override _read(): void {}

  /** Required by Node, which calls this method on sockets. */
  setTimeout(): this {
    return this
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    if (this.text.length < MAX_ERROR_BYTES) this.text += chunk.toString('utf8')
    done()
  }
}

/** Returns a response without a waiting client. */
function detachedResponse(request: IncomingMessage, sink: Sink): ServerResponse {
  const response = new ServerResponse(request)
  response.assignSocket(sink as unknown as Socket)
  return response
}

/** Returns the error in a written answer; null if there is none. */
function errorIn(written: string): { readonly code: string; readonly message: string } | null {
  try {
    const { error } = JSON.parse(written.slice(written.indexOf('\r\n\r\n')))
    return typeof error?.message === 'string'
      ? { code: String(error.code ?? error.type ?? 'upstream_error'), message: error.message }
      : null
  } catch {
    return null
  }
}
