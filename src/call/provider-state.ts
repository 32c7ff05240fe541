// Stored state works only at its own provider. The record names the provider if the state was made through
// this gateway. Without a record, only a route with a single provider of the dialect can serve the request.
// Independent of the dialect.

import { GatewayError } from '../core/errors.ts'
import type { ClientDialect } from '../dialects/dialect.ts'
import { type KeptReference, referencesIn } from '../dialects/kept.ts'
import type { Caller } from '../http/caller.ts'
import type { Admitted } from '../http/endpoint.ts'
import type { KeptConversation, Room } from '../responses-store/response-store.ts'
import type { ProviderState } from '../routing/choice.ts'
import type { Maker } from '../store/reads.ts'
import type { CallContext } from './context.ts'

/** Fields of the record that hold the ids. */
const FIELDS = { answer: 'response_id', container: 'container_id' } as const

export interface KeptState extends ProviderState {
  /** True if the state may change between calls. No answer to the request then comes from the cache. */
  readonly changes: boolean
}

/** Returns the memory of a call for what is loaded from the gateway's own store. */
export const roomOf = ({ slot }: Pick<Admitted, 'slot'>, { config }: Pick<CallContext, 'config'>): Room => ({
  limit: config.server.body_limit,
  take: (bytes) => slot.take(bytes),
})

/** State that a request names. */
export interface NamedState {
  /** Named state that a provider stores; null if there is none. */
  readonly kept: KeptState | null
  /** The continued conversation, if the gateway stores it; null otherwise. */
  readonly conversation: KeptConversation | null
}

/** Returns the state that a request names; null for a plain call, which names none. */
export function stateFor(
  { kept: kinds }: Pick<ClientDialect, 'kept'>,
  json: Readonly<Record<string, unknown>>,
  admitted: Pick<Admitted, 'caller' | 'slot'>,
  context: Pick<CallContext, 'config' | 'store' | 'router' | 'responses'>,
): Promise<NamedState> | null {
  const references = kinds ? referencesIn(kinds, json) : []
  return references.length > 0
    ? namedBy(references, admitted.caller, context, roomOf(admitted, context))
    : null
}

async function namedBy(
  references: readonly KeptReference[],
  caller: Caller,
  context: Pick<CallContext, 'store' | 'router' | 'responses'>,
  room: Room,
): Promise<NamedState> {
  const answer = references.find(({ kind }) => kind.onRecord === 'answer')
  const conversation = answer ? await conversationBefore(answer, caller, context, room) : null
  const [first, ...others] = conversation ? references.filter((each) => each !== answer) : references
  return { kept: first ? await keptFor([first, ...others], caller, context) : null, conversation }
}

/** Returns the conversation before a request. Throws an error from which clients can recover. */
async function conversationBefore(
  reference: KeptReference,
  caller: Caller,
  { responses }: Pick<CallContext, 'responses'>,
  room: Room,
): Promise<KeptConversation | null> {
  try {
    return (await responses?.conversation(reference.id, caller.name, room)) ?? null
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'response_unreadable') throw error
    throw refusalOf(reference)(error.message.replace(/\.$/, ''))
  }
}

/**
 * Returns the provider that can serve a request with these references, according to the record. Throws for an
 * unrecorded answer.
 */
async function keptFor(
  references: readonly [KeptReference, ...KeptReference[]],
  caller: Caller,
  { store: { calls }, router: { accountOf } }: Pick<CallContext, 'store' | 'router'>,
): Promise<KeptState> {
  let made: { readonly by: NonNullable<ProviderState['maker']>; readonly reference: KeptReference } | null =
    null
  for (const reference of references) {
    const { kind, id } = reference
    if (!kind.onRecord) continue
    const maker = await makerOf(kind.onRecord, id, caller, calls)
    if (!maker && kind.onRecord === 'answer')
      throw refusalOf(reference)('no answer with that id is on record')
    if (!maker) continue
    if (made && accountOf(made.by.provider) !== accountOf(maker.provider))
      throw refusalOf(reference)(
        `it came from ${maker.provider}, but ${made.reference.kind.what} from ${made.by.provider}`,
      )
    made ??= { by: kind.staysWithModel ? maker : { provider: maker.provider, model: null }, reference }
  }
  const of = made?.reference ?? references[0]
  const conversation = references.find(({ kind }) => kind.isConversation)
  return {
    what: of.kind.what,
    maker: made?.by ?? null,
    nativeOnly: conversation?.param ?? null,
    refusal: refusalOf(of),
    changes: references.some(({ kind }) => kind.changes),
  }
}

/**
 * Returns the provider, model and key that made an object; null if not recorded. Rejects with `not_found` for
 * a file of another key.
 */
async function makerOf(
  kind: NonNullable<KeptReference['kind']['onRecord']>,
  id: string,
  { name, role }: Caller,
  calls: CallContext['store']['calls'],
): Promise<Maker | null> {
  if (kind !== 'object') return calls.makerOf(FIELDS[kind], id, name)
  const [maker] = await calls.objectMakers([/files\/[^/]+$/.exec(id)?.[0] ?? id])
  if (!maker || role === 'admin' || maker.key_name === name) return maker ?? null
  throw new GatewayError('not_found', `No such file: '${id}'. No call of this key made it.`)
}

const refusalOf = ({ kind, id, param }: KeptReference): ProviderState['refusal'] =>
  kind.refusal ??
  ((why) =>
    new GatewayError(
      'state_provider_unknown',
      `${param}: ${kind.what} ${JSON.stringify(id.slice(0, 100))} is with one provider only, and ${why}. Ask for a model of that provider by its own id (provider/model), or send ${kind.instead}.`,
      { param },
    ))
