// The interfaces of what a gateway keeps if it is asked to: stored responses, and the bodies of kept calls. The part that
// keeps them (`src/responses-store`) is optional, so that others know it only by these.
import type { ServerResponse } from 'node:http'
import type { Call } from '../core/call.ts'

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

/** Memory of the call for which something is read. */
export interface LoadingMemory {
  /** Largest request, bytes. */
  readonly limit: number
  /** Takes memory before it is allocated. Throws if there is none. */
  take(bytes: number): void
}

export interface ResponseStore {
  /** Stores a response. `previous`: id of the previous response. Rejects if the write fails. */
  save(id: string, keyName: string | null, previous: string | null, kept: KeptResponse): Promise<void>
  /**
   * Returns a response; null if this key has none with this id. Throws if it cannot be decrypted. `room`: memory for it,
   * unless the gateway itself needs it.
   */
  find(id: string, keyName: string | null, room?: LoadingMemory): Promise<KeptResponse | null>
  /**
   * Returns a conversation. Null if this key has none, or if its beginning or an answer is missing. Throws if
   * it cannot be decrypted, or if it is larger than a request may be.
   */
  conversation(id: string, keyName: string | null, room: LoadingMemory): Promise<KeptConversation | null>
  /** Removes a response. Returns false if there was none. */
  remove(id: string, keyName: string | null): Promise<boolean>
}

/** A kept call. The bodies are texts as sent. */
export interface KeptCall {
  readonly path: string
  readonly query: string
  /** Headers that are relayed to the provider, without those that may hold a secret. */
  readonly headers: Readonly<Record<string, string>>
  readonly request: string
  readonly status: number
  readonly content_type: string | null
  readonly answer: string
}

interface ReceivedRequest extends Pick<KeptCall, 'path' | 'query' | 'request'> {
  /** Headers that are relayed to the provider, as alternating names and values. */
  readonly forwarded: readonly string[]
}

export interface KeptCalls {
  /** Begins to keep a call that is on record: its request, and all that is written to its client. */
  begin(call: Call, request: ReceivedRequest, response: ServerResponse): Keeping
  /**
   * Returns a call; null if none of this key is kept under this id. Throws if it cannot be decrypted. `room` takes memory
   * before it is allocated.
   */
  find(
    id: string,
    keyName: string | null,
    room: LoadingMemory['take'],
  ): Promise<(KeptCall & { readonly expiresAt: number }) | null>
  /** Returns true if a call is kept, or was until a moment ago. */
  has(id: string, keyName: string | null): Promise<boolean>
  /** Deletes a call. Returns false if it was not kept. */
  remove(id: string, keyName: string | null): Promise<boolean>
}

/** A call that is being kept. */
export interface Keeping {
  /** Called when the call is over: stores it. */
  end(): void
}
