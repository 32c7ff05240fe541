// An event of a stream, parsed once for all readers.
import { isExact, parseExact } from '../shared/exact-json.ts'
import { member, textOf } from './json.ts'

/** One event of a stream, by the rules of Server-Sent Events. */
export class StreamEvent {
  /** Name of the event; empty if it has none. */
  readonly name: string
  readonly data: string
  #json: unknown

  constructor(name: string, data: string) {
    this.name = name
    this.data = data
  }

  /**
   * Returns the data as JSON. Parses it only once, since a translated event is read for the record and for
   * the client. Throws if the data is not JSON.
   */
  json(): unknown {
    this.#json ??= JSON.parse(this.data)
    return this.#json
  }

  /** Returns the member `type` of the data; '' without one, or if the data is not JSON. */
  type(): string {
    try {
      return textOf(member(this.json(), 'type'))
    } catch {
      return ''
    }
  }

  /** Returns the data as JSON for writing it again. Numbers keep their original digits. */
  exactJson(): unknown {
    return isExact(this.data) ? this.json() : parseExact(this.data)
  }
}

/** Maximum length of an end mark with its surroundings, in characters. */
const MAX_MARK_LENGTH = 64

/** Returns true for the mark with which OpenAI's streams end, and with which some servers end all of theirs. */
export const isEndMark = (data: string): boolean =>
  data.length < MAX_MARK_LENGTH && /^\s*\[?DONE\]?\s*$/.test(data)
