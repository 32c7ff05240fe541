// The caller's own credential. Leaves out targets that need it if the call has none, and masks it in all output.
// Independent of the dialect.
import { type Route, type Target, withoutTargets } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import { callerCredentialMissing } from '../credentials/caller.ts'
import type { CallerCredential } from '../credentials/caller-credential.ts'
import type { CallContext } from './context.ts'

/** Returns true if a target uses the caller's own credential. */
const takesCallers = ({ provider }: Target, { providers }: Pick<CallContext, 'providers'>): boolean =>
  providers.get(provider)!.credentials.areCallers

/** Returns true if the call may go to a provider with the caller's own credential. */
export const mayUseCallers = (route: Route, context: Pick<CallContext, 'providers'>): boolean =>
  route.candidates.some((target) => takesCallers(target, context))

/**
 * Returns the route. If the call has no credential, leaves out the targets that need one. Throws if no target is
 * left.
 */
export function withoutCredentialless(
  route: Route,
  credential: CallerCredential | null | undefined,
  context: Pick<CallContext, 'providers'>,
): Route {
  if (credential || !mayUseCallers(route, context)) return route
  return withoutTargets(
    route,
    (target) => (takesCallers(target, context) ? "needs the caller's own credential" : null),
    () =>
      new GatewayError(
        'invalid_api_key',
        `No credential for ${callerCredentialMissing(route.candidates[0].provider)}.`,
      ),
  )
}

/** Returns a context that masks the caller's own credential in the same way as the operator's keys. */
export const maskingOwn = (
  context: CallContext,
  credential: CallerCredential | null | undefined,
): CallContext =>
  credential ? { ...context, mask: (text) => context.mask(credential.masked(text)) } : context
