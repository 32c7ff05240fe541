// A request of the evidence as shell commands, against a witness that a person has started. Keys are variables with the
// names that they have in the evidence. Pure.
import type { Exchange } from '../evidence.ts'

/** Longer bodies are taken out of the evidence. */
const LONGEST = 2_000

export const CONTROL = 'http://127.0.0.1:9411'

/** Sends the request to the gateway again; `file` is the evidence of its check. */
export function curl({ n, request }: Pick<Exchange, 'n' | 'request'>, start: object, file: string): string {
  const { method, path, headers, body } = request
  const url = 'url' in start ? quoted(String(start.url) + path) : `"$GATEWAY"${quoted(path)}`
  const parts = Object.entries(headers).map(([name, value]) => ` \\\n  -H ${quoted(`${name}: ${value}`)}`)
  const data =
    body === null
      ? ''
      : body.length > LONGEST
        ? ` \\\n  --data-raw "$(jq -r '.exchanges[] | select(.n == ${n}) | .request.body' ${quoted(file)})"`
        : ` \\\n  --data-raw ${quoted(body)}`
  const how = method === 'GET' ? '' : method === 'HEAD' ? '--head ' : `-X ${method} `
  return `curl -i ${how}${url}${parts.join('')}${data}`
}

/** What the witness must be told before, so that it answers as it did; null where that was nothing. */
export function script({ nonce, script: answers }: Exchange): string | null {
  if (nonce === null || !answers) return null
  return `curl -X PUT ${CONTROL}/script/${nonce} --data-raw ${quoted(JSON.stringify(answers))}`
}

/** One word for a shell; the names of secrets become variables. */
const quoted = (word: string): string =>
  `'${word.replaceAll("'", `'\\''`)}'`
    .replace(/\[secret:([\w.-]+)\]/g, (_, name: string) => `'"$${variable(name)}"'`)
    .replace(/^''(?=.)|(?<=.)''$/g, '')

/** `key.client` -> `KEY_CLIENT`. */
const variable = (name: string): string => name.replace(/[^A-Za-z0-9]/g, '_').toUpperCase()
