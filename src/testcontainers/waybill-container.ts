// Waybill as a container, for tests of programs that use a gateway. Waybill answers from recordings by
// default, so these tests need no key and no network. Uses the image and, of the gateway, only the format of
// a record.

import { createHash, randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  AbstractStartedContainer,
  getContainerRuntimeClient,
  type StartedTestContainer,
  Wait,
} from 'testcontainers'
import type { CallRecord } from '../core/record.ts'
import { IMAGE, OwnContainer } from './own-container.ts'

/** Port of the gateway inside its container. */
const PORT = 4949

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
    this.withExposedPorts(PORT)
      .withCommand(['serve', '--replay'])
      .withWaitStrategy(Wait.forHttp('/readyz', PORT, { abortOnContainerExit: true }).withReadTimeout(250))
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

export class StartedWaybillContainer extends AbstractStartedContainer {
  /** Base URL of the gateway, for example `http://localhost:32768`. */
  readonly url: string
  /** Base URL for clients of the OpenAI API: ends in `/v1`. */
  readonly baseUrl: string
  /** Key for clients; a placeholder if the gateway requires none. */
  readonly apiKey: string

  constructor(container: StartedTestContainer, apiKey: string) {
    super(container)
    this.url = `http://${container.getHost()}:${container.getMappedPort(PORT)}`
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
