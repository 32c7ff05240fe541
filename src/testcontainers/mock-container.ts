// The mock providers as a container, for a gateway in another container. Uses the image and the control port.
import { AbstractStartedContainer, type StartedTestContainer, Wait } from 'testcontainers'
import type { LedgerPage } from '../../mocks/ledger.ts'
import type { Deviations } from '../../mocks/scenarios/deviations.ts'
import type { ScriptedAnswer } from '../../mocks/server/script.ts'
import { IMAGE, OwnContainer } from './own-container.ts'

/** Port of the providers inside the container. The control port is reachable only within that container. */
const PORT = 4950
const CONTROL_PORT = 4951

const COMMAND = [
  'mock',
  '--host',
  '0.0.0.0',
  '--port',
  `${PORT}`,
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
    this.withExposedPorts(PORT).withCommand(COMMAND).withWaitStrategy(Wait.forLogMessage(TOLD))
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

export class StartedMockContainer extends AbstractStartedContainer {
  readonly #providers: Providers
  readonly #aliases: readonly string[]

  constructor(container: StartedTestContainer, providers: Providers, aliases: readonly string[]) {
    super(container)
    this.#providers = providers
    this.#aliases = aliases
  }

  /** Returns a provider's base URL for programs on this machine. Throws for an unknown name. */
  baseUrl(provider: string): string {
    return this.#at(`${this.getHost()}:${this.getMappedPort(PORT)}`, provider)
  }

  /** Returns a provider's base URL for containers on the same network. Throws without an alias there. */
  networkUrl(provider: string): string {
    const [alias] = this.#aliases
    if (alias === undefined)
      throw new Error("The mock has no name on a network; give it one: .withNetworkAliases('mock')")
    return this.#at(`${alias}:${PORT}`, provider)
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
