// Formats a request of the evidence as shell commands, for use with a mock that the user has started. Keys
// become variables with the evidence's names. Pure.
import type { Exchange } from '../evidence/evidence.ts'

/** Maximum characters of a body in a command; a longer body is read from the evidence. */
const MAX_BODY_LENGTH = 2_000

export const CONTROL = 'http://127.0.0.1:9411'

/** Returns commands that repeat the request to the gateway; `file` is the evidence of its check. */
export function curl({ n, request }: Pick<Exchange, 'n' | 'request'>, start: object, file: string): string {
  const { method, path, headers, body } = request
  const url = 'url' in start ? quoted(String(start.url) + path) : `"$GATEWAY"${quoted(path)}`
  const parts = Object.entries(headers).map(([name, value]) => ` \\\n  -H ${quoted(`${name}: ${value}`)}`)
  const data =
    body === null
      ? ''
      : body.length > MAX_BODY_LENGTH
        ? ` \\\n  --data-raw "$(jq -r '.exchanges[] | select(.n == ${n}) | .request.body' ${quoted(file)})"`
        : ` \\\n  --data-raw ${quoted(body)}`
  if (method === 'WEBSOCKET')
    return `npx wscat -c ${url}${parts.join('')}${data.replace('--data-raw', '-x')} -w 5`
  const how = method === 'GET' ? '' : method === 'HEAD' ? '--head ' : `-X ${method} `
  return `curl -i ${how}${url}${parts.join('')}${data}`
}

/** Returns the command that scripts the same answer in the mock; null without a script. */
export function scriptCommand({ nonce, script: answers }: Exchange): string | null {
  if (nonce === null || !answers) return null
  return `curl -X PUT ${CONTROL}/script/${nonce} --data-raw ${quoted(JSON.stringify(answers))}`
}

/** Quotes a word for a shell; names of secrets become variables. */
const quoted = (word: string): string =>
  `'${word.replaceAll("'", `'\\''`)}'`
    .replace(/\[secret:([\w.-]+)\]/g, (_, name: string) => `'"$${variable(name)}"'`)
    .replace(/^''(?=.)|(?<=.)''$/g, '')

/** Returns the variable of a secret: `key.client` -> `KEY_CLIENT`. */
const variable = (name: string): string => name.replace(/[^A-Za-z0-9]/g, '_').toUpperCase()
