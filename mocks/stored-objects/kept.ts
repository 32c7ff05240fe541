// Objects that a provider stores, each for the account that made it, in order of creation.
import { randomBytes } from 'node:crypto'
import { type MockAnswer, wholeAnswer } from '../answer.ts'
import type { MockProvider, ObjectStore, RefusedRequest } from '../provider.ts'
import { refusalOf } from '../scenarios/scenario.ts'

/** Reads of a batch until it has ended; the same number as for a background response. */
export const READS_UNTIL_ENDED = 2

/** Maximum objects of one kind, and bytes of their content; the oldest objects are dropped first. */
const MAX_OBJECTS = 1_000
const MAX_CONTENT_BYTES = 64 * 2 ** 20

interface Kept<Value> {
  readonly account: string | null
  readonly value: Value
  readonly bytes: number
}

export class KeptObjects<Value> {
  readonly #kept = new Map<string, Kept<Value>>()
  #bytes = 0

  add(id: string, account: string | null, value: Value, bytes = 0): void {
    this.#kept.set(id, { account, value, bytes })
    this.#bytes += bytes
    for (const [oldest] of this.#kept) {
      if (this.#kept.size <= MAX_OBJECTS && this.#bytes <= MAX_CONTENT_BYTES) break
      this.#drop(oldest)
    }
  }

  /** Returns an account's object; null if the account has none with this id. */
  find(id: string, account: string | null): Value | null {
    const found = this.#kept.get(id)
    return found?.account === account ? found.value : null
  }

  /** Returns an account's objects, newest first. */
  all(account: string | null): Value[] {
    return [...this.#kept.values()]
      .filter((each) => each.account === account)
      .map(({ value }) => value)
      .reverse()
  }

  /** Removes an account's object. Returns false if the account has none with this id. */
  remove(id: string, account: string | null): boolean {
    return this.find(id, account) !== null && this.#drop(id)
  }

  #drop(id: string): boolean {
    this.#bytes -= this.#kept.get(id)?.bytes ?? 0
    return this.#kept.delete(id)
  }
}

/** Objects that the providers store for one test. */
export class ObjectStores {
  readonly #stores = new Map<string, ObjectStore>()

  of({ name, objectStore }: MockProvider): ObjectStore {
    const there = this.#stores.get(name) ?? objectStore!()
    this.#stores.set(name, there)
    return there
  }

  clear(): void {
    this.#stores.clear()
  }
}

/** Returns a unique id, as long as the provider's ids. */
export const objectId = (prefix: string, length: number): string =>
  prefix + randomBytes(length).toString('base64url').replace(/[-_]/g, 'x').slice(0, length)

export const keptAnswer = (body: unknown, headers: Readonly<Record<string, string>> = {}): MockAnswer =>
  wholeAnswer('kept', 200, body, headers)

export const keptBytes = (bytes: Uint8Array, headers: Readonly<Record<string, string>>): MockAnswer => ({
  ...{ from: 'kept', status: 200, headers, parts: [bytes] },
})

export const refusedWith = (refusal: RefusedRequest): MockAnswer => ({
  ...refusalOf(refusal),
  from: 'refusal',
})

/**
 * Returns a page of at most `limit` objects, starting after the object `after`; null if there is no such
 * object.
 */
export function pageAfter<Value extends { readonly id: string }>(
  all: readonly Value[],
  after: string | null,
  limit: number,
): { readonly data: readonly Value[]; readonly has_more: boolean } | null {
  const at = after === null ? 0 : all.findIndex(({ id }) => id === after) + 1
  if (after !== null && at === 0) return null
  return { data: all.slice(at, at + limit), has_more: all.length > at + limit }
}

/** Returns a number in a query, within its range; null if it is not a number. */
export function numberIn(query: URLSearchParams, name: string, usual: number, max: number): number | null {
  const text = query.get(name)
  if (text === null) return usual
  return /^[1-9]\d{0,5}$/.test(text) && Number(text) <= max ? Number(text) : null
}
