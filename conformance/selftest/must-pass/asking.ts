// Gateways that call their providers in an unusual way.

import { changeJson, type Json, type MustPass, parseJson } from '../gateway.ts'
import type { GatewayHooks } from '../wire.ts'

/** Changes the body of each call to a provider. */
const asks = (change: (call: Json) => object): GatewayHooks => ({
  upstream: {
    request(wanted) {
      if (wanted.method === 'POST')
        wanted.body = Buffer.from(changeJson(wanted.body.toString('utf8'), change))
    },
  },
})

const sorted = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(sorted)
    : typeof value === 'object' && value !== null
      ? Object.fromEntries(
          Object.entries(value)
            .toSorted(([a], [b]) => (a < b ? -1 : 1))
            .map(([name, each]) => [name, sorted(each)]),
        )
      : value

export const mustPass = {
  'always-asks-for-usage': {
    what: 'The gateway always requests usage for streams. The client also gets the usage, which is allowed.',
    hooks: asks((call) => (call.stream ? { ...call, stream_options: { include_usage: true } } : call)),
  },
  'system-becomes-developer': {
    what: 'The system prompt for a reasoning model has the role developer, as its provider requires.',
    hooks: asks((call) => ({
      ...call,
      messages: call.messages?.map?.((message: Json) =>
        message.role === 'system' && /^gpt-5/.test(call.model) ? { ...message, role: 'developer' } : message,
      ),
    })),
  },
  'sorts-members': {
    what: 'The fields of a request are sorted by name, at every depth.',
    hooks: asks((call) => sorted(call) as object),
  },
  'text-becomes-parts': {
    what: 'The gateway passes on a text as a list with one part.',
    hooks: asks((call) => ({
      ...call,
      messages: call.messages?.map?.((message: Json) =>
        typeof message.content === 'string' && message.role === 'user'
          ? { ...message, content: [{ type: 'text', text: message.content }] }
          : message,
      ),
    })),
  },
  'says-who-asks': {
    what: 'The gateway adds a user and metadata to requests without a user.',
    hooks: asks((call) => ({ user: 'team-7', metadata: { gateway: 'another' }, ...call })),
  },
  'says-the-defaults': {
    what: "The gateway adds explicit defaults to requests: a tool's `strict`, `n` and `store`.",
    hooks: asks((call) => ({
      n: 1,
      store: false,
      ...call,
      ...(Array.isArray(call.tools) && {
        tools: call.tools.map((tool: Json) => ({ ...tool, function: { strict: false, ...tool.function } })),
      }),
    })),
  },
  'parses-arguments-on-the-way': {
    what: 'The gateway parses the arguments of earlier tool calls and writes them as the same JSON with spaces.',
    hooks: asks((call) => ({
      ...call,
      messages: call.messages?.map?.((message: Json) =>
        message.tool_calls
          ? {
              ...message,
              tool_calls: message.tool_calls.map((tool: Json) => ({
                ...tool,
                function: {
                  ...tool.function,
                  arguments: JSON.stringify(parseJson(tool.function.arguments), null, 1),
                },
              })),
            }
          : message,
      ),
    })),
  },
  'asks-with-a-version': {
    what: "The provider's address has a query with the API version, and requests have an id.",
    hooks: {
      upstream: {
        request(wanted) {
          wanted.path += '?api-version=2024-10-21'
          wanted.headers['x-client-request-id'] = 'another'
          wanted.headers['user-agent'] = 'another/1.0'
        },
      },
    },
  },
} satisfies Record<string, MustPass>
