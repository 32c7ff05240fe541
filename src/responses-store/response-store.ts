// Responses that the gateway itself stores: request and answer, encrypted, for the key of the call. A
// response contains its own input and output and names the previous response. Independent of dialects and the
// database.
import { GatewayError } from '../core/errors.ts'
import type { KeptRow, KeptRowReads, KeptRowWrites } from '../store/kept-rows.ts'
import { OtherKeyError, type Sealer } from './sealer.ts'

export interface KeptResponse {
  /** Items of the request, as JSON strings. */
  readonly input: readonly string[]
  /** Items of the answer, as JSON strings. */
  readonly output: readonly string[]
  /** Answer as the client received it, as JSON. */
  readonly answer: string
  /** Provider that also stores the response; null if there is none. */
  readonly keeper: string | null
  /** True if the response has no answer yet or will never have one. Such a response cannot be continued. */
  readonly isUnanswered?: true
  /**
   * Gateway of a fleet that runs the response in the background, start of the run (ms since the epoch), and
   * record of the call.
   */
  readonly run?: { readonly gateway: string; readonly since: number; readonly callId: string }
}

/** Conversation up to a response. */
export interface KeptConversation {
  /** JSON texts. */
  readonly items: readonly string[]
  /** Provider that stores the last response; null if there is none. */
  readonly keeper: string | null
}

export interface ResponseStore {
  /** Stores a response. `previous`: id of the previous response. Rejects if the write fails. */
  save(id: string, keyName: string | null, previous: string | null, kept: KeptResponse): Promise<void>
  /** Returns a response; null if this key has none with this id. Throws if it cannot be decrypted. */
  find(id: string, keyName: string | null): Promise<KeptResponse | null>
  /**
   * Returns a conversation. Null if this key has none, or if its beginning or an answer is missing. Throws if
   * it cannot be decrypted.
   */
  conversation(id: string, keyName: string | null): Promise<KeptConversation | null>
  /** Removes a response. Returns false if there was none. */
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
/** Maximum number of responses in a conversation. */
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
