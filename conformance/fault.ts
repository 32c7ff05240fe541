// What a fault is: the reference gateway with one thing wrong, and the requirements whose checks must notice. The
// fault is put around a gateway that is itself correct: on the wire, in its configuration, in its files.
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { parse } from 'yaml'
import type { InProcess } from './connectors/inproc.ts'
import { forward, pass, type ResponseStart, startBetween, type Wanted } from './fault-wire.ts'
import { startWaybill } from './targets/waybill.ts'

// biome-ignore lint/suspicious/noConfusingVoidType: a hook that changes nothing returns nothing
type MaybeAnswer = (ResponseStart & { body: string }) | undefined | void

/** What a fault can use. */
export interface World {
  /** Makes an inference at the witness that no client asked for, with the gateway's own provider key. */
  spend(more?: object): Promise<unknown>
  /** Asks the witness for its models. */
  list(): Promise<unknown>
  /** Asks the gateway behind the hooks. */
  gateway(wanted: Wanted): Promise<ResponseStart & { body: string }>
  /** How many requests have come before. */
  readonly count: number
  /** The gateway's environment: its provider keys. */
  readonly env: Readonly<Record<string, string>>
  readonly directory: string
}

/** Each hook may change what it is given; what is not named stays as it is. */
export interface FaultHooks {
  /** Before the gateway is asked; an answer that is returned here is given instead of its own. */
  request?(wanted: Wanted, world: World): MaybeAnswer | Promise<MaybeAnswer>
  responseStart?(start: ResponseStart, wanted: Wanted, world: World): void
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
  /** What it reads instead of its configuration file; then a change of the file is not seen. */
  config?(text: string): string
  /** What becomes of its data directory before it starts, and starts again. */
  before?(data: string): void
  /** Once, when it has started. */
  started?(world: World): void
  /** When it is told to end, before it does; `cut` breaks all connections. */
  stopping?(cut: () => void): void | Promise<void>
  /** The client goes away and the gateway is not told. */
  readonly ignoresLeaving?: boolean
  /** The provider is read as fast as it sends, whatever the client does. */
  readonly ignoresSlowness?: boolean
  /** What goes wrong between the gateway and its providers: bytes of an answer as they come, or the request. */
  upstream?: {
    request?(wanted: Wanted, world: World): void
    responseStart?(start: ResponseStart, world: World): void
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

/** The body hook that changes the JSON of answers to paths that begin like this. */
export const onRead =
  (
    prefix: string, // biome-ignore lint/suspicious/noExplicitAny: foreign JSON
    change: (json: Record<string, any>) => unknown,
  ): NonNullable<FaultHooks['body']> =>
  (body, { path }) =>
    path.startsWith(prefix) ? changeJson(body, change) : body

/** An answer that is an error. */
export const failed = (status: number) => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: '{"error":{"message":"not now"}}',
})

/** One row of a table in faults/. */
export type Fault = {
  /** One sentence: what is wrong. */
  readonly what: string
  /** The requirements whose checks must notice, or findings such as `LOG-02/cost`; each of them, not only one. */
  readonly caughtBy: readonly string[]
  /** Only an idle window of full length shows it. */
  readonly patient?: boolean
  /** Run as a process of its own: for what only a killed process shows. */
  readonly asCommand?: boolean
} & (
  | {
      /** What happens around the reference gateway; a function where each start has a state of its own. */
      readonly hooks: FaultHooks | (() => FaultHooks)
    }
  | { readonly start: InProcess['start'] }
)

/** Starts the gateway that has this fault. */
export const startOf = (fault: Fault): InProcess['start'] => {
  if ('start' in fault) return fault.start
  const { hooks } = fault
  return referenceWith(typeof hooks === 'function' ? hooks() : hooks)
}

/** The reference gateway behind a hooks. */
export const referenceWith =
  (hooks: FaultHooks): InProcess['start'] =>
  async (directory, env) => {
    const text = readFileSync(join(directory, 'waybill.yaml'), 'utf8')
    const config = parse(text)
    hooks.before?.(config.data)
    const provider = new URL(config.providers.openai.base_url).origin
    const between = hooks.upstream ? await startBetween(provider, hooks.upstream, () => world) : null
    const file = hooks.config || between ? 'changed.yaml' : 'waybill.yaml'
    if (file === 'changed.yaml') {
      const changed = hooks.config?.(text) ?? text
      writeFileSync(join(directory, file), between ? changed.replaceAll(provider, between.origin) : changed)
    }
    const { url, ...gateway } = await startWaybill(directory, { ...env, WAYBILL_PORT: '0' }, file)
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
        await pass(request, response, hooks, world, url)
      } catch {
        response.destroy()
      }
      count++
    })
    server.listen(Number(env.WAYBILL_PORT ?? config.server.port), '127.0.0.1')
    await once(server, 'listening')
    hooks.started?.(world)
    return {
      async close() {
        server.close()
        await hooks.stopping?.(() => server.closeAllConnections())
        await gateway.close()
        server.closeAllConnections()
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
