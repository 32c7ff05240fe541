// Finds the route of a request by its model, its needs, its session and its key's budget. Reaches no provider
// and writes nothing. Reserves the budget.

import type { Purpose, Route } from '../core/call.ts'
import type { ClientRequest } from '../dialects/client-request.ts'
import type { ClientDialect, ReadRequest } from '../dialects/dialect.ts'
import type { JsonBody } from '../http/body.ts'
import { agentOf, purposeOf, sessionOf } from '../http/client.ts'
import type { Admitted } from '../http/endpoint.ts'
import type { Routed } from '../routing/router.ts'
import type { CallContext } from './context.ts'
import { withoutLossy } from './on-loss.ts'
import { othersIn, withoutOtherModels } from './other-models.ts'
import { withoutCredentialless } from './own-credential.ts'
import type { KeptState } from './provider-state.ts'
import { unknownModel } from './unknown-model-error.ts'
import { smallLast } from './window.ts'

/** A request with its route. */
export interface RoutedRequest {
  readonly request: ClientRequest
  readonly route: Route
  readonly tracker: Routed['tracker']
  readonly sessionId: string | null
  /**
   * Session, or a name derived from the beginning of the conversation. Selects one of the provider's keys.
   */
  readonly conversation: string | null
  readonly agentId: string | null
  readonly purpose: Purpose
  /** True if the provider's id for the answer is recorded. */
  readonly keepsAnswer: boolean
  /** True if the answer may come from the cache. */
  readonly isRepeatable: boolean
}

/**
 * Finds the route. Returns a promise only if other gateways must be asked. `kept`: state that only one
 * provider has.
 */
export function findRoute(
  dialect: ClientDialect,
  { json }: JsonBody,
  read: ReadRequest,
  kept: KeptState | null,
  { request: { headers }, requestId: callId, caller }: Admitted,
  context: CallContext,
): RoutedRequest | Promise<RoutedRequest> {
  const { request, sessionHints, keepsAnswer = true, noKeeper } = read
  const purpose = read.purpose ?? purposeOf(headers, read.traits)
  const traits = Object.assign(read.traits, { purpose, client: context.clientOf(headers) })
  const sessionId = sessionOf(headers, sessionHints)
  const agentId = agentOf(headers)
  const keyName = caller.name
  const { name, staysWithModel } = dialect
  const routed = context.router.route(request.model, {
    ...{ dialect: name, staysWithModel, sessionId, agentId, purpose, keyName, traits, kept, noKeeper },
  })
  if (!routed) throw unknownModel(request.model)
  const { tracker, conversation } = routed
  const isRepeatable = !noKeeper && !kept?.changes && !request.lost
  const found = (route: Route): RoutedRequest => ({
    ...{ request, route, tracker, sessionId, conversation, agentId, purpose, keepsAnswer, isRepeatable },
  })
  try {
    const sized = smallLast(routed.route, { text: request.text, json, traits }, context.providers)
    const usable = withoutCredentialless(sized, caller.credential, context)
    const others = othersIn(json, request, name, context)
    const relayed = withoutOtherModels(usable, others, context)
    const allowed = withoutLossy(relayed, request, dialect, context)
    const reserved = context.limits.reserve({
      ...{ callId, keyName, sessionId, route: allowed, traits, body: json, others },
    })
    if (!(reserved instanceof Promise)) return found(reserved)
    return reserved.then(found, (error) => {
      tracker.over()
      throw error
    })
  } catch (error) {
    tracker.over()
    throw error
  }
}
