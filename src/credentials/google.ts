// `auth: google`: tokens of Google's application-default credentials, for Vertex AI. Google's own library finds
// them and fetches tokens; it is loaded with the first call.
import type { CredentialAnswer, Credentials } from './credentials.ts'
import { type Expiring, type Token, type TokenOptions, tokenCredentials } from './token.ts'

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform'

/** Assumed validity of a token if the library does not report it, ms. */
const UNKNOWN_LIFE_MS = 10 * 60_000

export const googleCredentials = (
  provider: string,
  { learn, now }: Pick<TokenOptions, 'learn' | 'now'>,
): Credentials =>
  tokenCredentials({
    ...{ name: 'google', what: `${provider}: no token of Google`, explain, refusal, learn, now },
    fetch: () => fetchToken(now),
  })

async function fetchToken(now: () => number): Promise<Expiring<Token>> {
  const { GoogleAuth } = await import('google-auth-library')
  // Without a project, the library would request one, which nothing here needs.
  const client = await new GoogleAuth({ scopes: SCOPE, projectId: 'none' }).getClient()
  const { token } = await client.getAccessToken()
  if (!token) throw new Error('no token')
  const { quotaProjectId: project, credentials } = client
  return {
    value: { token, ...(project && { headers: ['x-goog-user-project', project] }) },
    expiresAt: credentials.expiry_date ?? now() + UNKNOWN_LIFE_MS,
  }
}

function explain(error: unknown): string {
  const { message = '', code } = error as NodeJS.ErrnoException
  if (code === 'ERR_MODULE_NOT_FOUND') return 'the library of Google is not installed; install Waybill again'
  if (/iat and exp/i.test(message)) return "this machine's clock is wrong; set it"
  if (/invalid_grant|invalid_rapt/.test(message))
    return 'the login has expired or was revoked; run `gcloud auth application-default login`'
  if (/default credentials/i.test(message))
    return 'there are no application-default credentials; run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS'
  if (/credential file|ENOENT|does not exist/i.test(message))
    return 'the file that GOOGLE_APPLICATION_CREDENTIALS names cannot be read'
  return `Google’s endpoint did not give one (${code ?? 'unknown error'})`
}

function refusal({ status }: CredentialAnswer): string | null {
  if (status === 401)
    return 'Google refuses the token, also a new one; check which account the application-default credentials are of'
  return status === 403
    ? 'the account may not use this model; it needs the role Vertex AI User (roles/aiplatform.user) in the project, and the model must be enabled there'
    : null
}
