// Gateways that test the suite: the reference gateway with changes on the wire, in its configuration or in
// its files. A must-fail gateway has one mistake, which the checks must notice. A must-pass gateway does
// something unusual but correct; a check that fails on it requires more than the contract.
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { parse } from 'yaml'
import { parseExactIntegers } from '../../src/shared/exact-json.ts'
import type { Further, Profile } from '../checks/requirements.ts'
import type { AnyJson } from '../evidence/reading.ts'
import type { InProcess } from '../target/local.ts'
import type { Target } from '../target/schema.ts'
import { startWaybill } from './reference.ts'
import {
  forward,
  type GatewayHooks,
  type HookContext,
  pass,
  passSocket,
  startBetween,
  type Wanted,
} from './wire.ts'

// biome-ignore lint/suspicious/noExplicitAny: foreign JSON
export type Json = Record<string, any>

/** Path of calls. */
export const CHAT = '/v1/chat/completions'

/** Parses JSON so that its integers keep all digits when it is written again. */
export const parseJson = (text: string): AnyJson => parseExactIntegers(text) as AnyJson

/** Parses a call; returns null for other requests. */
export function callIn({ method, path, body }: Wanted): Record<string, unknown> | null {
  if (method !== 'POST' || path !== CHAT) return null
  try {
    const call = parseJson(body.toString('utf8'))
    return typeof call === 'object' ? call : null
  } catch {
    return null
  }
}

/** Changes the JSON of a stream's event, but not `[DONE]` and comments. */
export function changeEvent(event: string, change: (json: Json) => object | null): readonly string[] {
  const data = /^data: ?(\{.*)$/m.exec(event)?.[1]
  if (data === undefined) return [event]
  const changed = change(parseJson(data))
  return changed === null ? [] : [event.replace(data, () => JSON.stringify(changed))]
}

/** Changes a whole answer that is JSON. */
export function changeJson(body: string, change: (json: Json) => unknown): string {
  try {
    return JSON.stringify(change(parseJson(body)))
  } catch {
    return body
  }
}

/** Writes JSON again with its numbers converted to doubles. */
export function roundNumbers(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body))
  } catch {
    return body
  }
}

/** Path of the record of one call, and of the list. */
export const RECORD = '/api/usage/request-logs/'
export const LIST = '/api/usage/request-logs?'

/** Returns the body hook that changes the JSON of answers to paths with this prefix or pattern. */
export const onRead =
  (where: string | RegExp, change: (json: Json) => unknown): NonNullable<GatewayHooks['body']> =>
  (body, { path }) =>
    (typeof where === 'string' ? path.startsWith(where) : where.test(path)) ? changeJson(body, change) : body

/** Returns the request hook that changes chat calls. */
export const onCall =
  (change: (call: Record<string, unknown>) => object): NonNullable<GatewayHooks['request']> =>
  (wanted) => {
    const call = callIn(wanted)
    if (call) wanted.body = Buffer.from(JSON.stringify(change(call)))
  }

/** Returns the event hook that changes the JSON of each event. */
export const onEvent =
  (change: (json: Json) => object | null): NonNullable<GatewayHooks['event']> =>
  (event) =>
    changeEvent(event, change)

export const failWith = (status: number) => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: '{"error":{"message":"not now"}}',
})

/** Hooks around the reference gateway (a function if each start needs its own state), or another program. */
type Started =
  | { readonly hooks: GatewayHooks | (() => GatewayHooks) }
  | { readonly start: InProcess['start'] }

/** Row of a table in must-fail/. */
export type MustFail = Started & {
  /** Description of the mistake, in one sentence. */
  readonly what: string
  /** Requirements or findings, such as `LOG-02/cost`, that must all fail. */
  readonly caughtBy: readonly string[]
  /** True to use the requirements for every gateway instead of Waybill's stricter profile. */
  readonly profile?: Exclude<Profile, 'waybill'>
  /** True if only a full-length idle window shows the mistake. */
  readonly patient?: boolean
  /** True to run as a separate process, if only a killed process shows it. */
  readonly asCommand?: boolean
}

/** Row of a table in must-pass/. */
export type MustPass = Started & {
  /** Unusual behaviour and the reason why it is correct, in one sentence. */
  readonly what: string
  /** Changes to the gateway's target file. */
  readonly target?: (target: Target) => Target
  /** Profile that it must pass, if it is not a gateway. */
  readonly profile?: 'server' | 'claude-code'
  /** Additional dialects to test; if set, only their checks run. */
  readonly on?: readonly Further[]
  /**
   * Recommendations (SHOULD) that the gateway omits, or that cannot be judged with it. They may end in a
   * warning.
   */
  readonly mayWarn?: readonly string[]
}

/** Returns the start function of a gateway under test. */
export const startOf = (row: MustFail | MustPass): InProcess['start'] => {
  if ('start' in row) return row.start
  const { hooks } = row
  return referenceWith(typeof hooks === 'function' ? hooks() : hooks)
}

/** Returns the start function of the reference gateway behind hooks. */
export const referenceWith =
  (hooks: GatewayHooks): InProcess['start'] =>
  async (directory, env) => {
    const text = readFileSync(join(directory, 'waybill.yaml'), 'utf8')
    const config = parse(text)
    hooks.before?.(config.data)
    const provider = new URL(config.providers.openai.base_url).origin
    const between = hooks.upstream ? await startBetween(provider, hooks.upstream, () => context) : null
    const file = hooks.config || between ? 'changed.yaml' : 'waybill.yaml'
    if (file === 'changed.yaml') {
      const changed = hooks.config?.(text) ?? text
      writeFileSync(join(directory, file), between ? changed.replaceAll(provider, between.origin) : changed)
    }
    const { url, ...gateway } = await startWaybill(directory, { ...env, WAYBILL_PORT: '0' }, file)
    let count = 0
    const context: HookContext = {
      env,
      directory,
      get count() {
        return count
      },
      provider: (wanted) => forward(provider, wanted),
      gateway: (wanted) => forward(url, wanted),
      list: () =>
        fetch(`${config.providers.openai.base_url}/models`, {
          headers: { authorization: `Bearer ${env.OPENAI_KEY}` },
        }).then((answer) => answer.text()),
      spend: (more = {}) => spend(config.providers.openai.base_url, env.OPENAI_KEY!, more),
    }
    const server = createServer(async (request, response) => {
      try {
        await pass(request, response, hooks, context, url)
      } catch {
        response.destroy()
      }
      count++
    })
    server.on('upgrade', (request, socket, head) => {
      passSocket(request, socket, head, hooks, context, url).catch(() => socket.destroy())
    })
    server.listen(Number(env.WAYBILL_PORT ?? config.server.port), '127.0.0.1')
    await once(server, 'listening')
    hooks.started?.(context)
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

/** Returns the start function of a program that is not a gateway, for targets that do nothing. */
export const instead =
  (
    handle: (request: IncomingMessage, response: ServerResponse, context: Pick<HookContext, 'env'>) => void,
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

export const isMessages = ({ path }: Wanted): boolean => /^\/v1\/messages(\?|$)/.test(path)
export const isResponses = ({ path }: Wanted): boolean => path.startsWith('/v1/responses')
export const isCount = ({ path }: Wanted): boolean => path.startsWith('/v1/messages/count_tokens')
export const isEmbeddings = ({ path }: Wanted): boolean => path.startsWith('/v1/embeddings')
export const isGemini = ({ path }: Wanted): boolean => /:(g|streamG)enerateContent/.test(path)
export const isInteractions = ({ path }: Wanted): boolean => path.startsWith('/v1beta/interactions')
export const isImages = ({ path }: Wanted): boolean => path.startsWith('/v1/images/generations')
export type Is = (wanted: Wanted) => boolean

export const isChat: Is = ({ path }) => path === CHAT

/** Returns true for chat calls that go to a Messages provider. */
export const toMessages: Is = (wanted) => isChat(wanted) && wanted.body.includes('"anthropic/')

/** Matches calls of a dialect that go to a chat provider. */
export const toChat =
  (is: Is): Is =>
  (wanted) =>
    is(wanted) && wanted.body.includes('"groq/')

/** Changes the JSON of each event. */
export const eachEvent =
  (is: Is, change: (json: Json) => object | null): NonNullable<GatewayHooks['event']> =>
  (event, _, wanted) =>
    is(wanted) ? changeEvent(event, change) : [event]

/** Changes the JSON of each whole answer. */
export const eachBody =
  (is: Is, change: (json: Json) => unknown): NonNullable<GatewayHooks['body']> =>
  (body, wanted) =>
    is(wanted) ? changeJson(body, change) : body

/** Changes the request of these calls. */
export const changeRequest = (is: Is, change: (body: Json) => object): GatewayHooks => ({
  request(wanted) {
    if (is(wanted)) wanted.body = Buffer.from(changeJson(wanted.body.toString('utf8'), change))
  },
})

/** Holds events back until a matching event arrives. */
export const until = (is: Is, last: RegExp) => (): GatewayHooks => {
  const held: string[] = []
  return {
    event(event, _, wanted) {
      if (!is(wanted)) return [event]
      held.push(event)
      return last.test(event) ? held.splice(0) : []
    },
  }
}

export const withoutMember = (json: Json, name: string) => {
  const { [name]: _, ...rest } = json
  return rest
}

/** Changes the blocks of one type in a Messages answer or in a call's history. */
const eachBlock =
  (type: string) =>
  (json: Json, change: (block: Json) => object): object => {
    // biome-ignore lint/suspicious/noExplicitAny: foreign JSON
    const within = (content: any) =>
      Array.isArray(content)
        ? content.map((block) => (block?.type === type ? change(block) : block))
        : content
    return {
      ...json,
      ...(json.content && { content: within(json.content) }),
      ...(Array.isArray(json.messages) && {
        messages: json.messages.map((each) => ({ ...each, content: within(each.content) })),
      }),
    }
  }
export const eachResult = eachBlock('tool_result')
export const eachCallOf = eachBlock('tool_use')

/** Changes the client's answers to these calls. */
export const changeAnswer = (
  is: Is,
  change: { readonly event?: (json: Json) => object | null; readonly whole?: (json: Json) => object },
): GatewayHooks => ({
  event: (event, _, wanted) => (is(wanted) && change.event ? changeEvent(event, change.event) : [event]),
  body: (body, wanted) => (is(wanted) && change.whole ? changeJson(body, change.whole) : body),
})

/** Sends the matching event after the next one. */
export const oneLater = (is: Is, late: RegExp) => (): GatewayHooks => {
  const held = new WeakMap<Wanted, string>()
  return {
    event(event, _, wanted) {
      if (!is(wanted)) return [event]
      const before = held.get(wanted)
      held.delete(wanted)
      if (before !== undefined) return [event, before]
      if (!late.test(event)) return [event]
      held.set(wanted, event)
      return []
    },
  }
}
