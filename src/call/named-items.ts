// Items of earlier answers that a request only names, as clients do that rely on stored answers. The gateway
// answers for the ids that it gave out, since no provider knows them: it has the item in memory, in its own
// store, or names it as lost. It also knows the items of providers whose answers it stores. Independent of the
// dialect.
import { GatewayError } from '../core/errors.ts'
import type { AnswerStoring, NamedItems } from '../dialects/dialect.ts'
import type { JsonBody } from '../http/body.ts'
import type { Admitted } from '../http/endpoint.ts'
import type { CallContext } from './context.ts'
import type { GivenItem } from './given-items.ts'
import { roomOf } from './provider-state.ts'

/** Maximum stored answers that are read for one request, the newest first. Items of others are lost. */
const MAX_READ = 256

/** A request with items in place of their ids. */
export interface WithItems {
  /** Body for any provider. */
  readonly body: JsonBody
  /** Request that `keeper` accepts, in which its own items are only named; null if there is no such provider. */
  readonly kept: { readonly keeper: string; readonly text: string } | null
  /** True if an item is lost. */
  readonly isLossy: boolean
}

type Sources = Pick<CallContext, 'config' | 'items' | 'responses'>

/**
 * Returns a request with the items that it names, as far as the gateway answers for them. Null if there are
 * none, as in most requests. Rejects if the whole request is too large.
 */
export function withNamedItems(
  { named }: AnswerStoring,
  body: JsonBody,
  admitted: Pick<Admitted, 'caller' | 'slot'>,
  sources: Sources,
): Promise<WithItems | null> | null {
  const ids = named.in(body.json)
  return ids.length === 0 ? null : writtenOut(named, body, new Set(ids), admitted, sources)
}

async function writtenOut(
  named: NamedItems,
  body: JsonBody,
  ids: ReadonlySet<string>,
  admitted: Pick<Admitted, 'caller' | 'slot'>,
  { config, items, responses }: Sources,
): Promise<WithItems | null> {
  const { name: keyName } = admitted.caller
  const room = roomOf(admitted, { config })
  const read = new Set<string>()
  const stored = new Map<string, GivenItem>()
  const found = new Map<string, GivenItem | null>()
  for (const id of [...ids].reverse()) {
    const answerId = named.answerOf(id)
    if (answerId !== null && !items.get(id, keyName) && !read.has(answerId) && read.size < MAX_READ) {
      read.add(answerId)
      const kept = await responses?.find(answerId, keyName, room).catch(unreadable)
      const origin = { answerId, keyName, keeper: null }
      if (kept) items.add(kept.output, named, origin)
      for (const item of kept?.output ?? []) stored.set(named.idOf(item) ?? '', { ...origin, item })
    }
    const given = items.get(id, keyName) ?? stored.get(id)
    if (given || answerId !== null) found.set(id, given ?? null)
  }
  if (found.size === 0) return null
  refuseTooLarge(body, named.in(body.json), found, config.server.body_limit)
  const itemsOf = (isWrittenOut: (given: GivenItem | null) => boolean) =>
    new Map([...found].flatMap(([id, given]) => (isWrittenOut(given) ? [[id, given?.item ?? null]] : [])))
  const text = named.writtenOut(
    body.text,
    itemsOf(() => true),
  )
  const keepers = new Set([...found.values()].flatMap((given) => given?.keeper ?? []))
  const [keeper] = keepers
  const kept = keeper !== undefined && keepers.size === 1
  const isOwn = (given: GivenItem | null) => (given?.keeper ?? null) === null
  return {
    body: { ...body, text, json: JSON.parse(text) },
    kept: kept ? { keeper, text: named.writtenOut(body.text, itemsOf(isOwn)) } : null,
    isLossy: [...found.values()].includes(null),
  }
}

/** Refuses a request that would be too large with its items, because one id may be repeated many times. */
function refuseTooLarge(
  { text }: JsonBody,
  ids: readonly string[],
  found: ReadonlyMap<string, GivenItem | null>,
  limit: number,
): void {
  const size = ids.reduce((sum, id) => sum + (found.get(id)?.item.length ?? 0), text.length)
  if (size > limit)
    throw new GatewayError(
      'body_too_large',
      `The request is larger than ${limit} bytes with the items that it names. Send fewer items.`,
    )
}

/** An answer that was encrypted with another key is lost. */
function unreadable(error: unknown): null {
  if (error instanceof GatewayError && error.code === 'response_unreadable') return null
  throw error
}
