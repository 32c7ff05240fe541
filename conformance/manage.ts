// A target's management interface: the requests that set it up, and those that make it forget. Below its base URL, or
// at an address of its own.
import { send } from './client.ts'
import { at, jsonOf } from './reading.ts'
import { StartError } from './running.ts'
import type { Target } from './target.ts'
import { fill, type Values } from './template.ts'

/** How long a request may take, ms: a gateway that has just started, on a busy machine, still loads what it needs. */
const PATIENCE = 60_000

/** Sends the setup requests and fills what they gave into the rest of the target file. */
export async function setUp(
  template: Target,
  target: Target,
  values: Values,
  baseUrl: string,
): Promise<Target> {
  let known = values
  for (const step of template.setup) {
    const { keep, ...request } = fill(step, known)
    const body = await manage(`setup of ${target.name}`, request, baseUrl, target.ca)
    const kept = Object.entries(keep).map(([name, pointer]) => [name, String(at(jsonOf(body), pointer))])
    known = { ...known, ...Object.fromEntries(kept) }
  }
  return fill({ ...template, setup: [] }, known)
}

/** Sends a request to the management interface; the answer's body. Rejects with StartError where it is refused. */
export async function manage(
  what: string,
  { method, path, headers, body }: Target['reset'][number],
  baseUrl: string,
  ca?: string,
): Promise<string> {
  const outgoing = { method, headers: { 'content-type': 'application/json', ...headers } }
  const text = body === undefined ? null : JSON.stringify(body)
  const whole = path.startsWith('/') ? null : addressIn(what, path)
  const [base, below] = whole === null ? [baseUrl, path] : [whole.origin, whole.pathname + whole.search]
  const seen = await send(base, { ...outgoing, path: below, body: text }, PATIENCE, ca).done
  if (seen.status !== null && seen.status < 300) return seen.body
  throw new StartError(`${what}: ${method} ${path}: ${seen.status ?? seen.error}: ${seen.body.slice(0, 200)}`)
}

/** Rejects what is no address only now that its placeholders are filled in. */
export function addressIn(what: string, text: string): URL {
  if (URL.canParse(text) && /^https?:/.test(text)) return new URL(text)
  throw new StartError(`${what}: ${text} is no address; write one such as http://127.0.0.1:8080/path`)
}
