// Stored state works only at its own provider. The record names the provider if the state was made through
// this gateway. Without a record, only a route with a single provider of the dialect can serve the request.
// Independent of the dialect.

import { GatewayError } from '../core/errors.ts'
import type { ClientDialect } from '../dialects/dialect.ts'
import { type KeptReference, objectName, referencesIn } from '../dialects/kept.ts'
import type { JsonBody } from '../http/body.ts'
import type { Caller } from '../http/caller.ts'
import type { Admitted } from '../http/endpoint.ts'
import type { ProviderState } from '../routing/choice.ts'
import type { KeptConversation, LoadingMemory } from '../store/kept.ts'
import type { Maker } from '../store/reads.ts'
import type { CallContext } from './context.ts'
import { mentionedIn, namedElsewhere, reach } from './objects.ts'

const NONE: readonly never[] = []

type StateContext = Pick<CallContext, 'config' | 'store' | 'router' | 'responses'>

export interface KeptState extends ProviderState {
  /** True if the state may change between calls. No answer to the request then comes from the cache. */
  readonly changes: boolean
}

/** Returns the memory of a call for what is loaded from the gateway's own store. */
export const roomOf = (
  { slot }: Pick<Admitted, 'slot'>,
  { config }: Pick<CallContext, 'config'>,
): LoadingMemory => ({
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

/**
 * Returns the state that a request names; null for a plain call, which names none. Rejects with `not_found` for an
 * object that the caller may not reach.
 */
export function stateFor(
  dialect: Pick<ClientDialect, 'kept'>,
  body: JsonBody,
  admitted: Pick<Admitted, 'caller' | 'slot'>,
  context: StateContext,
): Promise<NamedState> | null {
  const { caller } = admitted
  const found = referencesOf(dialect, body, caller)
  return found && namedBy(found, caller, context, roomOf(admitted, context))
}

/** State that the text of a request names. */
interface NamedInText {
  readonly references: readonly KeptReference[]
  readonly mentioned: readonly string[]
  readonly elsewhere: readonly string[]
}

/** Returns what a request names; null if it names nothing. */
export function referencesOf(
  { kept: kinds }: Pick<ClientDialect, 'kept'>,
  { text, json }: JsonBody,
  caller: Caller,
): NamedInText | null {
  const references = kinds ? referencesIn(kinds, json) : NONE
  const isClient = caller.role === 'client'
  const mentioned = (isClient && mentionedIn(text)) || NONE
  const elsewhere = isClient ? namedElsewhere(text) : NONE
  return references.length + mentioned.length + elsewhere.length > 0
    ? { references, mentioned, elsewhere }
    : null
}

async function namedBy(
  { references, elsewhere, mentioned }: NamedInText,
  caller: Caller,
  context: StateContext,
  room: LoadingMemory,
): Promise<NamedState> {
  const namesOf = (isShared: boolean) =>
    references.flatMap(({ kind, id }) =>
      kind.onRecord === 'object' && (kind.isShared ?? false) === isShared ? [objectName(id)] : [],
    )
  const makers = await reach(
    [...namesOf(false), ...elsewhere],
    [...namesOf(true), ...mentioned],
    caller,
    context,
  )
  const answer = references.find(({ kind }) => kind.onRecord === 'answer')
  const conversation = answer ? await conversationBefore(answer, caller, context, room) : null
  const [first, ...others] = conversation ? references.filter((each) => each !== answer) : references
  return { kept: first ? await keptFor([first, ...others], makers, caller, context) : null, conversation }
}

/** Returns the conversation before a request. Throws an error from which clients can recover. */
async function conversationBefore(
  reference: KeptReference,
  caller: Caller,
  { responses }: Pick<CallContext, 'responses'>,
  room: LoadingMemory,
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
  makers: ReadonlyMap<string, Maker>,
  caller: Caller,
  { store: { calls }, router: { accountOf } }: StateContext,
): Promise<KeptState> {
  let made: { readonly by: NonNullable<ProviderState['maker']>; readonly reference: KeptReference } | null =
    null
  for (const reference of references) {
    const { kind, id } = reference
    if (!kind.onRecord) continue
    const isAnswer = kind.onRecord === 'answer'
    const maker = isAnswer ? await calls.makerOf(id, caller.name) : makers.get(objectName(id))
    if (!maker && isAnswer) throw refusalOf(reference)('no answer with that id is on record')
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

const refusalOf = ({ kind, id, param }: KeptReference): ProviderState['refusal'] =>
  kind.refusal ??
  ((why) =>
    new GatewayError(
      'state_provider_unknown',
      `${param}: ${kind.what} ${JSON.stringify(id.slice(0, 100))} is with one provider only, and ${why}. Ask for a model of that provider by its own id (provider/model), or send ${kind.instead}.`,
      { param },
    ))
