// A gateway in front of mock providers that refuse the same parameters as their models, for tests of
// translated calls.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { createMockProviders, type MockProviders } from '../../mocks/server/create.ts'
import { parseConfig } from '../config/load.ts'
import { createGateway, type Gateway } from '../gateway/create-gateway.ts'

/** Providers under names without known facts: name, dialects, and mock. */
const MODEL_PROVIDERS = [
  ['claude', 'messages', 'anthropic'],
  ['chats', 'chat', 'openai'],
  ['answers', 'responses', 'openai'],
  ['both', '[chat, responses]', 'openai'],
  ['google', 'gemini', 'gemini'],
  ['deep', 'chat', 'deepseek'],
] as const

interface ModelGateway {
  readonly mock: MockProviders
  readonly gateway: Gateway
  readonly url: string
  readonly data: string
  /** Sends a JSON body. */
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<ModelAnswer>
  /** Returns the newest record, with its attempts. */
  newest(): Promise<any>
}

export interface ModelAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: any
}

export async function gatewayAtModels(
  t: TestContext,
  config = '',
  { data: kept = null as string | null, mock: own = null as MockProviders | null } = {},
): Promise<ModelGateway> {
  const data = kept ?? mkdtempSync(join(tmpdir(), 'waybill-models-'))
  const mock = own ?? (await createMockProviders())
  let gateway: Gateway | null = null
  t.after(async () => {
    await gateway?.close(100)
    if (!own) await mock.close()
    if (!kept) rmSync(data, { recursive: true, force: true })
  })
  const lines = MODEL_PROVIDERS.map(
    ([name, dialect, of]) =>
      `  ${name}: { dialect: ${dialect}, base_url: "${mock.baseUrl(of)}", key: $${of.toUpperCase()} }`,
  )
  const env = Object.fromEntries(MODEL_PROVIDERS.map(([, , of]) => [of.toUpperCase(), mock.key(of)]))
  const text = `server: { port: 0 }\ndata: ${data}\nproviders:\n${lines.join('\n')}\nresilience: { retries: 0, cooldown: 1ms }\n${config}`
  gateway = await createGateway({ ...parseConfig(text, 'models.yaml', { env }), threads: false })
  const { url } = gateway as Gateway
  return {
    mock,
    gateway,
    url,
    data,
    async post(path, body, headers = {}) {
      const response = await fetch(url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      })
      const answer = await response.text()
      return { status: response.status, headers: response.headers, text: answer, json: jsonIn(answer) }
    },
    async newest() {
      const { data: rows } = (await (await fetch(`${url}/api/usage/request-logs?limit=1`)).json()) as any
      return (await fetch(`${url}/api/usage/request-logs/${rows[0].id}`)).json()
    },
  }
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
