// Calls whose bodies are kept because their client, their key or their route asks for it: the request as it was received,
// with the headers that are relayed, and the answer as the client got it, compressed and encrypted, beside the stored responses. Independent of dialects and
// the database.
import type { ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { GatewayError } from '../core/errors.ts'
import { detached } from '../shared/boundary.ts'
import { BytePieces } from '../shared/byte-pieces.ts'
import { ANSWER_WEIGHT, MEMORY, type MemoryShare } from '../shared/memory.ts'
import type { KeptCall, KeptCalls } from '../store/kept.ts'
import type { ResponseStoreOptions } from './response-store.ts'
import { OtherKeyError, type Sealer } from './sealer.ts'

interface KeptCallsOptions {
  readonly rows: ResponseStoreOptions['rows']
  readonly sealer: Sealer
  readonly days: number
  /** Milliseconds since the epoch. */
  readonly now: () => number
  readonly onFault: (error: unknown, callId: string) => void
}

const DAY = 86_400_000
/** Memory for each byte that is read: in Base64, compressed, as text, as JSON and for the reader. A body shrinks to a fifth. */
const READING_WEIGHT = 20

const [zipped, unzipped] = [promisify(gzip), promisify(gunzip)]

/** Names of headers that may hold a secret, and the one that only names the client's library. */
const NOT_KEPT = /auth|cookie|credential|key|passw|secret|signature|token(?!s)|api-client/i

/** Owner of a key's rows. Names of keys have no blank, so no stored response is found under it. */
const ownerOf = (keyName: string | null): string => `calls of ${keyName ?? ''}`

export function createKeptCalls({ rows, sealer, days, now, onFault }: KeptCallsOptions): KeptCalls {
  const placeOf = (id: string, owner: string) => JSON.stringify([id, owner])
  return {
    begin({ id, keyName }, { forwarded, ...request }, response) {
      const owner = ownerOf(keyName)
      const copy = new AnswerCopy(response, keyName, request.request.length)
      const headers = Object.fromEntries(
        forwarded.flatMap((name, at) =>
          at % 2 === 0 && !NOT_KEPT.test(name) ? [[name, forwarded[at + 1]!]] : [],
        ),
      )
      const save = async () => {
        const kept: KeptCall = { ...request, headers, ...copy.taken() }
        const packed = await zipped(JSON.stringify(kept))
        const sealed = sealer.seal(packed, placeOf(id, owner))
        await rows.keep({ id, keyName: owner, previous: null, expiresAt: now() + days * DAY, sealed })
      }
      return {
        end() {
          const saved = copy.isWhole ? save() : Promise.resolve()
          detached(
            saved.finally(() => copy.release()),
            (error) => onFault(error, id),
          )
        },
      }
    },
    async find(id, keyName, room) {
      const owner = ownerOf(keyName)
      room((await rows.keptSize(id, owner, 1)) * READING_WEIGHT)
      const [row] = await rows.keptChain(id, owner, 1)
      if (!row || row.expiresAt <= now()) return null
      try {
        const text = await unzipped(sealer.open(row.sealed, placeOf(id, owner)))
        // Older ones have no headers.
        return { headers: {}, ...JSON.parse(text.toString()), expiresAt: row.expiresAt }
      } catch (error) {
        const why = error instanceof OtherKeyError ? 'it was encrypted with another key' : 'it is damaged'
        throw new GatewayError('response_unreadable', `The kept call '${id}' cannot be read: ${why}.`)
      }
    },
    has: async (id, keyName) => (await rows.keptSize(id, ownerOf(keyName), 1)) > 0,
    remove: (id, keyName) => rows.drop(id, ownerOf(keyName)),
  }
}

/** A copy of all that is written to a client. Given up when there is no memory for it. */
class AnswerCopy {
  readonly #pieces = new BytePieces()
  readonly #share: MemoryShare
  #status = 0
  #type: string | null = null
  /** False once the copy was given up. */
  isWhole = true

  constructor(response: ServerResponse, keyName: string | null, requestBytes: number) {
    const giveUp = () => {
      this.isWhole = false
      this.#pieces.clear()
    }
    this.#share = MEMORY.open(keyName, 'cache', giveUp)
    if (!this.#share.take(ANSWER_WEIGHT * requestBytes)) this.#share.drop()
    const { writeHead, write, end } = response
    // Node's types list each form of the arguments; all are passed on as they are.
    const own = response as { writeHead: unknown; write: unknown; end: unknown }
    own.writeHead = (status: number, ...rest: [never]) => {
      const headers: Record<string, unknown> = rest[0] ?? {}
      this.#status = status
      this.#type = typeof headers['content-type'] === 'string' ? headers['content-type'] : null
      return writeHead.call(response, status, ...rest)
    }
    own.write = (...given: Parameters<typeof write>) => {
      this.#add(given)
      return write.apply(response, given)
    }
    own.end = (...given: Parameters<typeof end>) => {
      this.#add(given)
      return end.apply(response, given)
    }
  }

  #add([chunk, encoding]: readonly unknown[]): void {
    if (!this.isWhole || chunk === undefined || chunk === null || typeof chunk === 'function') return
    const bytes =
      typeof chunk === 'string'
        ? Buffer.from(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8')
        : (chunk as Buffer)
    if (this.#share.take(ANSWER_WEIGHT * bytes.length)) this.#pieces.add(bytes)
    else this.#share.drop()
  }

  taken(): Pick<KeptCall, 'status' | 'content_type' | 'answer'> {
    return { status: this.#status, content_type: this.#type, answer: this.#pieces.joined().toString() }
  }

  release(): void {
    this.#share.release()
  }
}
