// Target's management interface: requests that set up or reset the target, below its base URL or at another
// address.
import { holdsCredential } from '../../src/shared/plain-address.ts'
import { type Seen, sendRequest } from '../evidence/http-client.ts'
import { at, jsonOf } from '../evidence/reading.ts'
import type { Target } from '../target/schema.ts'
import { fillIn, type Values } from '../target/template.ts'
import { StartError } from './instance.ts'

/** Maximum duration of a request, ms; long because a gateway on a busy machine may still be loading. */
const REQUEST_TIMEOUT_MS = 60_000

/**
 * Sends the setup requests and fills in the rest of the target file from their answers. A cookie is a secret.
 */
export async function setUp(
  template: Target,
  target: Target,
  values: Values,
  baseUrl: string,
  secrets: Map<string, string>,
): Promise<Target> {
  let known = values
  for (const step of template.setup) {
    const { keep, keep_headers, ...request } = fillIn(step, known)
    const what = `setup of ${target.name}`
    const { body, headers } = await manage(what, request, baseUrl, target.ca)
    const keeps = (name: string, place: string, value: unknown): void => {
      if (value == null)
        throw new StartError(
          `${what}: ${request.method} ${request.path}: nothing at ${place}: ${body.slice(0, 200)}`,
        )
      known = { ...known, [name]: String(value) }
    }
    for (const [name, pointer] of Object.entries(keep)) keeps(name, pointer, at(jsonOf(body), pointer))
    for (const [name, header] of Object.entries(keep_headers)) {
      const value = keptFrom(headers, header)
      keeps(name, header, value)
      if (isCookie(header)) secrets.set(name, value!.slice(value!.indexOf('=') + 1))
    }
  }
  return fillIn({ ...template, setup: [] }, known)
}

const isCookie = (header: string): boolean => header.toLowerCase() === 'set-cookie'

/** Returns a header for the next request. Of a cookie, it contains only the name and the value. */
const keptFrom = (headers: Readonly<Record<string, string>>, header: string): string | undefined => {
  const value = headers[header.toLowerCase()]
  return isCookie(header) ? value?.split(';')[0] : value
}

/**
 * Sends a request to the management interface and returns its answer. Rejects with StartError if the request
 * is refused.
 */
export async function manage(
  what: string,
  { method, path, headers, body }: Target['reset'][number],
  baseUrl: string,
  ca?: string,
): Promise<Pick<Seen, 'body' | 'headers'>> {
  const outgoing = { method, headers: { 'content-type': 'application/json', ...headers } }
  const text = body === undefined ? null : JSON.stringify(body)
  const whole = path.startsWith('/') ? null : addressIn(what, path)
  const [base, below] = whole === null ? [baseUrl, path] : [whole.origin, whole.pathname + whole.search]
  const seen = await sendRequest(base, { ...outgoing, path: below, body: text }, REQUEST_TIMEOUT_MS, { ca })
    .done
  if (seen.status !== null && seen.status < 300) return seen
  throw new StartError(`${what}: ${method} ${path}: ${seen.status ?? seen.error}: ${seen.body.slice(0, 200)}`)
}

/** Parses an address, after its placeholders are filled in. */
function addressIn(what: string, text: string): URL {
  if (URL.canParse(text) && /^https?:/.test(text)) return new URL(text)
  throw new StartError(`${what}: ${text} is not an address; write one such as http://127.0.0.1:8080/path`)
}

/** Refuses the address of a gateway if it may hold a credential, because results and reports show it. */
export function checkBase(what: string, text: string): void {
  addressIn(what, text)
  if (holdsCredential(text))
    throw new StartError(
      `${what}: its address must not contain a user, a password, a query or a fragment; name the variable of the key in key_env`,
    )
}
