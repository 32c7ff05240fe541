// Collects a stream as it passes, so that it can be given again. Gives up when it is too large or not in order.
import { EMPTY_EVENT, type ParsedEvent } from '../call.ts'
import type { CachedAnswer } from './response-cache.ts'

export class Recorder {
  readonly #max: number
  #size = 0
  #runs: { events: Buffer[]; usageOnly: boolean }[] = []
  #finished = false
  #spoilt = false

  /** `max`: bytes of the largest answer that is worth keeping. */
  constructor(max: number) {
    this.#max = max
  }

  /** One event, or comments, which say nothing. */
  add(bytes: Buffer, parsed: ParsedEvent | null): void {
    const { finished, unusual, error, usageOnly } = parsed ?? EMPTY_EVENT
    this.#size += bytes.length
    this.#finished ||= finished
    this.#spoilt ||= unusual || error !== null || this.#size > this.#max
    if (this.#spoilt) this.#runs = []
    else if (this.#runs.at(-1)?.usageOnly === usageOnly) this.#runs.at(-1)!.events.push(bytes)
    else this.#runs.push({ events: [bytes], usageOnly })
  }

  /** The stream in as few parts as possible, copied off the network's buffers; null where it is not to be repeated. */
  parts(): CachedAnswer['parts'] | null {
    if (this.#spoilt || !this.#finished) return null
    return this.#runs.map(({ events, usageOnly }) => ({ bytes: Buffer.concat(events), usageOnly }))
  }
}
