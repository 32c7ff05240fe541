// Calls that continue at their provider after the first answer to the client (`background: true`). The
// gateway polls the provider until a call ends or its time is over, and then closes the record with the cost.
// The record stays open across a restart, and only the client can cancel the call. Independent of the
// dialect.
import { type AttemptEnd, type CallState, type ParsedEvent, timeOfId } from '../core/call.ts'
import { noMemory } from '../http/call-slots.ts'
import { after, detached, signalAfter, stray } from '../shared/boundary.ts'
import type { Timer } from '../shared/clock.ts'
import { MEMORY } from '../shared/memory.ts'
import type { Store } from '../store/store.ts'
import { maskedCode } from './answer.ts'
import type { BackgroundRun, BackgroundRunner, CallContext } from './context.ts'
import { askForKept } from './kept-answers.ts'

interface BackgroundDeps {
  readonly write: Store['write']
  /** Returns the current context. */
  readonly context: () => Pick<CallContext, 'providers' | 'price' | 'mask' | 'now' | 'config'>
}

/** First and longest polling interval, ms. */
const [FIRST_MS, LONGEST_MS] = [1_000, 30_000]
const GROWTH = 1.5
/** Maximum wait for one response to polling, ms. */
const ANSWER_MS = 30_000

interface Asked extends BackgroundRun {
  timer: Timer | undefined
  wait: number
  isCancelled: boolean
}

export class BackgroundRuns implements BackgroundRunner {
  readonly #deps: BackgroundDeps
  readonly #runs = new Map<string, Asked>()
  #isStopped = false

  constructor(deps: BackgroundDeps) {
    this.#deps = deps
  }

  start(run: BackgroundRun): void {
    const asked: Asked = { ...run, timer: undefined, wait: FIRST_MS, isCancelled: false }
    this.#runs.set(run.closing.id, asked)
    this.#schedule(asked)
  }

  received(
    { responseId, keyName, provider }: Parameters<BackgroundRunner['received']>[0],
    text: string,
    isCancelled: boolean,
  ): void {
    const run = [...this.#runs.values()].find(
      (each) =>
        each.responseId === responseId &&
        each.keyName === keyName &&
        each.closing.target.provider === provider,
    )
    if (!run) return
    run.isCancelled ||= isCancelled
    try {
      this.#take(run, this.#upstreamOf(run).upstream.readAnswer(text))
    } catch {
      // The next poll asks again.
    }
  }

  stop(): void {
    this.#isStopped = true
    for (const { timer } of this.#runs.values()) timer?.close()
  }

  #schedule(run: Asked): void {
    if (this.#isStopped || !this.#runs.has(run.closing.id)) return
    run.timer?.close()
    // After a fault of the gateway, it asks again later.
    run.timer = after(
      run.wait,
      () => this.#ask(run),
      () => this.#schedule(run),
    ).unref()
    run.wait = Math.min(run.wait * GROWTH, LONGEST_MS)
  }

  async #ask(run: Asked): Promise<void> {
    const parsed = await this.#answerOf(run).catch(() => null)
    if (this.#isStopped || !this.#runs.has(run.closing.id)) return
    if (parsed && this.#take(run, parsed)) return
    const { now, config } = this.#deps.context()
    if (now() - timeOfId(run.closing.id) > config.responses.background_limit)
      this.#end(run, { state: 'failed', outcome: 'timed_out', errorCode: 'upstream_timeout' }, null)
    else this.#schedule(run)
  }

  /** Closes the record if the run has ended. Returns false if it has not. */
  #take(run: Asked, parsed: ParsedEvent): boolean {
    if (!parsed.finished && !parsed.error) return false
    this.#end(run, endOf(parsed, run.isCancelled), parsed)
    return true
  }

  #upstreamOf({ closing, dialect }: Asked) {
    const provider = this.#deps.context().providers.get(closing.target.provider)
    const upstream = provider?.dialects.get(dialect)
    if (!provider || !upstream?.keptAnswer) throw new Error('the provider is not configured any more')
    return { provider, upstream, keptAnswer: upstream.keptAnswer }
  }

  /** Returns the present state of the response at its provider. */
  async #answerOf(run: Asked): Promise<ParsedEvent> {
    const { provider, upstream, keptAnswer } = this.#upstreamOf(run)
    const { basePath, factsOf } = provider
    const share = MEMORY.open(null, 'demand')
    const take = (bytes: number) => {
      if (!share.take(bytes)) throw noMemory()
    }
    try {
      const { status, text } = await askForKept(
        provider,
        { method: 'GET', caller: null, signal: signalAfter(ANSWER_MS), take },
        (key) => keptAnswer(run.responseId, '', { basePath, key, factsOf }),
      )
      if (status !== 200) throw new Error(`status ${status}`)
      return upstream.readAnswer(text)
    } finally {
      share.release()
    }
  }

  #end(run: Asked, { state, outcome, errorCode }: End, parsed: ParsedEvent | null): void {
    const { closing } = run
    const { price, mask, now } = this.#deps.context()
    const at = now()
    const tokens = parsed?.tokens ?? null
    const code = maskedCode(errorCode, mask)
    run.timer?.close()
    this.#runs.delete(closing.id)
    const closed = this.#deps.write({
      ...closing,
      at,
      ended: closing.ended && { ...closing.ended, outcome, errorCode: code, tokens },
      cost: price(closing.target, tokens, at, parsed?.model ?? closing.outcome.responseModel),
      outcome: {
        ...closing.outcome,
        ...{ state, errorCode: code, tokens },
        responseModel: parsed?.model ? mask(parsed.model) : closing.outcome.responseModel,
        latencyMs: Math.max(0, at - timeOfId(closing.id)),
      },
    })
    detached(closed, stray)
  }
}

interface End {
  readonly state: Extract<CallState, 'completed' | 'failed' | 'aborted'>
  readonly outcome: AttemptEnd['outcome']
  readonly errorCode: string | null
}

function endOf({ error }: ParsedEvent, isCancelled: boolean): End {
  if (isCancelled) return { state: 'aborted', outcome: 'aborted', errorCode: 'client_closed' }
  return error
    ? { state: 'failed', outcome: 'failed', errorCode: error.code ?? 'upstream_error' }
    : { state: 'completed', outcome: 'answered', errorCode: null }
}
