// Common parts of this project's containers: the image, and the last output of a failed start.
import { text } from 'node:stream/consumers'
import { GenericContainer, getContainerRuntimeClient, type StartedTestContainer } from 'testcontainers'
import manifest from '../../package.json' with { type: 'json' }

/** The image of this version; `npm run release -- image` builds it in the project. */
export const IMAGE = `waybill:${manifest.version}`

export class OwnContainer extends GenericContainer {
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
