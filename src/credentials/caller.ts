// `auth: caller`: a provider that receives the caller's own credential, and never another caller's.
import { CredentialError, type Credentials } from './credentials.ts'

/** Describes the credential that a call must send. */
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
  holdsSecret: () => false, // not a secret to the caller who sent it
})
