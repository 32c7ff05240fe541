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
unknown_objects: refuse
passthrough_providers: { rerank: [${rerank}] }
keys: [ { name: team, digest: "sha256:${digest}" } ]`,
  })
  return { gateway, mock }
}

/** Returns the newest records of the key, at most 100, newest first, once all of them are closed. */
export async function keyRecords(gateway: TestGateway): Promise<any[]> {
  const headers = { authorization: `Bearer ${CLIENT_KEY}` }
  return until('all calls are closed', async () => {
    const { data } = (await gateway.get('/api/usage/request-logs?limit=100', { headers })).json
    return !data.some(({ state }: any) => state === 'routed') && data
  })
}

/** Returns the calls in these records, oldest first. */
export const recordedCalls = async (gateway: TestGateway): Promise<string[]> =>
  (await keyRecords(gateway)).map(({ method, endpoint, state }) => `${method} ${endpoint} ${state}`).reverse()
