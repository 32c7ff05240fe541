// Containers for one run: their own network, what runs on it, and the cleanup that leaves nothing of it behind.
// Speaks to the engine through testcontainers, which is loaded here and only when it is needed; knows no target. Over 250
// lines, because what it makes and how that is removed belong together.
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { PassThrough, type Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import manifest from '../package.json' with { type: 'json' }
import { StartError } from './running.ts'

/** The image of this project: WAYBILL_IMAGE, or the one of this version. The witness runs in it. */
export const ownImage = (): string => process.env.WAYBILL_IMAGE ?? `waybill:${manifest.version}`

/** Where the files of a target lie in its container. */
export const DIRECTORY = '/waybill-conform'

/** How long a container may take to end after SIGTERM, s. */
const GRACE = 10

type Engine = Awaited<ReturnType<typeof findEngine>>
type Handle = Awaited<ReturnType<Engine['container']['create']>>

export interface Wanted {
  readonly image: string
  readonly command?: readonly string[] | undefined
  readonly env?: Readonly<Record<string, string>>
  /** Its name on the network. */
  readonly alias?: string
  /** The port that this machine must reach. */
  readonly port?: number
}

export interface Containers {
  /** Makes a container that stands still. Rejects with StartError. */
  create(wanted: Wanted): Promise<Container>
  /** Removes the network, and whatever is still attached to it. */
  close(): Promise<void>
}

/**
 * Opens a network. On an `internal` one containers reach each other and nothing else; this machine reaches them at
 * their own addresses, which takes an engine that runs on it. Elsewhere ports are published on loopback.
 * Rejects with StartError when there is no engine.
 */
export async function openContainers(internal: boolean, find = findEngine): Promise<Containers> {
  const engine = await find().catch(noEngine)
  const name = `waybill-conform-${randomBytes(4).toString('hex')}`
  const labels = { 'waybill.conform': name }
  const cleanup = sweepWhenWeAreGone(`waybill.conform=${name}`)
  const network = await engine.network
    .create({ Name: name, Internal: internal, Labels: labels })
    .catch((cause: Error) => {
      cleanup.kill()
      throw new StartError(`the container engine could not create a network: ${reasonOf(cause)}`, { cause })
    })
  const { host } = engine.info.containerRuntime
  const reach: Reach = internal
    ? ({ Networks }, port) => `http://${Networks[name]!.IPAddress}:${port}`
    : ({ Ports }, port) => `http://${host}:${Ports[`${port}/tcp`]![0]!.HostPort}`

  return {
    async create({ image, command, env = {}, alias, port }) {
      const publish = !internal && port !== undefined
      const handle = await pulled(engine, image, {
        Image: image,
        ...(command && { Cmd: [...command] }),
        Env: Object.entries(env).map(([key, value]) => `${key}=${value}`),
        Labels: labels,
        ...(publish && { ExposedPorts: { [`${port}/tcp`]: {} } }),
        HostConfig: {
          NetworkMode: name,
          ...(publish && {
            PortBindings: {
              [`${port}/tcp`]: [{ HostIp: host === 'localhost' ? '127.0.0.1' : '', HostPort: '' }],
            },
          }),
        },
        NetworkingConfig: { EndpointsConfig: { [name]: { Aliases: alias === undefined ? [] : [alias] } } },
      })
      return new Container(engine, handle, image, (settings) =>
        port === undefined ? '' : reach(settings, port),
      )
    },
    async close() {
      try {
        await network.remove()
        cleanup.kill()
      } catch {
        cleanup.stdin!.end() // something is still attached to it
      }
    },
  }
}

/** Where this machine reaches a port of a container. */
type Reach = (settings: Settings, port: number) => string
type Settings = Awaited<ReturnType<Handle['inspect']>>['NetworkSettings']

/** The engine that this machine has. */
async function findEngine() {
  return (await import('testcontainers')).getContainerRuntimeClient()
}

function noEngine(cause: Error & { code?: string }): never {
  const told =
    cause.code === 'ERR_MODULE_NOT_FOUND'
      ? 'a target that is an image needs the package testcontainers: npm install --save-dev testcontainers'
      : 'the target is an image, but no container engine answers; start one (check with `docker info`), or name it in DOCKER_HOST'
  throw new StartError(told, { cause })
}

async function pulled(
  engine: Engine,
  image: string,
  options: Parameters<Engine['container']['create']>[0],
): Promise<Handle> {
  try {
    const { ImageName } = await import('testcontainers')
    await engine.image.pull(ImageName.fromString(image))
    return await engine.container.create(options)
  } catch (cause) {
    const remedy =
      image === ownImage()
        ? 'build it with `npm run image` in the project, or name another with WAYBILL_IMAGE'
        : 'build it or pull it first'
    throw new StartError(`cannot create a container of ${image}: ${reasonOf(cause)}; ${remedy}`, { cause })
  }
}

/** What the engine said, without the words of its client. */
const reasonOf = (cause: unknown): string =>
  (cause as Error).message.replace(/^\(HTTP code \d+\) [^-]* - /, '').trim()

/** A container that can be started, ended and started again; its files outlive that. */
export class Container {
  readonly #engine: Engine
  readonly #handle: Handle
  readonly #image: string
  readonly #origin: (settings: Settings) => string
  #gone: Promise<unknown> = Promise.resolve()

  constructor(engine: Engine, handle: Handle, image: string, origin: (settings: Settings) => string) {
    this.#engine = engine
    this.#handle = handle
    this.#image = image
    this.#origin = origin
  }

  /** Starts it. What `print` hears is what it prints from now on. Rejects with StartError. */
  async start(print: (text: string) => void): Promise<StartedContainer> {
    const printed = await this.#engine.container.attach(this.#handle)
    printed.on('data', (piece: Buffer) => print(String(piece)))
    const silent = once(printed, 'close')
    await this.#handle.start().catch((cause) => {
      throw new StartError(`a container of ${this.#image} does not start: ${reasonOf(cause)}`, { cause })
    })
    let alive = true
    this.#gone = Promise.allSettled([this.#handle.wait(), silent]).then(() => {
      alive = false
    })
    const { State, NetworkSettings } = await this.#handle.inspect()
    if (!State.Running) await this.#gone // it has no address any more
    return { origin: alive ? this.#origin(NetworkSettings) : null, alive: () => alive }
  }

  /** Ends it: with SIGTERM, and SIGKILL after ten seconds, or with SIGKILL at once. Resolves when it is gone. */
  async stop(how: 'politely' | 'killed'): Promise<void> {
    try {
      if (how === 'killed') await this.#handle.kill()
      else await this.#handle.stop({ t: GRACE })
    } catch (cause) {
      const { statusCode } = cause as { statusCode?: number }
      if (statusCode !== 304 && statusCode !== 409) throw cause // else it had ended by itself
    }
    await this.#gone
  }

  /** Runs its own command a second time in it, `env` added; what it printed once it has ended. */
  async again(env: Readonly<Record<string, string>>): Promise<string> {
    const { Path, Args } = await this.#handle.inspect()
    return (await this.#engine.container.exec(this.#handle, [Path, ...Args], { env: { ...env } })).output
  }

  /** A program in it that is spoken to line by line. */
  async talk(command: readonly string[]): Promise<{ say(line: string): void; heard: Readable }> {
    const attached = { AttachStdin: true, AttachStdout: true, AttachStderr: true }
    const exec = await this.#handle.exec({ ...attached, Cmd: [...command] })
    const stream = await exec.start({ hijack: true, stdin: true })
    const heard = new PassThrough()
    this.#engine.container.dockerode.modem.demuxStream(stream, heard, new PassThrough().resume())
    stream.on('close', () => heard.end())
    return { say: (line) => stream.write(`${line}\n`), heard }
  }

  /** Puts files into its directory, where every user may change them: which one it runs as is its own affair. */
  async put(files: Readonly<Record<string, string>>): Promise<void> {
    await inScratch(async (scratch) => {
      const top = join(scratch, DIRECTORY)
      for (const name of ['.', ...Object.keys(files).map(dirname)])
        for (let path = join(top, name); path !== scratch; path = dirname(path)) {
          mkdirSync(path, { recursive: true })
          chmodSync(path, 0o777)
        }
      for (const [name, text] of Object.entries(files)) {
        writeFileSync(join(top, name), text)
        chmodSync(join(top, name), 0o666)
      }
      const tar = spawn('tar', ['-c', '-C', scratch, DIRECTORY.slice(1)], {
        stdio: ['ignore', 'pipe', 'ignore'],
      })
      await this.#engine.container.putArchive(this.#handle, tar.stdout, '/')
    })
  }

  /** Hands over a copy of its directory as it is now; the copy is gone afterwards. */
  look<T>(work: (copy: string) => Promise<T>): Promise<T> {
    return inScratch(async (scratch) => {
      const archive = await this.#engine.container.fetchArchive(this.#handle, DIRECTORY)
      const tar = spawn('tar', ['-x', '-C', scratch], { stdio: ['pipe', 'ignore', 'ignore'] })
      const ended = once(tar, 'close')
      await pipeline(archive, tar.stdin)
      await ended
      return await work(join(scratch, DIRECTORY))
    })
  }

  /** Removes it, running or not. */
  async remove(): Promise<void> {
    await this.#handle.remove({ force: true, v: true })
  }
}

export interface StartedContainer {
  /** Where this machine reaches its port, another one after each start; null when it has ended already. */
  readonly origin: string | null
  alive(): boolean
}

async function inScratch<T>(work: (directory: string) => Promise<T>): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), 'waybill-conform-'))
  try {
    return await work(directory)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/**
 * A process that waits for the end of this one, whatever ends it, and then removes all that has the label. So that
 * nothing is left after Ctrl-C, and without an image for it that would have to be pulled.
 */
function sweepWhenWeAreGone(label: string): ChildProcess {
  const sweep = `
    for await (const nothing of process.stdin);
    const { getContainerRuntimeClient } = await import(${JSON.stringify(import.meta.resolve('testcontainers'))})
    const { container: { dockerode } } = await getContainerRuntimeClient()
    const labelled = { all: true, filters: { label: [${JSON.stringify(label)}] } }
    for (const { Id } of await dockerode.listContainers(labelled)) await dockerode.getContainer(Id).remove({ force: true, v: true })
    for (const { Id } of await dockerode.listNetworks(labelled)) await dockerode.getNetwork(Id).remove()`
  const cleanup = spawn(process.execPath, ['--input-type=module', '--eval', sweep], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true, // Ctrl-C is not meant for it
  })
  cleanup.unref()
  return cleanup
}
