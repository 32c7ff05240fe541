// `waybill/testcontainers`: Waybill and its mock providers as containers, for users' tests. Waybill answers from recordings
// by default, so these tests need no key and no network. Uses the image, of the gateway only the format of a record, and of
// the mocks the control port.

import { createHash, randomBytes } from 'node:crypto'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  AbstractStartedContainer,
  GenericContainer,
  getContainerRuntimeClient,
  type StartedTestContainer,
  Wait,
} from 'testcontainers'
import type { LedgerPage } from '../../mocks/ledger.ts'
import type { Deviations } from '../../mocks/scenarios/deviations.ts'
import type { ScriptedAnswer } from '../../mocks/server/script.ts'
import manifest from '../../package.json' with { type: 'json' }
import type { CallRecord } from '../core/record.ts'

/** The image of this version; `npm run release -- image` builds it in the project. */
const IMAGE = `waybill:${manifest.version}`

/** Common parts of this project's containers: the image, and the last output of a failed start. */
class OwnContainer extends GenericContainer {
  #id: string | null = null
  #printed = ''

  constructor(image: string) {
    super(image)
    this.withStartupTimeout(30_000).withLogConsumer((stream) =>
      stream.on('data', (line) => (this.#printed += line)),
    )
  }

  /** Rejects with the container's output. */
  protected async startOrTell(): Promise<StartedTestContainer> {
    this.#printed = ''
    try {
      return await super.start()
    } catch (cause) {
      const printed = this.#printed || (await this.#lastWords()) || '(nothing)\n'
      throw new Error(`${(cause as Error).message}\nThe container printed:\n${printed}`, { cause })
    }
  }

  protected override async containerCreated(id: string): Promise<void> {
    this.#id = id
  }

  /** Returns the output of a container that ended before its ports were open, and removes it. */
  async #lastWords(): Promise<string> {
    if (this.#id === null) return ''
    const { container: containers } = await getContainerRuntimeClient()
    const container = containers.getById(this.#id)
    try {
      const words = await text(await containers.logs(container))
      await containers.remove(container, { removeVolumes: true })
      return words
    } catch {
      return '' // gone already
    }
  }
}

/** Port of the gateway inside its container. */
const GATEWAY_PORT = 4949

/** Placeholder for clients that require a key although the gateway does not. */
const ANY_KEY = 'waybill-asks-for-no-key'

/** Maximum delay from an answer until its record is final, contract LOG-04, ms. */
const MAX_LAG_MS = 1_000

/**
 * The gateway in a container, removed after the test.
 *
 * @example
 * const waybill = await new WaybillContainer().start()
 * const client = new OpenAI({ baseURL: waybill.baseUrl, apiKey: waybill.apiKey })
 * await client.chat.completions.create({ model: 'auto', messages: [{ role: 'user', content: 'Where do you go?' }] })
 * const [call] = await waybill.requestLogs()
 * await waybill.stop()
 */
export class WaybillContainer extends OwnContainer {
  #key: string | null = null

  constructor(image = IMAGE) {
    super(image)
    this.withExposedPorts(GATEWAY_PORT)
      .withCommand(['serve', '--replay'])
      .withWaitStrategy(
        Wait.forHttp('/readyz', GATEWAY_PORT, { abortOnContainerExit: true }).withReadTimeout(250),
      )
  }

  /** Answers from the recordings in a local directory instead of those in the image. */
  withRecordings(directory: string): this {
    return this.withCopyDirectoriesToContainer([
      { source: directory, target: '/data/recordings' },
    ]).withCommand(['serve', '--replay', '/data/recordings'])
  }

  /** Uses this configuration, with the settings of waybill.yaml, instead of the example. */
  withConfig(config: object): this {
    return this.withCopyContentToContainer([
      { content: JSON.stringify(config), target: '/data/waybill.yaml' }, // JSON is YAML
    ])
  }

  /** Requires a key, which is generated here. The started container has it as `apiKey`. */
  withKeys(): this {
    this.#key = `waybill-${randomBytes(24).toString('base64url')}`
    const digest = createHash('sha256').update(this.#key).digest('hex')
    return this.withEnvironment({ WAYBILL_KEY_DIGESTS: `test:admin=sha256:${digest}` })
  }

  /**
   * Reaches the configured providers instead of recordings, for mock providers on a network of the test.
   * `keys`: values of the environment variables in the configuration. A gateway that can spend always
   * requires a key.
   */
  withLiveProviders(keys: Readonly<Record<string, string>> = {}): this {
    return this.withKeys()
      .withEnvironment({ ...keys })
      .withCommand(['serve'])
  }

  /** Rejects with the gateway's output if it does not become ready. */
  override async start(): Promise<StartedWaybillContainer> {
    return new StartedWaybillContainer(await this.startOrTell(), this.#key ?? ANY_KEY)
  }

  /** Sets the names by which tests and neighbours reach the gateway; every other Host is refused. */
  protected override async beforeContainerCreated(): Promise<void> {
    const { info } = await getContainerRuntimeClient()
    const names = [info.containerRuntime.host, ...this.networkAliases]
    this.withEnvironment({ WAYBILL_ALLOWED_HOSTS: names.join(',') })
  }
}

class StartedWaybillContainer extends AbstractStartedContainer {
  /** Base URL of the gateway, for example `http://localhost:32768`. */
  readonly url: string
  /** Base URL for clients of the OpenAI API: ends in `/v1`. */
  readonly baseUrl: string
  /** Key for clients; a placeholder if the gateway requires none. */
  readonly apiKey: string

  constructor(container: StartedTestContainer, apiKey: string) {
    super(container)
    this.url = `http://${container.getHost()}:${container.getMappedPort(GATEWAY_PORT)}`
    this.baseUrl = `${this.url}/v1`
    this.apiKey = apiKey
  }

  /**
   * Returns the records of the calls so far, newest first, at most 200; `filter` is the query of
   * `/api/usage/request-logs`. Waits up to a second for the records of recent calls to be final.
   */
  async requestLogs(filter: Readonly<Record<string, string>> = {}): Promise<readonly CallRecord[]> {
    const deadline = Date.now() + MAX_LAG_MS
    for (;;) {
      const data = await this.#list(filter)
      if (Date.now() > deadline || data.every(({ completed_at }) => completed_at !== null)) return data
      await sleep(20)
    }
  }

  async #list(filter: Readonly<Record<string, string>>): Promise<readonly CallRecord[]> {
    const query = new URLSearchParams({ limit: '200', ...filter })
    const response = await fetch(`${this.url}/api/usage/request-logs?${query}`, {
      headers: { authorization: `Bearer ${this.apiKey}` },
    })
    const body = await response.text()
    if (!response.ok) throw new Error(`The request log answered ${response.status}: ${body}`)
    return JSON.parse(body).data
  }
}

/** Port of the providers inside the container. The control port is reachable only within that container. */
const MOCK_PORT = 4950
const CONTROL_PORT = 4951

const COMMAND = [
  'mock',
  '--host',
  '0.0.0.0',
  '--port',
  `${MOCK_PORT}`,
  '--control-port',
  `${CONTROL_PORT}`,
  '--json',
]

/** The output line that lists the providers. */
const TOLD = /\{"url".*\}/

/**
 * Mock providers in a container, with a ledger of the requests. A gateway reaches them on a shared network, by
 * the name that `withNetworkAliases` sets.
 *
 * @example
 * const network = await new Network().start()
 * const mock = await new MockContainer().withNetwork(network).withNetworkAliases('mock').start()
 * const waybill = await new WaybillContainer()
 *   .withNetwork(network)
 *   .withLiveProviders({ OPENAI_API_KEY: mock.key('openai') })
 *   .withConfig({
 *     providers: { openai: { dialect: 'openai', base_url: mock.networkUrl('openai'), key: '$OPENAI_API_KEY' } },
 *     routes: { auto: { targets: [{ model: 'openai/gpt-5-mini' }] } },
 *   })
 *   .start()
 */
export class MockContainer extends OwnContainer {
  readonly #options: string[] = []

  constructor(image = IMAGE) {
    super(image)
    this.withExposedPorts(MOCK_PORT).withCommand(COMMAND).withWaitStrategy(Wait.forLogMessage(TOLD))
  }

  /** Answers from the recordings in a local directory instead of those in the image. */
  withRecordings(directory: string): this {
    const target = '/data/recordings'
    return this.withCopyDirectoriesToContainer([{ source: directory, target }]).#with('--recordings', target)
  }

  /** Answers at the recorded provider's pace instead of immediately. */
  withRecordedPace(): this {
    return this.#with('--pace', 'recorded')
  }

  /** Answers as real providers deviate: the deviations of these names, or all in the order of a seed. */
  withDeviations(deviations: Deviations): this {
    return this.#with('--deviations', 'seed' in deviations ? `seed:${deviations.seed}` : deviations.join())
  }

  #with(...options: string[]): this {
    this.#options.push(...options)
    return this.withCommand([...COMMAND, ...this.#options])
  }

  /** Rejects with the container's output if it does not start. */
  override async start(): Promise<StartedMockContainer> {
    const container = await this.startOrTell()
    let printed = ''
    for await (const part of await container.logs()) {
      printed += part
      const told = TOLD.exec(printed)?.[0]
      if (told) return new StartedMockContainer(container, JSON.parse(told).providers, this.networkAliases)
    }
    throw new Error(`The mock named no providers; it printed:\n${printed}`)
  }
}

type Providers = Readonly<Record<string, { readonly base_url: string; readonly key: string }>>

class StartedMockContainer extends AbstractStartedContainer {
  readonly #providers: Providers
  readonly #aliases: readonly string[]

  constructor(container: StartedTestContainer, providers: Providers, aliases: readonly string[]) {
    super(container)
    this.#providers = providers
    this.#aliases = aliases
  }

  /** Returns a provider's base URL for programs on this machine. Throws for an unknown name. */
  baseUrl(provider: string): string {
    return this.#at(`${this.getHost()}:${this.getMappedPort(MOCK_PORT)}`, provider)
  }

  /** Returns a provider's base URL for containers on the same network. Throws without an alias there. */
  networkUrl(provider: string): string {
    const [alias] = this.#aliases
    if (alias === undefined)
      throw new Error("The mock has no name on a network; give it one: .withNetworkAliases('mock')")
    return this.#at(`${alias}:${MOCK_PORT}`, provider)
  }

  /** Returns the key that a provider accepts. */
  key(provider: string): string {
    return this.#find(provider).key
  }

  /** Returns the ledger of received requests in order: the entries after number `since`. */
  async ledger(since = 0): Promise<LedgerPage> {
    return JSON.parse(await this.#control('GET', `/ledger?since=${since}`))
  }

  /** Scripts the answers to the call that contains this nonce, 16 hex digits. */
  async script(nonce: string, answers: readonly ScriptedAnswer[]): Promise<void> {
    await this.#control('PUT', `/script/${nonce}`, JSON.stringify(answers))
  }

  /**
   * Scripts the answers to the next calls, regardless of their content. `when` and `times: 'every'` select
   * other calls.
   */
  async answer(answers: ScriptedAnswer | readonly ScriptedAnswer[]): Promise<void> {
    await this.#control('POST', '/answers', JSON.stringify(answers))
  }

  /** Releases all answers that a script holds at this gate. */
  async release(gate: string): Promise<void> {
    await this.#control('POST', `/release/${encodeURIComponent(gate)}`)
  }

  /** Sends requests inside the container, because the control port answers only there. */
  async #control(method: string, path: string, body?: string): Promise<string> {
    const request = `
      const [method, path, body] = process.argv.slice(1)
      const response = await fetch('http://127.0.0.1:${CONTROL_PORT}' + path, { method, body })
      process.stdout.write(await response.text())
      process.exitCode = response.ok ? 0 : 1`
    const command = ['node', '--input-type=module', '--eval', request, method, path]
    const { exitCode, stdout, output } = await this.exec(body === undefined ? command : [...command, body])
    if (exitCode !== 0) throw new Error(`The mock refused ${method} ${path}: ${output}`)
    return stdout
  }

  #at(host: string, provider: string): string {
    return `http://${host}${new URL(this.#find(provider).base_url).pathname}`
  }

  #find(provider: string): Providers[string] {
    const found = this.#providers[provider]
    if (!found)
      throw new Error(
        `The mock has no provider "${provider}", only ${Object.keys(this.#providers).join(', ')}.`,
      )
    return found
  }
}

export type { LedgerEntry, LedgerPage } from '../../mocks/ledger.ts'
export type { ScriptedAnswer } from '../../mocks/server/script.ts'
export type { CallRecord } from '../core/record.ts'
export type { StartedMockContainer, StartedWaybillContainer }
