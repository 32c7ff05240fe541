// Requests the finished line from the gateway. Uses only this read endpoint, so it cannot cause an inference
// (LINE-04). Trusts nothing, because another program may be listening on that address.
import type { Socket } from 'node:net'
import { clean, cut, type Measure } from '../terminal/clean.ts'
import { get, NoAnswerError } from './get.ts'

/** Error codes of a gateway that requires a key, or does not know the given one. */
export const KEYLESS = 'requires a key'
export const WRONG_KEY = 'does not accept this key'

interface RemoteLine {
  /** The line; empty if the gateway knows no call of this subagent. */
  readonly line: string
  /** The line to show later, with AGE_PLACEHOLDER instead of its age. */
  readonly aged: string
  /** Time from which the line's age counts, ms since the epoch. */
  readonly at: number
}

/** A gateway and a connection to it, for a single use. */
export interface RemoteGateway {
  readonly url: URL
  readonly key: string | null
  readonly socket: Socket
}

/** Rejects with NoAnswerError. */
export async function askForLine(
  { url, key, socket }: RemoteGateway,
  query: Readonly<Record<string, string>>,
  ms: number,
): Promise<RemoteLine> {
  const target = `${url.pathname.replace(/\/+$/, '')}/api/statusline?${new URLSearchParams(query)}&aged=1`
  const { status, type, body } = await get(socket, url.host, target, key, ms)
  if (status === 401) throw new NoAnswerError(key === null ? KEYLESS : WRONG_KEY)
  if (status !== 200) throw new NoAnswerError(`answered ${status}`)
  const [, line, aged, seconds] = /^(.*)\n(.*)\n(\d+)\n$/.exec(body) ?? []
  if (type !== 'text/plain; charset=utf-8' || seconds === undefined)
    throw new NoAnswerError('sent an invalid answer')
  return { line: line!, aged: aged!, at: Number(seconds) * 1_000 }
}

const ESCAPE = '\\u001b'
/** Sequences allowed in a line: colours, and links to a page. */
const MARKS = `(${ESCAPE}\\[[\\d;]*m|${ESCAPE}\\]8;;(?:https?:[!-~]*)?\\u0007)`

/**
 * Shortens a line to its maximum width, and removes every control sequence except colours and links (LINE-06,
 * LINE-07).
 */
export function sound(line: string, columns: number | null, cells: Measure): string {
  let left = columns ?? Number.POSITIVE_INFINITY
  return line
    .split(new RegExp(MARKS))
    .map((piece, index) => {
      if (index % 2 === 1) return piece
      const text = left > 0 ? cut(clean(piece), left, cells) : ''
      left -= cells(text)
      return text
    })
    .join('')
}
