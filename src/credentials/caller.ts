// `auth: caller`: a provider that gets the caller's own credential, and never anybody else's.
import { CredentialError, type Credentials } from './credentials.ts'

/** Says what a call without a credential of its own has to send. */
export const callerCredentialMissing = (provider: string): string =>
  `${provider} takes the caller's own credential: send the gateway's key as X-Gateway-Key, and your own as \`Authorization\` or \`x-api-key\``

export const callersOwn = (provider: string): Credentials => ({
  areCallers: true,
  take({ caller }) {
    if (!caller) throw new CredentialError(callerCredentialMissing(provider))
    return {
      key: null,
      complete: (request) => ({ ...request, headers: [...request.headers, ...caller.forProvider()] }),
    }
  },
  holdsSecret: () => false, // from its own sender it is no secret
})
