// Real provider traffic that other projects recorded. A mock serves it through the gateway to a client of the
// same dialect. The provider's request, the client's answer and the record must match the capture. The
// captures are optional, and are not copied into this project.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createParser } from 'eventsource-parser'
import type { Interaction } from '../../mocks/import/interaction.ts'
import { atLeast, capturedCalls, withoutCaptures } from '../../mocks/import/test-captures.ts'
import { DIALECT_NAMES } from '../config/schema.ts'
import type { Tokens } from '../core/call.ts'
import { testGateway } from './test-gateway.ts'

interface Kind {
  readonly path: RegExp
  /** Approximate number of such exchanges in all captures. */
  readonly all: number
  /** Returns the path and body of a similar request, and the expected request at the provider. */
  ask(interaction: Interaction): { path: string; body: string; received: unknown }
  /**
   * True if many providers of the dialect have their own error format. Such errors are quoted in an error of
   * the dialect.
   */
  readonly wordsErrors?: true
  /** Returns the usage that a provider reported in all events of a stream, or in a whole answer. */
  usage(said: readonly any[]): Partial<Record<keyof Tokens, number | null | undefined>>
}

/** Makes requests whose body names the model. */
const at =
  (pathOf: (captured: string) => string): Kind['ask'] =>
  ({ path, requestBody }) => {
    const { model = 'deployment', ...rest } = JSON.parse(requestBody ?? '{}')
    const body = JSON.stringify({ ...rest, model: `alpha/${model}` })
    return { path: pathOf(path), body, received: { ...rest, model } }
  }

/** Returns the last count with this name. */
const told = (usages: readonly any[], name: string): number | null =>
  usages.map((usage) => usage?.[name]).findLast((count) => count != null) ?? null

const VECTORS: Kind['usage'] = ([{ usage }]) => ({ input: usage?.input_tokens ?? usage?.prompt_tokens })

const KINDS: Readonly<Record<string, Kind>> = {
  chat: {
    path: /\/chat\/completions$/,
    all: 300,
    ask: at(() => '/v1/chat/completions'),
    wordsErrors: true,
    usage(said) {
      const usage = said.map((json) => json.usage ?? json.x_groq?.usage).findLast((each) => each)
      const reasoning = usage?.completion_tokens_details?.reasoning_tokens
      // xAI counts reasoning in addition to `completion_tokens`; all other providers include it. The total shows
      // which applies.
      const beside = usage?.total_tokens === usage?.prompt_tokens + usage?.completion_tokens + reasoning
      return {
        input: usage?.prompt_tokens,
        output: beside ? usage.completion_tokens + reasoning : usage?.completion_tokens,
        cached_input: usage?.prompt_tokens_details?.cached_tokens ?? usage?.prompt_cache_hit_tokens,
        reasoning,
      }
    },
  },
  messages: {
    path: /\/v1\/messages(\/count_tokens)?(\?.*)?$/,
    all: 100,
    ask: at((path) => `/v1/messages${path.includes('count_tokens') ? '/count_tokens' : ''}`),
    usage(said) {
      const usages = said.map((json) => json.message?.usage ?? json.usage)
      const [input, cached_input, cache_write] = [
        'input_tokens',
        'cache_read_input_tokens',
        'cache_creation_input_tokens',
      ].map((name) => told(usages, name))
      const all = input == null ? null : input + (cached_input ?? 0) + (cache_write ?? 0)
      return { input: all, output: told(usages, 'output_tokens'), cached_input, cache_write }
    },
  },
  responses: {
    path: /\/responses(\?.*)?$/,
    all: 100,
    ask: at(() => '/v1/responses'),
    usage(said) {
      const { usage } = said.map((json) => json.response ?? json).findLast(({ output }) => output) ?? {}
      return {
        input: usage?.input_tokens,
        output: usage?.output_tokens,
        cached_input: usage?.input_tokens_details?.cached_tokens,
        reasoning: usage?.output_tokens_details?.reasoning_tokens,
      }
    },
  },
  gemini: {
    path: /\/models\/[^/]+:(generateContent|streamGenerateContent|countTokens)$/,
    all: 100,
    ask({ path, responseHeaders, requestBody }) {
      const [, model, verb] = /\/models\/([^/]+):(\w+)$/.exec(path)!
      // Some captures lack the query. Only `alt=sse` makes events.
      const query = responseHeaders['content-type']?.startsWith('text/event-stream') ? '?alt=sse' : ''
      const body = requestBody ?? '{}'
      return { path: `/v1beta/models/alpha/${model}:${verb}${query}`, body, received: JSON.parse(body) }
    },
    usage(said) {
      const usages = said.map(({ usageMetadata }) => usageMetadata)
      const [input, tools, written, reasoning, total] = [
        'promptTokenCount',
        'toolUsePromptTokenCount',
        'candidatesTokenCount',
        'thoughtsTokenCount',
        'totalTokenCount',
      ].map((name) => told(usages, name))
      const rest = input == null || total == null ? null : total - input
      return {
        input: input == null ? null : input + (tools ?? 0),
        output: written == null && reasoning == null ? rest : (written ?? 0) + (reasoning ?? 0),
        cached_input: told(usages, 'cachedContentTokenCount'),
        reasoning,
      }
    },
  },
  embeddings: {
    path: /\/embeddings(\?.*)?$/,
    all: 1,
    ask: at(() => '/v1/embeddings'),
    usage: VECTORS,
  },
  images: {
    path: /\/images\/generations(\?.*)?$/,
    all: 1,
    ask: at(() => '/v1/images/generations'),
    usage: VECTORS,
  },
}

for (const [dialect, kind] of Object.entries(KINDS))
  test(`every real ${dialect} capture passes through with its events, bytes and usage unchanged`, {
    skip: withoutCaptures,
  }, async (t) => {
    const gateway = await testGateway(t, {
      config: 'resilience: { retries: 0 }',
      dialects: { alpha: DIALECT_NAMES },
    })
    const table = new Map<string, { run: number; agree: number }>()
    const differing: string[] = []
    const found = capturedCalls(kind.path)
    for (const { name, interaction } of found) {
      const { status, responseHeaders, responseBody, host } = interaction
      const contentType = responseHeaders['content-type'] ?? 'application/json'
      gateway.upstream.alpha!.script = (response) =>
        response.writeHead(status, { 'content-type': contentType }).end(responseBody)
      const { path, body, received } = kind.ask(interaction)
      const headers = { 'content-type': 'application/json' }
      const answer = await gateway.get(path, { method: 'POST', headers, body })
      const { stream_options: asked, ...arrived } = gateway.upstream.alpha!.ledger.at(-1)!.json as any
      const { stream_options: wanted, ...expected } = received as any
      // The gateway always requests usage in a chat stream.
      assert.deepEqual(arrived, expected, `${name}: what was sent`)
      if (dialect !== 'chat') assert.deepEqual(asked, wanted, `${name}: what was sent`)
      const isCount = /count_?tokens/i.test(path)
      const record = isCount ? null : await gateway.record(answer.headers.get('x-gateway-request-id'))
      const withheld = dialect === 'chat' && wanted?.include_usage !== true
      const problem = differenceOf(kind, interaction, { ...answer, record, withheld })
      const what = `${host}, ${isCount ? 'a count' : contentType.includes('event-stream') ? 'streamed' : 'whole'}`
      const row = table.get(what) ?? { run: 0, agree: 0 }
      table.set(what, { run: row.run + 1, agree: row.agree + (problem ? 0 : 1) })
      if (problem) differing.push(`${name}: ${problem}`)
    }
    for (const [what, { run, agree }] of table) t.diagnostic(`${what}: ${agree} of ${run} agree`)
    t.diagnostic(`${found.length} captures, ${found.length - differing.length} agree`)
    assert.ok(found.length >= atLeast(kind.all), `only ${found.length} captures were found`)
    assert.deepEqual(differing, [])
  })

/** Describes how the gateway's answer or record differs from the capture; returns null if they match. */
function differenceOf(
  { usage, wordsErrors }: Kind,
  interaction: Interaction,
  { status, text, record, withheld }: { status: number; text: string; record: any; withheld: boolean },
): string | null {
  const sent = interaction.responseBody.toString('utf8')
  if (interaction.status === 401 || sent.includes('API_KEY_INVALID'))
    return status === 502 && text.includes('denied the gateway access')
      ? null
      : `a wrong key became ${status}: ${text}`
  if (status !== interaction.status) return `status ${status}: ${text.slice(0, 200)}`
  const isQuoted = wordsErrors === true && status >= 400 && text.includes(messageOf(sent))
  if (!isQuoted && text !== (withheld ? withoutUsage(sent) : sent))
    return `the bytes differ: ${text.slice(0, 200)}`
  if (record === null || status >= 400) return null
  if (record.state !== 'completed') return `the record says ${record.state} (${record.error_code})`
  const reported = usage(saidIn(sent))
  const differing = Object.entries(reported).filter(
    ([name, count]) => record.tokens[name] !== (count ?? null),
  )
  return differing.length === 0
    ? null
    : `tokens ${JSON.stringify(record.tokens)}, reported ${JSON.stringify(reported)}`
}

/** Returns the bytes for a client that did not request usage: everything except an event with usage alone. */
const withoutUsage = (body: string): string =>
  isWhole(body)
    ? body
    : body
        .split(/(?<=\r?\n\r?\n)/)
        .filter((block) => !saidIn(block).some((json) => json.choices?.length === 0 && json.usage))
        .join('')

const isWhole = (body: string): boolean => /^\s*[[{]/.test(body)

/** Returns the JSON of a whole answer, or of the events of a stream in order. */
function saidIn(body: string): any[] {
  if (isWhole(body)) return [JSON.parse(body)].flat()
  const found: any[] = []
  const onEvent = ({ data }: { data: string }) => data !== '[DONE]' && found.push(JSON.parse(data))
  createParser({ onEvent: (event) => void onEvent(event) }).feed(body)
  return found
}

function messageOf(body: string): string {
  try {
    const json = JSON.parse(body)
    return JSON.stringify(json?.error?.message ?? json?.error ?? json?.detail ?? body).slice(1, -1)
  } catch {
    return JSON.stringify(body).slice(1, -1)
  }
}
