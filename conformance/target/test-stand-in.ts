// Mock of a gateway that cannot be installed here: serves chat at the paths of its target file. It sends each
// model to the target in the file, if the gateway's own configuration has the address and key of that
// provider. Proves that a target file is complete, but nothing about the gateway.
import { readdirSync, readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Target } from './schema.ts'

/** Settings of the mock gateway, from its environment. */
interface StandIn {
  readonly port: number
  readonly base_path: string
  readonly ready: Target['ready']
  readonly models: Target['models']
  /** Providers: name -> address and key at the mock. */
  readonly providers: Readonly<Record<string, { readonly base_url: string; readonly key: string }>>
  readonly host: string
}

const { port, base_path, ready, models, providers, host } = JSON.parse(process.env.STAND_IN!) as StandIn
const configuration = [
  ...readdirSync('.').map((file) => readFileSync(file, 'utf8')),
  ...Object.entries(process.env).flatMap(([name, value]) => (name === 'STAND_IN' ? [] : value)),
].join('\n')

const targetsOf = (id: string) =>
  models.logical.find((each) => each.id === id)?.targets ?? models.direct.filter((each) => each.id === id)

const error = (status: number, message: string) => ({ status, body: JSON.stringify({ error: { message } }) })

/** Returns the reason why a provider cannot be called with the gateway's own configuration; null if it can. */
function lacks(provider: string): string | null {
  if (!configuration.includes(host)) return 'the address of the mock'
  return configuration.includes(providers[provider]!.key) ? null : `the key of ${provider}`
}

/** Calls the targets in order until one answers. */
async function route(body: string): Promise<IncomingMessage | ReturnType<typeof error>> {
  const { model, ...more } = JSON.parse(body) as { model: string }
  let last: IncomingMessage | ReturnType<typeof error> = error(404, `no model ${model}`)
  for (const { provider, model: name } of targetsOf(model)) {
    const missing = lacks(provider)
    if (missing) return error(500, `the configuration lacks ${missing}`)
    const { base_url, key } = providers[provider]!
    const asked = request(`${base_url}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    })
    asked.end(JSON.stringify({ model: name, ...more }))
    last = await new Promise((done, fail) => asked.on('response', done).on('error', fail))
    if ((last as IncomingMessage).statusCode! < 500) return last
  }
  return last
}

createServer(async (incoming, outgoing) => {
  const path = incoming.url!.replace(base_path, '')
  if (incoming.method !== 'POST') {
    const status = path === ready.path ? [ready.status].flat()[0]! : 200
    const data = [...models.logical, ...models.direct].map(({ id }) => ({ id, object: 'model' }))
    outgoing.writeHead(status, { 'content-type': 'application/json' })
    outgoing.end(JSON.stringify({ object: 'list', data }))
    return
  }
  const answer = path === '/v1/chat/completions' ? await route(await text(incoming)) : error(404, path)
  if ('body' in answer) {
    outgoing.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.body)
    return
  }
  outgoing.writeHead(answer.statusCode!, { 'content-type': answer.headers['content-type'] ?? 'text/plain' })
  answer.on('error', () => outgoing.destroy()).pipe(outgoing)
}).listen(port, '127.0.0.1')
