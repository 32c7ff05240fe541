// Waybill as a container, for the tests of programs that use a gateway: it answers from recordings by default, so
// that they need no key and no network. Knows the image; of the gateway, only the format of a record.

import { createHash, randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  AbstractStartedContainer,
  getContainerRuntimeClient,
  type StartedTestContainer,
  Wait,
} from 'testcontainers'
import type { CallRecord } from '../record.ts'
import { IMAGE, OwnContainer } from './own-container.ts'

/** Where the gateway listens in its container. */
const PORT = 4949

/** What a client shows where no key is asked for; clients insist on having one. */
const ANY_KEY = 'waybill-asks-for-no-key'

/** A record is final within this time after its answer, contract LOG-04, ms. */
const LAG = 1_000

/**
 * The gateway in a container that is thrown away after the test.
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

  /** Answers from the recordings in a directory on this machine instead of those in the image. */
  withRecordings(directory: string): this {
    return this.withCopyDirectoriesToContainer([
      { source: directory, target: '/data/recordings' },
    ]).withCommand(['serve', '--replay', '/data/recordings'])
  }

  /** Runs on this configuration, in the words of waybill.yaml, instead of the example. */
  withConfig(config: object): this {
    return this.withCopyContentToContainer([
      { content: JSON.stringify(config), target: '/data/waybill.yaml' }, // JSON is YAML
    ])
  }

  /** Asks for a key, which is made here; `apiKey` of the started container is it. */
  withKeys(): this {
    this.#key = `waybill-${randomBytes(24).toString('base64url')}`
    const digest = createHash('sha256').update(this.#key).digest('hex')
    return this.withEnvironment({ WAYBILL_KEY_DIGESTS: `test:admin=sha256:${digest}` })
  }

  /**
   * Reaches the providers of the configuration instead of recordings; for stand-ins on a network of the test.
   * `keys`: the environment variables that the configuration names. A gateway that can spend asks for a key itself.
   */
  withLiveProviders(keys: Readonly<Record<string, string>> = {}): this {
    return this.withKeys()
      .withEnvironment({ ...keys })
      .withCommand(['serve'])
  }

  /** Rejects with what the gateway printed when it does not become ready. */
  override async start(): Promise<StartedWaybillContainer> {
    return new StartedWaybillContainer(await this.startOrTell(), this.#key ?? ANY_KEY)
  }

  /** The names under which tests and neighbours call the gateway; it refuses every other Host. */
  protected override async beforeContainerCreated(): Promise<void> {
    const { info } = await getContainerRuntimeClient()
    const names = [info.containerRuntime.host, ...this.networkAliases]
    this.withEnvironment({ WAYBILL_ALLOWED_HOSTS: names.join(',') })
  }
}

export class StartedWaybillContainer extends AbstractStartedContainer {
  /** Where it listens, for example `http://localhost:32768`. */
  readonly url: string
  /** The same for clients of the OpenAI API: ends in `/v1`. */
  readonly baseUrl: string
  /** What a client shows; a placeholder where the gateway asks for no key. */
  readonly apiKey: string

  constructor(container: StartedTestContainer, apiKey: string) {
    super(container)
    this.url = `http://${container.getHost()}:${container.getMappedPort(PORT)}`
    this.baseUrl = `${this.url}/v1`
    this.apiKey = apiKey
  }

  /**
   * The records of the calls so far, newest first, at most 200; `filter` is the query of `/api/usage/request-logs`.
   * Waits up to a second for calls that have just been answered to be final.
   */
  async requestLogs(filter: Readonly<Record<string, string>> = {}): Promise<readonly CallRecord[]> {
    const deadline = Date.now() + LAG
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
