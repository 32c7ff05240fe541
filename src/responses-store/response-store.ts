// Responses that the gateway itself stores: request and answer, encrypted, for the key of the call. A
// response contains its own input and output and names the previous response. Independent of dialects and the
// database.
import { conversationTooLong, GatewayError } from '../core/errors.ts'
import { sleep } from '../shared/clock.ts'
import { MEMORY, type MemoryShare, REQUEST_WEIGHT } from '../shared/memory.ts'
import { resultInTurn } from '../shared/turns.ts'
import type { KeptResponse, LoadingMemory, ResponseStore } from '../store/kept.ts'
import type { KeptRow, KeptRowReads, KeptRowWrites } from '../store/kept-rows.ts'
import { OtherKeyError, type Sealer } from './sealer.ts'

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

const DAY = 86_400_000
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
