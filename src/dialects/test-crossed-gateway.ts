// A gateway with the official clients of every dialect and one provider of a given dialect. Also has helpers
// for the wire formats of chat and Messages providers. For tests of calls across dialects.
import type { TestContext } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import type { Script } from '../../mocks/test-upstream.ts'
import { type Setup, sharedGateways } from '../test/test-gateway.ts'

const sharedGateway = sharedGateways()

/**
 * Starts the gateway. `route`: additional settings of the route `auto`; `config`: additional YAML after this
 * route.
 */
export async function crossedGateway(
  t: TestContext,
  api: string,
  script: Script,
  { route = '', config = '', ...setup }: Setup & { readonly route?: string } = {},
) {
  const gateway = await sharedGateway(t, {
    providers: { alpha: script },
    dialects: { alpha: [api] },
    config: `routes: { auto: { ${route} targets: [ { model: alpha/m } ] } }\n${config}`,
    ...setup,
  })
  const options = { apiKey: 'none', maxRetries: 0 }
  return {
    ...gateway,
    anthropic: new Anthropic({ baseURL: gateway.url, ...options }),
    openai: new OpenAI({ baseURL: `${gateway.url}/v1`, ...options }),
    /** Returns the last request that the provider received. */
    sent: () => gateway.upstream.alpha!.ledger.at(-1)!.json as any,
    newest: async () => {
      const { json } = await gateway.get('/api/usage/request-logs?limit=1')
      return gateway.record(json.data[0].id)
    },
  }
}

export const sse =
  (...events: readonly (object | string)[]): Script =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const each of events)
      response.write(typeof each === 'string' ? each : `data: ${JSON.stringify(each)}\n\n`)
    response.end()
  }

export const json =
  (body: unknown, status = 200, headers: Record<string, string> = {}): Script =>
  (response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))

/** Returns an event of a chat stream. */
export const chunk = (delta: object, finish_reason: string | null = null) => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm-2026',
  choices: [{ index: 0, delta, finish_reason }],
})

/** Returns an event of a Messages stream. */
export const named = (event: { type: string } & Record<string, unknown>) =>
  `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`

/** Start of a stream with a text and the text of a refusal, for each dialect. */
export const BEGUN: Readonly<Record<string, readonly (object | string)[]>> = {
  chat: [chunk({ role: 'assistant', content: 'half' })],
  messages: [
    named({ type: 'message_start', message: { model: 'm', usage: { input_tokens: 1, output_tokens: 1 } } }),
    named({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    named({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'half' } }),
  ],
}
