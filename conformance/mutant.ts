// What a mutant is: the reference gateway with one thing bent, and the requirements whose checks must notice. The
// bending happens on the wire, in front of a gateway that is itself as it should be.
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import {
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { parse } from 'yaml'
import type { InProcess } from './connectors/inproc.ts'
import { startWaybill } from './targets/waybill.ts'

/** A client's request, on its way to the gateway. */
export interface Wanted {
  method: string
  path: string
  headers: IncomingHttpHeaders
  body: Buffer
}

/** An answer's head, on its way to the client. */
export interface Head {
  status: number
  headers: IncomingHttpHeaders
}

// biome-ignore lint/suspicious/noConfusingVoidType: a hook that changes nothing returns nothing
type MaybeAnswer = (Head & { body: string }) | undefined | void

/** What a bend can use. */
export interface World {
  /** Makes an inference at the witness that no client asked for, with the gateway's own provider key. */
  spend(more?: object): Promise<unknown>
  /** Asks the witness for its models. */
  list(): Promise<unknown>
  /** Asks the gateway behind the bend. */
  gateway(wanted: Wanted): Promise<Head & { body: string }>
  /** How many requests have come before. */
  readonly count: number
  /** The gateway's environment: its provider keys. */
  readonly env: Readonly<Record<string, string>>
  readonly directory: string
}

/** Each hook may change what it is given; what is not named stays as it is. */
export interface Bend {
  /** Before the gateway is asked; an answer that is returned here is given instead of its own. */
  request?(wanted: Wanted, world: World): MaybeAnswer | Promise<MaybeAnswer>
  head?(head: Head, wanted: Wanted, world: World): void
  /** Whole answers. */
  body?(body: string, wanted: Wanted, world: World): string | Promise<string>
  /** Streams, event by event, the blank line included; a list may be empty or longer. */
  event?(
    event: string,
    index: number,
    wanted: Wanted,
    world: World,
  ): readonly string[] | Promise<readonly string[]>
  /** When a stream was cut: what is sent in its place. */
  cut?(wanted: Wanted, world: World): Promise<string>
  /** Once, when it has started. */
  started?(world: World): void
  /** The client goes away and the gateway is not told. */
  readonly ignoresLeaving?: boolean
  /** The provider is read as fast as it sends, whatever the client does. */
  readonly ignoresSlowness?: boolean
  /** What goes wrong between the gateway and its providers: bytes of an answer as they come, or the request. */
  upstream?: {
    request?(wanted: Wanted, world: World): void
    chunk?(bytes: Buffer): Buffer | string
  }
  /** The end of an answer is made to look well, also where it broke. */
  readonly hidesCuts?: boolean
}

/** Where calls go. */
export const CHAT = '/v1/chat/completions'

/** The call as JSON; null for anything else. */
export function callIn({ method, path, body }: Wanted): Record<string, unknown> | null {
  if (method !== 'POST' || path !== CHAT) return null
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return null
  }
}

/** Changes the body of a call. */
export function changeCall(wanted: Wanted, change: (call: Record<string, unknown>) => object): void {
  const call = callIn(wanted)
  if (call) wanted.body = Buffer.from(JSON.stringify(change(call)))
}

/** Changes the JSON of an event of a stream; `[DONE]` and comments stay. */
export function changeEvent(
  event: string, // biome-ignore lint/suspicious/noExplicitAny: foreign JSON
  change: (json: Record<string, any>) => object | null,
): readonly string[] {
  const data = /^data: (\{.*)$/m.exec(event)?.[1]
  if (data === undefined) return [event]
  const changed = change(JSON.parse(data))
  return changed === null ? [] : [event.replace(data, () => JSON.stringify(changed))]
}

/** Changes a whole answer that is JSON. */
export function changeJson(
  body: string, // biome-ignore lint/suspicious/noExplicitAny: foreign JSON
  change: (json: Record<string, any>) => unknown,
): string {
  try {
    return JSON.stringify(change(JSON.parse(body)))
  } catch {
    return body
  }
}

export interface Mutant {
  /** One sentence: what is wrong with it. */
  readonly what: string
  /** The requirements whose checks must notice; each of them, not only one. */
  readonly kills: readonly string[]
  readonly start: InProcess['start']
}

/** The reference gateway behind a bend. */
export const bent =
  (bend: Bend): InProcess['start'] =>
  async (directory, env) => {
    const file = join(directory, 'waybill.yaml')
    const config = parse(readFileSync(file, 'utf8'))
    const provider = new URL(config.providers.openai.base_url).origin
    const between = bend.upstream ? await startBetween(provider, bend.upstream, () => world) : null
    if (between) writeFileSync(file, readFileSync(file, 'utf8').replaceAll(provider, between.origin))
    const { url, ...gateway } = await startWaybill(directory, { ...env, WAYBILL_PORT: '0' })
    let count = 0
    const world: World = {
      env,
      directory,
      get count() {
        return count
      },
      gateway: (wanted) => forward(url, wanted),
      list: () =>
        fetch(`${config.providers.openai.base_url}/models`, {
          headers: { authorization: `Bearer ${env.OPENAI_KEY}` },
        }).then((answer) => answer.text()),
      spend: (more = {}) => spend(config.providers.openai.base_url, env.OPENAI_KEY!, more),
    }
    const server = createServer(async (request, response) => {
      try {
        await pass(request, response, bend, world, url)
      } catch {
        response.destroy()
      }
      count++
    })
    server.listen(config.server.port, '127.0.0.1')
    await once(server, 'listening')
    bend.started?.(world)
    return {
      async close() {
        server.close()
        server.closeAllConnections()
        await gateway.close()
        between?.server.close()
        between?.server.closeAllConnections()
      },
    }
  }

/** A program that is no gateway at all, for the lazy ones. */
export const instead =
  (
    handle: (request: IncomingMessage, response: ServerResponse, world: Pick<World, 'env'>) => void,
  ): InProcess['start'] =>
  async (directory, env) => {
    const config = parse(readFileSync(join(directory, 'waybill.yaml'), 'utf8'))
    const server = createServer((request, response) => handle(request, response, { env }))
    server.listen(config.server.port, '127.0.0.1')
    await once(server, 'listening')
    return {
      async close() {
        server.close()
        server.closeAllConnections()
      },
    }
  }

/** Stands between the gateway and its providers. */
async function startBetween(provider: string, bend: NonNullable<Bend['upstream']>, world: () => World) {
  const server = createServer(async (request, response) => {
    try {
      const wanted = await read(request)
      bend.request?.(wanted, world())
      const upstream = open(provider, wanted)
      response.on('close', () => upstream.destroy())
      const [incoming] = (await once(upstream, 'response')) as [IncomingMessage]
      response.writeHead(incoming.statusCode!, incoming.headers)
      response.flushHeaders()
      for await (const piece of incoming) {
        const out = bend.chunk?.(piece as Buffer) ?? (piece as Buffer)
        if (!response.write(out)) await drained(response)
      }
      response.end()
    } catch {
      response.destroy()
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((done) => {
    const go = () => {
      response.off('drain', go).off('close', go)
      done()
    }
    response.on('drain', go).on('close', go)
  })
}

async function read(request: IncomingMessage): Promise<Wanted> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  return {
    method: request.method!,
    path: request.url!,
    headers: { ...request.headers },
    body: Buffer.concat(pieces),
  }
}

async function pass(
  request: IncomingMessage,
  response: ServerResponse,
  bend: Bend,
  world: World,
  url: string,
): Promise<void> {
  const wanted = await read(request)
  const instead = await bend.request?.(wanted, world)
  if (instead) {
    response.writeHead(instead.status, instead.headers).end(instead.body)
    return
  }
  const upstream = open(url, wanted)
  if (!bend.ignoresLeaving) response.on('close', () => upstream.destroy())
  const [incoming] = (await once(upstream, 'response')) as [IncomingMessage]
  const head: Head = { status: incoming.statusCode!, headers: { ...incoming.headers } }
  bend.head?.(head, wanted, world)
  const streamed = /event-stream/.test(incoming.headers['content-type'] ?? '')
  if (streamed) await passStream(incoming, response, head, wanted, bend, world)
  else await passWhole(incoming, response, head, wanted, bend, world)
}

async function passWhole(
  incoming: IncomingMessage,
  response: ServerResponse,
  head: Head,
  wanted: Wanted,
  bend: Bend,
  world: World,
): Promise<void> {
  const pieces: Buffer[] = []
  for await (const piece of incoming) pieces.push(piece as Buffer)
  const whole = Buffer.concat(pieces)
  const body = bend.body ? Buffer.from(await bend.body(whole.toString('utf8'), wanted, world)) : whole
  if (wanted.method !== 'HEAD' && head.headers['content-length'] !== undefined)
    head.headers['content-length'] = String(body.length)
  response.writeHead(head.status, head.headers).end(body)
}

async function passStream(
  incoming: IncomingMessage,
  response: ServerResponse,
  head: Head,
  wanted: Wanted,
  bend: Bend,
  world: World,
): Promise<void> {
  response.writeHead(head.status, head.headers)
  response.flushHeaders()
  const write = async (text: string | Buffer) => {
    if (!response.write(text) && !bend.ignoresSlowness && !response.destroyed) await drained(response)
  }
  let index = 0
  let rest = ''
  const decoder = new TextDecoder()
  try {
    for await (const piece of incoming) {
      if (!bend.event) {
        await write(piece as Buffer)
        continue
      }
      rest += decoder.decode(piece as Buffer, { stream: true })
      const parts = rest.split(/(?<=\r?\n\r?\n)/)
      rest = /\n\r?\n$/.test(parts.at(-1)!) ? '' : parts.pop()!
      for (const event of parts)
        for (const out of await bend.event(event, index++, wanted, world)) await write(out)
    }
  } catch (cut) {
    if (!bend.hidesCuts && !bend.cut) throw cut
    await write((await bend.cut?.(wanted, world)) ?? 'data: [DONE]\n\n')
  }
  if (rest) await write(rest)
  response.end()
}

function open(url: string, { method, path, headers, body }: Wanted) {
  const { hostname, port } = new URL(url)
  const { 'transfer-encoding': _, ...rest } = headers
  const sent = {
    ...rest,
    host: `${hostname}:${port}`,
    ...(body.length > 0 && { 'content-length': String(body.length) }),
  }
  const request = httpRequest({ hostname, port, method, path, headers: sent, agent: false })
  request.on('error', () => {})
  request.end(body)
  return request
}

async function forward(url: string, wanted: Wanted): Promise<Head & { body: string }> {
  const [incoming] = (await once(open(url, wanted), 'response')) as [IncomingMessage]
  const pieces: Buffer[] = []
  for await (const piece of incoming) pieces.push(piece as Buffer)
  return {
    status: incoming.statusCode!,
    headers: incoming.headers,
    body: Buffer.concat(pieces).toString('utf8'),
  }
}

const spend = (baseUrl: string, key: string, more: object) =>
  fetch(`${baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({
      model: 'gpt-5-mini',
      messages: [{ role: 'user', content: 'nobody asked' }],
      ...more,
    }),
  }).then((answer) => answer.text())
