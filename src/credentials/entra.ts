// `auth: entra`: tokens of Microsoft Entra, for Azure. Microsoft's own library fetches them; it is loaded
// with the first call. The identity comes from the variables that all of Microsoft's programs read. Without
// these variables, the machine's managed identity is used.
import type { INetworkModule, NetworkRequestOptions, NetworkResponse } from '@azure/msal-node'
import { readBounded } from '../shared/bounded.ts'
import type { CredentialAnswer, Credentials } from './credentials.ts'
import { type Expiring, fetchJson, type Token, type TokenOptions, tokenCredentials } from './token.ts'

/** Maximum size of a file with a federated token, bytes. */
const MAX_ASSERTION_BYTES = 2 ** 16

/** Assumed validity of a token if the library does not report it, ms. */
const UNKNOWN_LIFE_MS = 10 * 60_000

export const entraCredentials = (
  provider: string,
  scope: string,
  { learn, now }: Pick<TokenOptions, 'learn' | 'now'>,
): Credentials =>
  tokenCredentials({
    ...{ name: 'entra', what: `${provider}: no token of Microsoft Entra`, explain, refusal, learn, now },
    fetch: () => fetchToken(scope, now),
  })

/** The library's own client reads answers of any length, and follows redirects with the secret. */
const networkClient: INetworkModule = {
  sendGetRequestAsync: <T>(url: string, { headers }: NetworkRequestOptions = {}) =>
    fetchJson(url, { method: 'GET', ...(headers && { headers }) }) as Promise<NetworkResponse<T>>,
  sendPostRequestAsync: <T>(url: string, { headers, body = '' }: NetworkRequestOptions = {}) =>
    fetchJson(url, { method: 'POST', body, ...(headers && { headers }) }) as Promise<NetworkResponse<T>>,
}

async function fetchToken(scope: string, now: () => number): Promise<Expiring<Token>> {
  const library = await import('@azure/msal-node')
  const { env } = process
  const { AZURE_CLIENT_ID: clientId, AZURE_TENANT_ID: tenant, AZURE_CLIENT_SECRET: clientSecret } = env
  const file = env.AZURE_FEDERATED_TOKEN_FILE
  const made =
    clientId && tenant && (clientSecret || file)
      ? await new library.ConfidentialClientApplication({
          auth: {
            clientId,
            authority: `${env.AZURE_AUTHORITY_HOST ?? 'https://login.microsoftonline.com'}/${tenant}`,
            ...(clientSecret
              ? { clientSecret }
              : {
                  clientAssertion: async () =>
                    readBounded(file!, MAX_ASSERTION_BYTES).toString('utf8').trim(),
                }),
          },
          system: { networkClient },
        }).acquireTokenByClientCredential({ scopes: [scope] })
      : await new library.ManagedIdentityApplication({
          managedIdentityIdParams: clientId ? { userAssignedClientId: clientId } : {},
          system: { networkClient },
        }).acquireToken({
          resource: scope.replace(/\/\.default$/, ''),
          forceRefresh: true, // the library's cache would return the refused token again
        })
  if (!made) throw new Error('no token')
  return {
    value: { token: made.accessToken },
    expiresAt: made.expiresOn?.getTime() ?? now() + UNKNOWN_LIFE_MS,
  }
}

function explain(error: unknown): string {
  const { message = '', code, errorCode } = error as NodeJS.ErrnoException & { errorCode?: string }
  if (code === 'ERR_MODULE_NOT_FOUND')
    return 'the library of Microsoft is not installed; install Waybill again'
  const [number] = /AADSTS\d+/.exec(message) ?? []
  if (number === 'AADSTS700024') return `this machine's clock is wrong (${number}); set it`
  if (number === 'AADSTS7000215' || number === 'AADSTS7000222')
    return `the client secret is wrong or has expired (${number}); make a new one`
  if (number !== undefined) return `Microsoft Entra refuses the sign-in (${number})`
  if (code === 'ENOENT') return 'the file that AZURE_FEDERATED_TOKEN_FILE names cannot be read'
  return `set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET, or use a machine with a managed identity (${errorCode ?? code ?? 'unknown error'})`
}

function refusal({ status, code }: CredentialAnswer): string | null {
  if (code === 'PermissionDenied' || status === 403)
    return 'the identity may not use this resource; it needs the role Cognitive Services OpenAI User there'
  return status === 401
    ? 'Azure refuses the token, also a new one; check the tenant of the identity, and `entra.scope`'
    : null
}
