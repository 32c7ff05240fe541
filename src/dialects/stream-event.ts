// Event of a stream, parsed once for all readers.
import { isExact, parseExact } from '../shared/exact-json.ts'

/** One event of a stream, by the rules of Server-Sent Events. */
export class StreamEvent {
  /** Empty if the event has no name. */
  readonly name: string
  readonly data: string
  #json: unknown

  constructor(name: string, data: string) {
    this.name = name
    this.data = data
  }

  /**
   * Returns the data as JSON, parsed once: a translated event is read twice, for the record and for the
   * client. Throws if it is not JSON.
   */
  json(): unknown {
    this.#json ??= JSON.parse(this.data)
    return this.#json
  }

  /** Returns the data as JSON to be written again: numbers keep their spelling. */
  exactJson(): unknown {
    return isExact(this.data) ? this.json() : parseExact(this.data)
  }
}
