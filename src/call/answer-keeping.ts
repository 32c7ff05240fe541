// Records the provider's ids before the client receives the end of an answer, and stores the answer itself if
// configured. The client may immediately continue the answer, even at another gateway, and this gateway may
// be killed in between.
import type { ParsedEvent, Target } from '../core/call.ts'
import type { AnswerCollector, AnswerStoring, NamedItems } from '../dialects/dialect.ts'
import { after, detached } from '../shared/boundary.ts'
import type { Timer } from '../shared/clock.ts'
import { ANSWER_WEIGHT, MEMORY, type MemoryShare } from '../shared/memory.ts'
import type { ResponseStore } from '../store/kept.ts'
import type { Store } from '../store/store.ts'
import type { GivenItems } from './given-items.ts'

/**
 * Maximum wait for the write, ms. When it is over, the client receives its answer, and the ids are recorded at the
 * end of the call.
 */
const MAX_WAIT_MS = 2_000

/** Settings for storing one answer in the gateway's own store. */
export interface Storing {
  readonly store: ResponseStore
  readonly storing: AnswerStoring
  readonly keyName: string | null
  /** Request as received. */
  readonly text: string
  /** Id of the response that the request continues. */
  readonly previous: string | null
  /**
   * Id with which the client requests a background answer that this gateway produces. Null if the answer has its own
   * id.
   */
  readonly runId: string | null
}

/** Settings for remembering the items of one answer. */
interface Remembering {
  readonly items: GivenItems
  readonly named: NamedItems
  readonly openCollector: AnswerStoring['openCollector']
  readonly keyName: string | null
}

interface KeepingOptions {
  readonly callId: string
  readonly write: Store['write']
  readonly mask: (text: string) => string
  /** False if the provider stores nothing. The ids of an answer are then not recorded. */
  readonly namesAnswer: boolean
  /** Settings for storing the answer; null if the gateway does not store it. */
  readonly stored: Storing | null
  /** Settings for remembering the items of the answer; null if the client asks that nothing be stored. */
  readonly remembered: Remembering | null
  readonly onFault: (error: unknown) => void
}

export class AnswerKeeping {
  readonly #options: KeepingOptions
  #collector: AnswerCollector | null
  /** Memory of the collected answer. */
  #share: MemoryShare | null = null
  #responseId: string | null = null
  #containerId: string | null = null
  /** True if the latest ids are recorded. */
  #isNamed = true
  /** True once the answer is stored. */
  isKept = false

  constructor(options: KeepingOptions) {
    this.#options = options
    this.#collector = options.stored?.storing.openCollector() ?? null
  }

  /** Called before the first part of an answer that the gateway itself writes. Only it knows the ids. */
  translated(): void {
    this.#collector ??= this.#options.remembered?.openCollector() ?? null
  }

  /** Processes a part of a stream, as sent. The ids are usually recorded long before the end. */
  part(bytes: Buffer, parsed: ParsedEvent | null): void {
    if (this.#collector) this.#collect(bytes)?.add(bytes)
    if (parsed && this.#isNew(parsed)) detached(this.#name(false), this.#options.onFault)
  }

  /** Processes a whole answer, as sent. Returns the same promise as `beforeEnd`. */
  whole(bytes: Buffer, parsed: ParsedEvent, from: Target): Promise<void> | null {
    if (this.#collector) this.#collect(bytes)?.whole(bytes)
    return this.beforeEnd(parsed, from)
  }

  /**
   * Returns a promise that resolves when everything is recorded or the maximum wait is over. Returns null if
   * there is nothing to write.
   */
  beforeEnd(parsed: ParsedEvent, from: Target): Promise<void> | null {
    const waits: Promise<unknown>[] = []
    if (this.#isNew(parsed) || !this.#isNamed) waits.push(this.#name(true))
    if (this.#options.stored) waits.push(this.#keep(this.#collector!, from))
    else this.#remember(this.#collector?.answer ?? null, null)
    return waits.length === 0 ? null : within(Promise.all(waits), MAX_WAIT_MS)
  }

  /** Returns the collector if there is memory for more of the answer. Without it, the answer is not stored. */
  #collect({ length }: Buffer): AnswerCollector | null {
    if (this.#collector === null) return null
    const drop = () => {
      this.#collector = null
    }
    this.#share ??= MEMORY.open((this.#options.stored ?? this.#options.remembered!).keyName, 'cache', drop)
    if (!this.#share.take(ANSWER_WEIGHT * length)) this.#share.drop()
    return this.#collector
  }

  /** Called when the call is over. */
  over(): void {
    this.#share?.release()
    this.#collector = null
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
      // The client may have deleted the answer at another gateway in the meantime.
      if (runId !== null && (await store.find(runId, keyName)) === null) return
      const keeper = this.#responseId === answer.id ? provider : null
      this.#remember({ ...answer, id: runId ?? answer.id }, keeper)
      await store.save(runId ?? answer.id, keyName, previous, {
        input: storing.inputItems(text),
        output: answer.output,
        answer: runId === null ? answer.json : storing.runs.completed(answer.json, runId),
        keeper: runId === null ? keeper : null,
      })
      this.isKept = true
    } catch (error) {
      this.#options.onFault(error)
    }
  }

  #remember(answer: AnswerCollector['answer'], keeper: string | null): void {
    const { remembered } = this.#options
    if (!answer || !remembered) return
    const { items, named, keyName } = remembered
    items.add(answer.output, named, { answerId: answer.id, keyName, keeper })
  }
}

/** Waits for a promise, at most `ms`. */
async function within(done: Promise<unknown>, ms: number): Promise<void> {
  let timer: Timer | undefined
  const late = new Promise<void>((resolve) => {
    timer = after(ms, resolve, () => resolve())
  })
  await Promise.race([done.catch(() => {}), late])
  timer?.close()
}
