// Stores parts of calls in the gateway itself, encrypted with a key from the environment: responses, for the key of the
// call, and whole calls if their client, their key or their route asks for it. A response contains its own input and
// output and names the previous response. Independent of dialects and the database.
import { createCipheriv, createDecipheriv, createHash, hkdfSync } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { conversationTooLong, GatewayError } from '../core/errors.ts'
import { detached } from '../shared/boundary.ts'
import { BytePieces } from '../shared/byte-pieces.ts'
import { chance } from '../shared/chance.ts'
import { sleep } from '../shared/clock.ts'
import { ANSWER_WEIGHT, MEMORY, type MemoryShare, REQUEST_WEIGHT } from '../shared/memory.ts'
import { resultInTurn } from '../shared/turns.ts'
import type {
  KeptCall,
  KeptCalls,
  KeptResponse,
  KeptRow,
  KeptRowReads,
  KeptRowWrites,
  LoadingMemory,
  ResponseStore,
} from '../store/kept.ts'

export interface ResponseStoreOptions {
  readonly rows: KeptRowWrites & {
    readonly [Each in keyof KeptRowReads]: (
      ...args: Parameters<KeptRowReads[Each]>
    ) => Promise<ReturnType<KeptRowReads[Each]>>
  }
  readonly sealer: Sealer
  readonly days: number
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

/** Bytes of a response for each byte that is stored, which is in Base64. */
const BYTES_PER_SEALED = 3 / 4
/** Memory for each character of a response that is being stored, as text and in Base64. */
const SEALING_WEIGHT = 2
/** Maximum wait for memory, and its steps, ms. A call gives its own back when its client has waited for two seconds. */
const [MAX_WAIT_MS, WAIT_STEP_MS] = [5_000, 50]
/** Maximum number of responses in a conversation. */
const MAX_RESPONSES = 5_000

export function createResponseStore({ rows, sealer, days, now }: ResponseStoreOptions): ResponseStore {
  const placeOf = (id: string, keyName: string) => JSON.stringify([id, keyName])
  const opened = ({ id, keyName, sealed }: KeptRow): KeptResponse => {
    try {
      return JSON.parse(sealer.open(sealed, placeOf(id, keyName)).toString())
    } catch (cause) {
      const why =
        cause instanceof OtherKeyError
          ? 'it was encrypted with another key than the present one'
          : 'it is damaged'
      throw new GatewayError('response_unreadable', `The answer '${id}' cannot be read: ${why}.`, { cause })
    }
  }
  const openedInTurn = (row: KeptRow) =>
    resultInTurn(row.keyName || null, row.sealed.length, () => opened(row))
  const chainOf = async (id: string, keyName: string | null, most: number, room?: LoadingMemory) => {
    const bytes = room ? (await rows.keptSize(id, keyName ?? '', most)) * BYTES_PER_SEALED : 0
    // A response contains its output twice.
    if (room && bytes > 2 * room.limit) throw conversationTooLong(room.limit)
    room?.take(REQUEST_WEIGHT * bytes)
    const chain = await rows.keptChain(id, keyName ?? '', most)
    return chain[0] && chain[0].expiresAt > now() ? chain : []
  }
  return {
    async save(id, keyName, previous, kept) {
      const owner = keyName ?? ''
      const size = sizeOf(kept)
      const share = await takeOwn(keyName, SEALING_WEIGHT * size)
      try {
        const sealed = await resultInTurn(keyName, size, () =>
          sealer.seal(JSON.stringify(kept), placeOf(id, owner)),
        )
        const expiresAt = now() + days * DAY
        await rows.keep({
          ...{ id, keyName: owner, previous: previous === id ? null : previous },
          ...{ expiresAt, sealed },
        })
      } finally {
        share.release()
      }
    },
    async find(id, keyName, room) {
      if (room) {
        const [row] = await chainOf(id, keyName, 1, room)
        return row ? openedInTurn(row) : null
      }
      const bytes = (await rows.keptSize(id, keyName ?? '', 1)) * BYTES_PER_SEALED
      const share = await takeOwn(keyName, REQUEST_WEIGHT * bytes)
      try {
        const [row] = await chainOf(id, keyName, 1)
        return row ? await openedInTurn(row) : null
      } finally {
        share.release()
      }
    },
    async conversation(id, keyName, room) {
      const chain = await chainOf(id, keyName, MAX_RESPONSES, room)
      if (chain.length === 0 || chain.at(-1)!.previous !== null) return null
      let keeper: string | null = null
      const items: string[] = []
      let size = 0
      while (chain.length > 0) {
        const { input, output, isUnanswered, ...response } = await openedInTurn(chain.pop()!)
        if (isUnanswered) return null
        keeper = response.keeper
        for (const item of [...input, ...output]) {
          items.push(item)
          size += item.length
        }
        if (size > room.limit) throw conversationTooLong(room.limit)
      }
      return { items, keeper }
    },
    remove: (id, keyName) => rows.drop(id, keyName ?? ''),
  }
}

/** Characters of a response that is stored. */
const sizeOf = ({ input, output, answer }: KeptResponse): number =>
  [...input, ...output].reduce((sum, { length }) => sum + length, answer.length)

/** Takes memory for what the gateway itself stores or reads. Waits until there is some. */
async function takeOwn(keyName: string | null, bytes: number): Promise<MemoryShare> {
  const share = MEMORY.open(keyName, 'demand')
  for (let waited = 0; !share.take(bytes); waited += WAIT_STEP_MS) {
    if (waited >= MAX_WAIT_MS) {
      share.release()
      throw new GatewayError('overloaded', 'Too much at once: a response cannot be stored. Try again.', {
        retryAfter: 1,
      })
    }
    await sleep(WAIT_STEP_MS)
  }
  return share
}

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

const CIPHER = 'aes-256-gcm'
const [KEY_NAME_BYTES, NONCE_BYTES, TAG_BYTES] = [8, 12, 16]

/** The text was encrypted with another key. */
export class OtherKeyError extends Error {
  override readonly name = 'OtherKeyError'
}

interface Sealer {
  /** Encrypts bytes, or a string as UTF-8. `place`: the only place where the result can be decrypted. */
  seal(content: string | Buffer, place: string): string
  /** Decrypts. Throws OtherKeyError, or Error if the bytes were changed or belong to another place. */
  open(sealed: string, place: string): Buffer
}

export function createSealer(secret: string): Sealer {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'waybill kept responses', 32))
  const keyName = createHash('sha256').update(key).digest().subarray(0, KEY_NAME_BYTES)
  return {
    seal(content, place) {
      const nonce = chance.bytes(NONCE_BYTES)
      const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(place))
      const sealed = [cipher.update(Buffer.from(content)), cipher.final()]
      return Buffer.concat([keyName, nonce, cipher.getAuthTag(), ...sealed]).toString('base64')
    },
    open(sealed, place) {
      const bytes = Buffer.from(sealed, 'base64')
      if (!bytes.subarray(0, KEY_NAME_BYTES).equals(keyName))
        throw new OtherKeyError('sealed with another key')
      const [nonceEnd, tagEnd] = [KEY_NAME_BYTES + NONCE_BYTES, KEY_NAME_BYTES + NONCE_BYTES + TAG_BYTES]
      const cipher = createDecipheriv(CIPHER, key, bytes.subarray(KEY_NAME_BYTES, nonceEnd))
      cipher.setAuthTag(bytes.subarray(nonceEnd, tagEnd)).setAAD(Buffer.from(place))
      return Buffer.concat([cipher.update(bytes.subarray(tagEnd)), cipher.final()])
    },
  }
}
