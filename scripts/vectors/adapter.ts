// Answers vectors with the code of this project: for each line with a vector's `kind` and `given` as JSON, writes a line with
// the result. With --port N, answers POST requests instead. The runners in conformance/vectors/runners/ ask it.
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import type { ModelPrice } from '../../conformance/target/schema.ts'
import { createModelJudge } from '../../mocks/models/judge.ts'
import { providers } from '../../mocks/providers/registry.ts'
import { answer as anyAnswer, type MockServer, startMockServer } from '../../mocks/test-upstream.ts'
import { parseConfig } from '../../src/config/load.ts'
import { Losses } from '../../src/core/losses.ts'
import { SILENT } from '../../src/core/process-log.ts'
import { AnswerParts } from '../../src/dialects/answer-parts.ts'
import { dialectOf, peer } from '../../src/dialects/test-crossing.ts'
import { type Concluded, concluded, translated } from '../../src/dialects/test-deviations.ts'
import { PLAIN_REQUESTS } from '../../src/dialects/test-loss-cases.ts'
import { translating } from '../../src/dialects/translate.ts'
import { createGateway, type Gateway } from '../../src/gateway/create-gateway.ts'
import { packageTable } from '../../src/models/facts.ts'
import { createPricer } from '../../src/pricing/pricing.ts'
import type { ProviderAnswer, VectorFile } from './vector.ts'

type Json = Readonly<Record<string, unknown>>

/** Members of `given`, of all kinds; a vector has those of its kind. */
interface Given {
  readonly answer: ProviderAnswer | Json
  readonly client: string
  readonly asked: 'stream' | 'whole'
  readonly provider: string
  readonly at?: string
  readonly endpoint: string
  readonly dialect: string
  readonly model: string
  readonly body: Json | string
  readonly header_names?: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
  readonly prices: Readonly<Record<string, ModelPrice>>
  readonly status: number
}

/** Answers vectors; `close` ends the gateways that it started. */
interface Adapter {
  answer(kind: VectorFile['kind'], given: object): Promise<object>
  close(): Promise<void>
}

/** Returns what a client concludes from an answer of a provider. */
function answerOf({ answer: given, client, asked }: Given): object {
  const answer = given as ProviderAnswer
  const bytes = answer.text === undefined ? Buffer.from(answer.base64!, 'base64') : Buffer.from(answer.text)
  const isOwn = client === answer.dialect
  const got: Concluded = isOwn
    ? concluded(client, bytes, answer.cut)
    : translated(client, answer.dialect, bytes, asked, answer.cut).got
  const { text, reasoning, calls, end, sequence, isDoubtful, tokens } = got
  if (end === 'failed') return { end }
  const { input, output, cached_input: cached, cache_write, reasoning: thought } = tokens
  const usage = { input, output, cached, cache_write, reasoning: thought }
  return { text, reasoning, calls, end, stop_sequence: sequence, doubt: isDoubtful, usage }
}

/** Returns what reaches the provider of another dialect, and the losses. */
function requestOf({
  client,
  provider,
  at = provider,
  model,
  body,
  answer,
  header_names = [],
}: Given): object {
  const translation = translating(dialectOf(client), dialectOf(provider), {
    family: 'own',
    host: 'localhost',
    factsOf: (name) => packageTable().of(at, name, null),
  }).translation!()
  const request = {
    model,
    stream: false,
    text: JSON.stringify(body),
    wantsUsage: true,
    forwarded: header_names,
    query: '',
  }
  const sent = JSON.parse(translation.request(request, model, { basePath: '', key: null }).body)
  if (answer) translation.readAnswer(JSON.stringify(answer))
  return { sent, losses: [...translation.losses] }
}

/** Returns the sentence of an error, wherever the provider writes it. */
const wordsOf = (body: Json): string =>
  String((body.error as Json | undefined)?.message ?? body.error ?? body.message ?? body.detail)

const judgeModel = createModelJudge([], packageTable)

/** Returns whether a model accepts a request. */
function modelOf({ provider: name, endpoint: path, model, body, headers = {} }: Given): object {
  const provider = providers.find((each) => each.name === name)!
  const endpoint = provider.endpoints.find((each) => each.name === path)!
  const refused = judgeModel(provider, endpoint, { model, body, headers })?.refused
  return refused
    ? { accepted: false, status: refused.status, words: wordsOf(refused.body as Json) }
    : { accepted: true }
}

/** Returns the cost of an answer at the given prices. */
function costOf({ dialect, model, prices, answer }: Given): object {
  const own = Object.fromEntries(
    Object.entries(prices).map(([name, { over, web_search, ...price }]) => [
      `any/${name}`,
      { ...price, ...(over && { over: [over] }), ...(web_search && { tools: { web_search } }) },
    ]),
  )
  const price = createPricer({ baseUrls: { any: 'http://127.0.0.1:1' }, own: own as never })
  const parts = new AnswerParts(peer(), new Losses())
  const read = dialectOf(dialect).upstream.readAnswer(JSON.stringify(answer), parts)
  return { usd: price({ provider: 'any', model }, read.tokens, Date.UTC(2026, 10, 28, 12), read.model).usd }
}

interface TwoProviders {
  readonly gateway: Gateway
  readonly first: MockServer
  readonly second: MockServer
  readonly data: string
}

/** Starts a gateway with two providers of a dialect. */
async function twoProviders(dialect: string): Promise<TwoProviders> {
  const [first, second] = [await startMockServer(), await startMockServer(anyAnswer())]
  const data = mkdtempSync(join(tmpdir(), 'vectors-'))
  const provider = (name: string, { baseUrl }: MockServer) =>
    `  ${name}: { dialect: ${dialect}, base_url: "${baseUrl}", key: $KEY }`
  const text = `server: { port: 0 }
data: ${data}
providers:
${provider('first', first)}
${provider('second', second)}
routes: { auto: { targets: [ { model: first/m1 }, { model: second/m2 } ] } }
resilience: { retries: 0, cooldown: 1ms }`
  const loaded = parseConfig(text, 'vectors.yaml', { env: { KEY: 'sk-of-vectors' } })
  return { gateway: await createGateway({ ...loaded, threads: false, log: SILENT }), first, second, data }
}

/** Asks a gateway whose first provider refuses; returns its answer, and whether it asked the second. */
async function refusalOf(
  { gateway, first, second }: TwoProviders,
  { dialect, status, headers, body }: Given,
): Promise<object> {
  const given = Object.fromEntries(
    Object.entries({ 'content-type': 'application/json', ...headers }).filter(([, value]) => value !== null),
  )
  first.script = (response) => void response.writeHead(status, given as Record<string, string>).end(body)
  const path = dialect === 'gemini' ? '/v1beta/models/auto:generateContent' : dialectOf(dialect).client.path
  const { model: _, ...request } = PLAIN_REQUESTS[dialect] as Record<string, unknown>
  second.ledger.length = 0
  const response = await fetch(gateway.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...request, ...(dialect !== 'gemini' && { model: 'auto' }) }),
  })
  return { elsewhere: second.ledger.length > 0, status: response.status, words: await response.text() }
}

/** Creates an adapter. Gateways start when a refusal first needs them. */
export function createAdapter(): Adapter {
  const started = new Map<string, Promise<TwoProviders>>()
  return {
    async answer(kind, some) {
      const given = some as Given
      if (kind === 'answer') return answerOf(given)
      if (kind === 'request') return requestOf(given)
      if (kind === 'model') return modelOf(given)
      if (kind === 'cost') return costOf(given)
      if (!started.has(given.dialect)) started.set(given.dialect, twoProviders(given.dialect))
      return refusalOf(await started.get(given.dialect)!, given)
    },
    async close() {
      for (const each of await Promise.all(started.values())) {
        await each.gateway.close(100)
        await Promise.all([each.first.close(), each.second.close()])
        rmSync(each.data, { recursive: true, force: true })
      }
    },
  }
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { port: { type: 'string' } } })
  const adapter = createAdapter()
  const answered = async (text: string): Promise<string> => {
    const { kind, given } = JSON.parse(text)
    return JSON.stringify(
      await adapter.answer(kind, given).catch((error: Error) => ({ error: error.message })),
    )
  }
  if (values.port !== undefined) {
    const server = createServer(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      const text = await answered(Buffer.concat(chunks).toString('utf8'))
      response.writeHead(200, { 'content-type': 'application/json' }).end(text)
    })
    server.listen(Number(values.port), '127.0.0.1', () =>
      process.stdout.write(`http://127.0.0.1:${(server.address() as { port: number }).port}\n`),
    )
    return
  }
  for await (const line of createInterface({ input: process.stdin }))
    process.stdout.write(`${await answered(line)}\n`)
  await adapter.close()
}

if (import.meta.main) await main()
