// `waybill mcp`: five tools on stdin and stdout for agents that query the targets and costs of calls. Each
// tool sends one GET to a running gateway, so no tool can spend. No tool returns prompts.
import { setImmediate as turn } from 'node:timers/promises'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { z } from 'zod'
import manifest from '../../package.json' with { type: 'json' }
import { PURPOSES } from '../core/call.ts'
import { USAGE_KEYS } from '../store/reads.ts'
import { ANSWER_MS, GatewayAccessError, gatewayAt, namedGateway } from './gateway-client.ts'

/** Maximum size of a message, bytes. */
const MAX_MESSAGE_BYTES = 10 * 2 ** 20

const window = z.enum(['24h', '7d', '30d']).default('24h').describe('How far back.')

interface Tool {
  readonly name: string
  readonly description: string
  readonly input: z.ZodRawShape
  /** Returns the path and query to read. */
  readonly path: (asked: Readonly<Record<string, string | number | undefined>>) => string
}

const query = (asked: Readonly<Record<string, string | number | undefined>>): URLSearchParams => {
  const given = new URLSearchParams()
  for (const [name, value] of Object.entries(asked)) if (value !== undefined) given.set(name, String(value))
  return given
}

const TOOLS: readonly Tool[] = [
  {
    name: 'spend',
    description: 'What calls cost and how many tokens they used, in US dollars, by day or hour.',
    input: {
      window,
      bucket: z.enum(['1h', '1d']).default('1d').describe('Sums for each hour or each day.'),
      by: z.enum(USAGE_KEYS).optional().describe('A sum for each of these.'),
    },
    path: (asked) => `/api/usage/history?${query(asked)}`,
  },
  {
    name: 'calls',
    description: 'The newest calls: what was asked for, where it went, tokens, cost, state. Newest first.',
    input: {
      limit: z.int().min(1).max(50).default(10),
      session_id: z.string().optional(),
      provider: z.string().optional(),
      model: z.string().optional().describe('The model of the provider.'),
      route: z.string().optional(),
      purpose: z.enum(PURPOSES).optional(),
      status: z.string().optional().describe('ok, error or an HTTP status.'),
      since: z.iso.datetime().optional(),
    },
    path: (asked) => `/api/usage/request-logs?${query(asked)}`,
  },
  {
    name: 'call',
    description: 'One call with each of its attempts, and why its target was chosen.',
    input: { id: z.string().describe('Its X-Gateway-Request-Id.') },
    path: ({ id }) => `/api/usage/request-logs/${encodeURIComponent(String(id))}`,
  },
  {
    name: 'routes',
    description: 'The routes and models that can be asked for.',
    input: {},
    path: () => '/v1/models',
  },
  {
    name: 'resolve',
    description: 'Where a call for a model id would go now, without making it.',
    input: { model: z.string().describe('A route such as auto, or provider/model.') },
    path: (asked) => `/api/cloud/model/resolve?${query(asked)}`,
  },
]

interface McpOptions {
  readonly url?: string
  readonly config: string
  readonly keyFile?: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Serves until stdin has ended and every request is answered. */
export async function mcp({ url, config, keyFile, env }: McpOptions): Promise<void> {
  const get = gatewayAt(namedGateway(url, config, env), env, keyFile)
  const open = new Set<Promise<unknown>>()
  const server = new McpServer({ name: 'waybill', version: manifest.version })
  for (const { name, description, input, path } of TOOLS)
    server.registerTool(
      name,
      {
        description,
        inputSchema: input,
        annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
      },
      async (asked) => {
        try {
          const answer = get(
            path(asked as Parameters<Tool['path']>[0]),
            z.json(),
            AbortSignal.timeout(ANSWER_MS),
          )
          open.add(answer)
          const told = await answer.finally(() => open.delete(answer))
          return { content: [{ type: 'text' as const, text: JSON.stringify(told) }] }
        } catch (error) {
          if (!(error instanceof GatewayAccessError)) throw error
          return { isError: true, content: [{ type: 'text' as const, text: (error as Error).message }] }
        }
      },
    )
  process.stdout.setMaxListeners(0) // each unread answer adds a listener
  const limits = { maxBufferSize: MAX_MESSAGE_BYTES }
  await server.connect(new StdioServerTransport(process.stdin, process.stdout, limits))
  await new Promise<void>((resolve, reject) => {
    process.stdin.once('end', resolve)
    // The transport itself closes only for a message without an end.
    server.server.onclose = () =>
      reject(
        new Error(
          `a message on stdin is longer than ${MAX_MESSAGE_BYTES / 2 ** 20} MiB; send each message as one line of JSON`,
        ),
      )
  })
  await turn() // the last input is being read
  while (open.size > 0) {
    await Promise.allSettled(open)
    await turn() // the answers are written
  }
  await server.close()
}
