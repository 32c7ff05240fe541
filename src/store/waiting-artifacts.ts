// Artifacts on their way to the writer. They wait for up to a second, so that under load only those are written
// that stay in the ring; until they are written they are read from here.
import type { Artifact } from './artifacts.ts'

const WAIT_MS = 1_000
/** Artifacts that are made and handed over in one go, so that nothing else waits long. */
const SLICE = 25

/** Makes the artifact's JSON text; called once, when it is written or read first. */
export type MakeArtifact = () => string

export class WaitingArtifacts {
  readonly #keep: number
  readonly #write: (artifacts: Artifact[]) => Promise<unknown>
  /** Oldest first. */
  readonly #waiting = new Map<string, MakeArtifact | string>()
  #timer: NodeJS.Timeout | undefined
  #flushing: Promise<void> | null = null

  constructor(keep: number, write: (artifacts: Artifact[]) => Promise<unknown>) {
    this.#keep = keep
    this.#write = write
  }

  /** `callId` is newer than all that were added before, or nearly so. */
  add(callId: string, make: MakeArtifact): void {
    if (this.#keep === 0) return
    this.#waiting.set(callId, make)
    if (this.#waiting.size > this.#keep) this.#waiting.delete(this.#waiting.keys().next().value!)
    this.#timer ??= setTimeout(() => void this.flush(), WAIT_MS)
  }

  /** The JSON text of an artifact that is not written yet. */
  find(callId: string): string | null {
    const found = this.#waiting.get(callId)
    if (found === undefined) return null
    const json = typeof found === 'string' ? found : found()
    this.#waiting.set(callId, json)
    return json
  }

  /** Writes what waits. One that cannot be written is given up: a call is on record without it. */
  flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#flushing ??= this.#flush().finally(() => {
      this.#flushing = null
      this.#timer = this.#waiting.size > 0 ? setTimeout(() => void this.flush(), WAIT_MS) : undefined
    })
    return this.#flushing
  }

  /** Writes everything; nothing may be added afterwards. */
  async drain(): Promise<void> {
    await this.#flushing
    await this.flush()
    clearTimeout(this.#timer)
  }

  async #flush(): Promise<void> {
    const ids = [...this.#waiting.keys()]
    for (let from = 0; from < ids.length; from += SLICE) {
      const slice = ids.slice(from, from + SLICE).flatMap((callId) => {
        const json = this.find(callId)
        return json === null ? [] : [{ callId, json }]
      })
      await this.#write(slice).catch(() => {})
      for (const { callId } of slice) this.#waiting.delete(callId)
    }
  }
}
