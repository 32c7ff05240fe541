// A gateway on a free port with mock providers, for the tests in this folder. Everything except the providers
// is real, and stops when the test ends.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext } from 'node:test'
import type { ZodType } from 'zod'
import { answer, type MockServer, type Script, startMockServer } from '../../mocks/test-upstream.ts'
import { parseConfig } from '../config/load.ts'
import { SILENT } from '../core/process-log.ts'
import { createGateway, type Gateway, type GatewayOptions } from '../gateway/create-gateway.ts'
import { READS } from '../gateway/endpoints.ts'
import { type Clock, clock, SYSTEM_CLOCK, useClock } from '../shared/clock.ts'
import { claim, databaseFile } from '../store/sqlite/open.ts'
import { until } from './test-until.ts'

export interface Setup {
  /** Answers of each provider; by default, `alpha` gives a plain answer. */
  readonly providers?: Readonly<Record<string, Script>>
  /** Additional members of `server`, as YAML. */
  readonly server?: string
  /** YAML that is added after server, data and providers. */
  readonly config?: string
  readonly options?: Partial<GatewayOptions>
  /** Dialects of each provider, among `options.dialects`; chat by default. */
  readonly dialects?: Readonly<Record<string, readonly string[]>>
  /** Providers that are paid for by a subscription. */
  readonly flat?: readonly string[]
  /** Providers with `other_models: refuse`. */
  readonly refusing?: readonly string[]
  /** A data directory that outlives the test's gateway. */
  readonly data?: string
  /** Clock of the gateway and the mocks, see `manualClock`. */
  readonly clock?: Clock
  /** Environment variables that the configuration uses, in addition to the providers' keys. */
  readonly env?: Readonly<Record<string, string>>
}

export interface TestGateway {
  readonly url: string
  readonly gateway: Gateway
  readonly data: string
  readonly upstream: Readonly<Record<string, MockServer>>
  /** Returns the number of inference requests that all providers together received. */
  received(): number
  get(
    path: string,
    init?: RequestInit,
  ): Promise<{ status: number; headers: Headers; text: string; json: any }>
  chat(
    body: unknown,
    headers?: Record<string, string>,
  ): Promise<{ status: number; headers: Headers; text: string; json: any }>
  /** Returns the closed record of a live answer, with its attempts. Waits for it, see `until` (LOG-04). */
  record(id: string | null, headers?: Record<string, string>): Promise<any>
}

/** Returns the key of a mock provider: `sk-<provider>-secret`. */
export const providerKey = (provider: string): string => `sk-${provider}-secret`

/**
 * Gateways of each test. The gateways close before the test's directories are removed, because a gateway
 * without its record reports errors and retries.
 */
const gateways = new WeakMap<Owner, Set<Gateway>>()

/** A test, or the tests of a file, at whose end gateways close. */
type Owner = Pick<TestContext, 'after' | 'diagnostic'>

async function closeGateways(t: Owner): Promise<void> {
  const leaveClock = useClock(SYSTEM_CLOCK) // closing waits for timers, which a manual clock would not run
  await Promise.all([...(gateways.get(t) ?? [])].map((gateway) => gateway.close(100)))
  leaveClock()
}

export const temporaryDirectory = (t: Owner): string => {
  const directory = mkdtempSync(join(tmpdir(), 'waybill-'))
  t.after(async () => {
    await closeGateways(t)
    // A child process may still write.
    rmSync(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 })
  })
  return directory
}

let blank: Buffer | undefined
/** Makes a data directory with a copy of an empty database, because a migration takes ten times as long. */
function dataDirectory(t: Owner): string {
  const directory = temporaryDirectory(t)
  if (blank) writeFileSync(databaseFile(directory), blank, { mode: 0o600 })
  else {
    claim(directory, clock.now()).release()
    blank = readFileSync(databaseFile(directory))
  }
  return directory
}

export async function testGateway(t: Owner, setup: Setup = {}): Promise<TestGateway> {
  const {
    providers = { alpha: undefined },
    server = '',
    config = AUTO,
    options = {},
    // A copied database would have the original's instance id, which a fleet refuses.
    data = config.includes('fleet:') ? temporaryDirectory(t) : dataDirectory(t),
  } = setup
  const upstream: Record<string, MockServer> = {}
  const lines = [`server: { port: 0, ${server} }`, `data: ${data}`, 'providers:']
  for (const [name, script] of Object.entries(providers)) {
    const mock = await startMockServer(script)
    t.after(() => mock.close())
    upstream[name] = mock
    lines.push(`  ${name}: { dialect: openai, base_url: "${mock.baseUrl}", key: $${name}_key }`)
  }
  const keys = Object.keys(providers).map((name) => [`${name}_key`, providerKey(name)])
  const env = { ...setup.env, ...Object.fromEntries(keys) }
  const loaded = parseConfig(`${lines.join('\n')}\n${config}`, 'test.yaml', { env })
  for (const [name, dialect] of Object.entries(setup.dialects ?? {}))
    Object.assign(loaded.config.providers[name]!, { dialect })
  for (const name of setup.flat ?? []) Object.assign(loaded.config.providers[name]!, { billing: 'flat' })
  for (const name of setup.refusing ?? [])
    Object.assign(loaded.config.providers[name]!, { other_models: 'refuse' })
  const gateway = await createGateway({
    ...loaded,
    threads: false,
    ...(setup.clock && { clock: setup.clock }),
    log: { ...SILENT, error: (fields, said) => t.diagnostic(`${said}: ${JSON.stringify(fields)}`) },
    ...options,
  })
  gateways.set(t, (gateways.get(t) ?? new Set()).add(gateway))
  t.after(() => closeGateways(t))
  const { url } = gateway

  const get: TestGateway['get'] = async (path, init) => {
    const response = await fetch(url + path, init)
    const text = await response.text()
    if (response.status === 200 && (init?.method ?? 'GET') === 'GET') holdAgainstSchema(path, text)
    return { status: response.status, headers: response.headers, text, json: parse(text) }
  }
  return {
    url,
    gateway,
    data,
    upstream,
    get,
    received: () => Object.values(upstream).reduce((sum, { ledger }) => sum + ledger.length, 0),
    chat: (body, headers = {}) =>
      get('/v1/chat/completions', {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    record: (id, headers = {}) =>
      until(`the record ${id} is closed`, async () => {
        const { json } = await get(`/api/usage/request-logs/${id}`, { headers })
        return json?.completed_at && json
      }),
  }
}

/** Closes the gateways of the file that shares some now. */
let endShared = async () => {}

/**
 * Returns `testGateway` for the tests of a file that change nothing about their gateway except the answers of its providers:
 * equal setups share one gateway, which each test gets with the given answers and with empty ledgers, but with the calls of
 * earlier tests on record. A setup with `options`, `clock` or `data` gets a gateway of its own, as a test needs that closes
 * its gateway or teaches it a refusal. Call this at the top of a file.
 */
export function sharedGateways(): typeof testGateway {
  const started = new Map<string, Promise<TestGateway>>()
  const ends: (() => unknown)[] = []
  let test: Owner
  const file = {
    after: (end: () => unknown) => void ends.push(end),
    diagnostic: (said: string) => test.diagnostic(said),
  } as Owner
  const end = async () => {
    started.clear()
    for (const each of ends.splice(0)) await each()
  }
  after(end)
  return async (t, setup = {}) => {
    if (setup.options || setup.clock || setup.data !== undefined) return testGateway(t, setup)
    if (endShared !== end) await endShared() // of the file before, in the same process
    endShared = end
    test = t
    const { providers = { alpha: answer() }, ...settings } = setup
    const key = JSON.stringify([Object.keys(providers), settings])
    if (!started.has(key)) started.set(key, testGateway(file, setup))
    const gateway = await started.get(key)!
    for (const [name, script = answer()] of Object.entries(providers)) {
      const upstream = gateway.upstream[name]!
      upstream.script = script
      upstream.ledger.length = 0
    }
    return gateway
  }
}

/** Reads a body as far as it goes. `isCut`: it has no proper end. */
export async function readBody(
  response: Response,
): Promise<{ readonly text: string; readonly isCut: boolean }> {
  let text = ''
  try {
    for await (const part of response.body!) text += Buffer.from(part).toString()
    return { text, isCut: false }
  } catch {
    return { text, isCut: true }
  }
}

/** One route with one provider. */
/** `auto` is alpha/model-a. */
export const AUTO = 'routes: { auto: { targets: [ { model: alpha/model-a, tier: balanced } ] } }'

/** `auto` tries alpha/model-a, then beta/model-b. */
export const TWO_TARGETS =
  'routes: { auto: { targets: [ { model: alpha/model-a, tier: balanced }, { model: beta/model-b, tier: cheap } ] } }'

export const ask = (model: string, more: object = {}): object => ({
  model,
  messages: [{ role: 'user', content: 'where to?' }],
  ...more,
})

/** Checks that an answer has the shape described by the OpenAPI document; throws if it does not. */
function holdAgainstSchema(target: string, text: string): void {
  const path = target.replace(/\?.*/s, '')
  const endpoint = READS.find((each) => {
    const [begin, end] = each.path.split('*')
    return end === undefined ? path === begin : path.startsWith(begin!) && path.endsWith(end)
  })
  if (!endpoint) return // a file of the page, or an exported file
  const answer = 'mediaType' in endpoint ? text : JSON.parse(text)
  const checked = (endpoint.response as ZodType).safeParse(answer)
  if (!checked.success)
    throw new Error(`GET ${target} does not fit its schema: ${checked.error.message}\n${text}`)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
