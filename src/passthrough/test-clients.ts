// A gateway with all relayed endpoints before the mocks of the providers that have them, for tests with the official
// clients.

import { createHash } from 'node:crypto'
import type { TestContext } from 'node:test'
import { createMockProviders } from '../../mocks/server/create.ts'
import { type TestGateway, testGateway } from '../test/test-gateway.ts'
import { until } from '../test/test-until.ts'

export const CLIENT_KEY = 'wb-key-of-the-test'

const PROVIDERS = {
  openai: 'openai',
  anthropic: 'messages',
  gemini: 'gemini',
  cohere: 'openai',
  jina: 'openai',
}

/** Holds a call until its client has disconnected. */
export const HELD = { events: [{ gate: 'never' }] }

export async function startForClients(t: TestContext, rerank: 'cohere' | 'jina' = 'jina') {
  const mock = await createMockProviders()
  t.after(() => mock.close())
  const digest = createHash('sha256').update(CLIENT_KEY).digest('hex')
  const names = Object.entries(PROVIDERS)
  const gateway = await testGateway(t, {
    providers: {},
    env: Object.fromEntries(names.map(([name]) => [`${name}_key`, mock.key(name)])),
    config: `${names
      .map(([name, dialect]) => {
        const base = name === 'anthropic' ? `${mock.url}/anthropic` : mock.baseUrl(name)
        return `  ${name}: { dialect: ${dialect}, base_url: "${base}", key: $${name}_key }`
      })
      .join('\n')}
passthrough: [audio, moderations, rerank, completions, image-edits, files, batches]
passthrough_providers: { rerank: [${rerank}] }
keys: [ { name: team, digest: "sha256:${digest}" } ]`,
  })
  return { gateway, mock }
}

/** Returns the newest calls of the key on record, at most 100, oldest first, once all of them are closed. */
export async function recordedCalls(gateway: TestGateway): Promise<string[]> {
  const headers = { authorization: `Bearer ${CLIENT_KEY}` }
  const read = async () => (await gateway.get('/api/usage/request-logs?limit=100', { headers })).json
  const json: any = await until('all calls are closed', async () => {
    const each = await read()
    return !each.data.some(({ state }: any) => state === 'routed') && each
  })
  return json.data.map(({ method, endpoint, state }: any) => `${method} ${endpoint} ${state}`).reverse()
}
