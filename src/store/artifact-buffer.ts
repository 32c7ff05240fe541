// Buffers artifacts on their way to the writer. Artifacts wait a few seconds, and reads find them here
// meanwhile. Under load, only artifacts that remain in the ring are therefore written. A kill loses waiting
// artifacts, but no record.
import { after } from '../shared/boundary.ts'
import type { Timer } from '../shared/clock.ts'

export interface ArtifactLimits {
  readonly keep: number
  readonly bytes: number
}

/** An artifact to store. */
export interface Artifact {
  readonly callId: string
  readonly json: string
}

const WAIT_MS = 5_000
/** Maximum artifacts formatted and handed over in one step, so that nothing else waits long. */
const MAX_SLICE = 25

/** Makes the artifact's JSON text. Called once, before the first write or read. */
export type MakeArtifact = () => string

export class ArtifactBuffer {
  readonly #limits: ArtifactLimits
  readonly #write: (artifacts: Artifact[]) => Promise<unknown>
  readonly #onEnd: (failure: string | null) => void
  /** Oldest first. */
  readonly #waiting = new Map<string, { readonly weight: number; json: MakeArtifact | string }>()
  #weight = 0
  #timer: Timer | undefined
  #flushing: Promise<void> | null = null

  /** `onEnd`: called after each round with the reason of a failure, or null. */
  constructor(
    limits: ArtifactLimits,
    write: (artifacts: Artifact[]) => Promise<unknown>,
    onEnd: (failure: string | null) => void = () => {},
  ) {
    this.#limits = limits
    this.#write = write
    this.#onEnd = onEnd
  }

  /** Adds an artifact. If it falls out of the ring before it is written, it is never formatted. */
  add(callId: string, weight: number, make: MakeArtifact): void {
    this.#waiting.set(callId, { weight, json: make })
    this.#weight += weight
    while (this.#waiting.size > this.#limits.keep || this.#weight > this.#limits.bytes)
      this.#remove(this.#waiting.keys().next().value!)
    if (this.#timer === undefined) this.#later()
  }

  /** Writes the waiting artifacts later, also after a fault. */
  readonly #later = (): void => {
    this.#timer?.close()
    this.#timer = this.#waiting.size > 0 ? after(WAIT_MS, () => this.flush(), this.#later) : undefined
  }

  /** Returns the JSON text of an artifact that is not written yet. */
  find(callId: string): string | null {
    const found = this.#waiting.get(callId)
    if (!found) return null
    if (typeof found.json === 'function') found.json = found.json()
    return found.json
  }

  #remove(callId: string): void {
    this.#weight -= this.#waiting.get(callId)?.weight ?? 0
    this.#waiting.delete(callId)
  }

  /**
   * Writes the waiting artifacts. An artifact that cannot be written stays until it falls out of the ring.
   */
  flush(): Promise<void> {
    this.#timer?.close()
    this.#flushing ??= this.#flush().finally(() => {
      this.#flushing = null
      this.#later()
    })
    return this.#flushing
  }

  /** Writes every artifact that can be written. Add no artifacts afterwards. */
  async drain(): Promise<void> {
    await this.#flushing
    await this.flush()
    this.#timer?.close()
  }

  async #flush(): Promise<void> {
    const ids = [...this.#waiting.keys()]
    let failure: string | null = null
    for (let from = 0; from < ids.length; from += MAX_SLICE)
      try {
        const slice = ids.slice(from, from + MAX_SLICE).flatMap((callId) => {
          const json = this.find(callId)
          return json === null ? [] : [{ callId, json }]
        })
        await this.#write(slice)
        for (const { callId } of slice) this.#remove(callId)
      } catch (error) {
        failure = (error as Error).message
      }
    this.#onEnd(failure)
  }
}
