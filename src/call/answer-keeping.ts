// Puts on record, before the client has the end of an answer, the provider's ids, and the answer itself if
// the gateway keeps it. The client may continue it at once, even at another gateway, and this gateway may be
// killed in between.
import type { ParsedEvent, Target } from '../core/call.ts'
import type { AnswerCollector, AnswerStoring } from '../dialects/dialect.ts'
import type { ResponseStore } from '../responses-store/response-store.ts'
import type { Store } from '../store/store.ts'

/** Maximum wait, ms. Then the client gets its answer, and the ids go on record with the call's end. */
const MAX_WAIT_MS = 2_000

/** Keeps one answer in the gateway's own store. */
export interface Storing {
  readonly store: ResponseStore
  readonly storing: AnswerStoring
  readonly keyName: string | null
  /** Request as it was received. */
  readonly text: string
  /** Response that it continues. */
  readonly previous: string | null
  /** Id under which its client asks for it, if it runs in the background here; null: its own. */
  readonly runId: string | null
}

export interface KeepingOptions {
  readonly callId: string
  readonly write: Store['write']
  readonly mask: (text: string) => string
  /** False: the provider keeps nothing, so its ids are not recorded. */
  readonly namesAnswer: boolean
  /** Null if the gateway does not keep it. */
  readonly stored: Storing | null
  readonly onFault: (error: unknown) => void
}

export class AnswerKeeping {
  readonly #options: KeepingOptions
  readonly #collector: AnswerCollector | null
  #responseId: string | null = null
  #containerId: string | null = null
  /** True if the latest ids are on record. */
  #isNamed = true
  /** True once the answer is kept. */
  isKept = false

  constructor(options: KeepingOptions) {
    this.#options = options
    this.#collector = options.stored?.storing.openCollector() ?? null
  }

  /** Takes a part of a stream, as sent. The ids are usually on record long before the end. */
  part(bytes: Buffer, parsed: ParsedEvent | null): void {
    this.#collector?.add(bytes)
    if (parsed && this.#isNew(parsed)) void this.#name(false)
  }

  /** Takes a whole answer, as sent. Returns a promise like `beforeEnd`. */
  whole(bytes: Buffer, parsed: ParsedEvent, from: Target): Promise<void> | null {
    this.#collector?.whole(bytes)
    return this.beforeEnd(parsed, from)
  }

  /**
   * Returns a promise that resolves when everything is on record, or too late; null if nothing has to be
   * written.
   */
  beforeEnd(parsed: ParsedEvent, from: Target): Promise<void> | null {
    const waits: Promise<unknown>[] = []
    if (this.#isNew(parsed) || !this.#isNamed) waits.push(this.#name(true))
    if (this.#collector) waits.push(this.#keep(this.#collector, from))
    return waits.length === 0 ? null : within(Promise.all(waits), MAX_WAIT_MS)
  }

  #isNew({ responseId, containerId }: ParsedEvent): boolean {
    if (!this.#options.namesAnswer) return false
    const before = [this.#responseId, this.#containerId]
    this.#responseId ??= responseId ?? null
    this.#containerId ??= containerId ?? null
    return this.#responseId !== before[0] || this.#containerId !== before[1]
  }

  async #name(isAwaited: boolean): Promise<void> {
    const { callId: id, write, mask } = this.#options
    const masked = (name: string | null) => (name === null ? null : mask(name))
    this.#isNamed = false
    const [responseId, containerId] = [masked(this.#responseId), masked(this.#containerId)]
    await write({ kind: 'named', id, responseId, containerId, isAwaited })
    this.#isNamed = true
  }

  async #keep(collector: AnswerCollector, { provider }: Target): Promise<void> {
    const { store, storing, keyName, text, previous, runId } = this.#options.stored!
    try {
      const { answer } = collector
      if (!answer) return
      // Its client may have deleted it meanwhile, at another gateway.
      if (runId !== null && (await store.find(runId, keyName)) === null) return
      await store.save(runId ?? answer.id, keyName, previous, {
        input: storing.inputItems(text),
        output: answer.output,
        answer: runId === null ? answer.json : storing.runs.completed(answer.json, runId),
        keeper: runId === null && this.#responseId === answer.id ? provider : null,
      })
      this.isKept = true
    } catch (error) {
      this.#options.onFault(error)
    }
  }
}

/** Waits at most `ms`. */
async function within(done: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([done.catch(() => {}), late])
  clearTimeout(timer)
}
