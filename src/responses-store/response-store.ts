// Responses that the gateway itself keeps: request and answer, for the key of the call, sealed. A response
// contains its own input and output and names the one before it. Knows no dialect and no database.
import { GatewayError } from '../core/errors.ts'
import type { KeptRow, KeptRowReads, KeptRowWrites } from '../store/kept-rows.ts'
import { OtherKeyError, type Sealer } from './sealer.ts'

export interface KeptResponse {
  /** JSON texts of the items of its request. */
  readonly input: readonly string[]
  /** JSON texts of the items of its answer. */
  readonly output: readonly string[]
  /** Answer as its client got it, JSON. */
  readonly answer: string
  /** Provider that keeps it as well; null for none. */
  readonly keeper: string | null
  /** True if it has no answer yet, or never will: it cannot be continued. */
  readonly isUnanswered?: true
  /** Gateway of a fleet that runs it in the background, since when (ms since the epoch), and the record of its call. */
  readonly run?: { readonly gateway: string; readonly since: number; readonly callId: string }
}

/** Conversation up to a response. */
export interface KeptConversation {
  /** JSON texts. */
  readonly items: readonly string[]
  /** Provider that keeps the last response; null for none. */
  readonly keeper: string | null
}

export interface ResponseStore {
  /** `previous`: id of the response before it. Rejects if it cannot be written. */
  save(id: string, keyName: string | null, previous: string | null, kept: KeptResponse): Promise<void>
  /** Returns null if this key has none under that id. Throws for one that cannot be opened. */
  find(id: string, keyName: string | null): Promise<KeptResponse | null>
  /** Returns null if this key has none, or if its beginning or an answer is not here. Throws for one that cannot be opened. */
  conversation(id: string, keyName: string | null): Promise<KeptConversation | null>
  /** Returns false if there was none. */
  remove(id: string, keyName: string | null): Promise<boolean>
}

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
/** Maximum responses of a conversation. */
const MAX_RESPONSES = 5_000

export function createResponseStore({ rows, sealer, days, now }: ResponseStoreOptions): ResponseStore {
  const placeOf = (id: string, keyName: string) => JSON.stringify([id, keyName])
  const opened = ({ id, keyName, sealed }: KeptRow): KeptResponse => {
    try {
      return JSON.parse(sealer.open(sealed, placeOf(id, keyName)))
    } catch (cause) {
      const why =
        cause instanceof OtherKeyError
          ? 'it was encrypted with another key than the present one'
          : 'it is damaged'
      throw new GatewayError('response_unreadable', `Response with id '${id}' cannot be read: ${why}.`, {
        cause,
      })
    }
  }
  const chainOf = async (id: string, keyName: string | null, most: number) => {
    const chain = await rows.keptChain(id, keyName ?? '', most)
    return chain[0] && chain[0].expiresAt > now() ? chain : []
  }
  return {
    async save(id, keyName, previous, kept) {
      const owner = keyName ?? ''
      const sealed = sealer.seal(JSON.stringify(kept), placeOf(id, owner))
      const expiresAt = now() + days * DAY
      await rows.keep({ id, keyName: owner, previous: previous === id ? null : previous, expiresAt, sealed })
    },
    async find(id, keyName) {
      const [row] = await chainOf(id, keyName, 1)
      return row ? opened(row) : null
    },
    async conversation(id, keyName) {
      const chain = await chainOf(id, keyName, MAX_RESPONSES)
      if (chain.length === 0 || chain.at(-1)!.previous !== null) return null
      const responses = chain.map(opened)
      if (responses.some(({ isUnanswered }) => isUnanswered)) return null
      const items = responses.toReversed().flatMap(({ input, output }) => [...input, ...output])
      return { items, keeper: responses[0]!.keeper }
    },
    remove: (id, keyName) => rows.drop(id, keyName ?? ''),
  }
}
