// Containers for one run: their own network, the containers on it, and a complete cleanup. Calls the engine
// through testcontainers, which is loaded only here and only if needed. Independent of targets.
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { PassThrough, type Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import manifest from '../../package.json' with { type: 'json' }
import { sleep } from '../../src/shared/clock.ts'
import { filesIn, type Home, type Process, StartError } from './instance.ts'

/** Returns the image in which the mock runs: WAYBILL_IMAGE, or this version's image. */
export const ownImage = (): string => process.env.WAYBILL_IMAGE ?? `waybill:${manifest.version}`

/** Directory of a target's files in its container. */
const DIRECTORY = '/waybill-conform'

/** Maximum time from SIGTERM to the end of a container, s. */
const STOP_TIMEOUT_S = 10

type Engine = Awaited<ReturnType<typeof findEngine>>
type Handle = Awaited<ReturnType<Engine['container']['create']>>

interface ContainerOptions {
  readonly image: string
  readonly command?: readonly string[] | undefined
  readonly env?: Readonly<Record<string, string>>
  /** Name of the container on the network. */
  readonly alias?: string
  /** Port that must be reachable from this machine. */
  readonly port?: number
}

export interface Containers {
  /** Creates a container without starting it. Rejects with StartError. */
  create(wanted: ContainerOptions): Promise<Container>
  /** Removes the network and everything still attached to it. */
  close(): Promise<void>
}

/**
 * Opens a network. On an `internal` network, containers reach only each other, and this machine reaches them
 * at their own addresses, so the engine must run on this machine. On other networks, ports are published on
 * loopback. Rejects with StartError if there is no engine.
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

/** Returns the URL at which this machine reaches a port of a container. */
type Reach = (settings: Settings, port: number) => string
type Settings = Awaited<ReturnType<Handle['inspect']>>['NetworkSettings']

/** Finds this machine's engine. */
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
        ? 'build it with `npm run release -- image` in the project, or name another with WAYBILL_IMAGE'
        : 'build it or pull it first'
    throw new StartError(`cannot create a container of ${image}: ${reasonOf(cause)}; ${remedy}`, { cause })
  }
}

/** Returns the engine's message without the prefix that its client adds. */
const reasonOf = (cause: unknown): string =>
  (cause as Error).message.replace(/^\(HTTP code \d+\) [^-]* - /, '').trim()

/** Container that can be started, ended and restarted without losing its files. */
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

  /** Starts the container. Passes its output to `print` from then on. Rejects with StartError. */
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
    if (!State.Running) await this.#gone // the container no longer has an address
    return { origin: alive ? this.#origin(NetworkSettings) : null, alive: () => alive }
  }

  /**
   * Ends the container with SIGTERM, followed by SIGKILL after ten seconds, or with SIGKILL immediately.
   * Resolves when it has ended.
   */
  async stop(how: 'politely' | 'killed'): Promise<void> {
    try {
      if (how === 'killed') await this.#handle.kill()
      else await this.#handle.stop({ t: STOP_TIMEOUT_S })
    } catch (cause) {
      const { statusCode } = cause as { statusCode?: number }
      if (statusCode !== 304 && statusCode !== 409) throw cause // otherwise the container had already ended
    }
    await this.#gone
  }

  /**
   * Runs the container's command a second time, with `env` added. Resolves with the output when this run
   * ends.
   */
  async again(env: Readonly<Record<string, string>>): Promise<string> {
    const { Path, Args } = await this.#handle.inspect()
    return (await this.#engine.container.exec(this.#handle, [Path, ...Args], { env: { ...env } })).output
  }

  /** Runs a program that reads and writes lines in the container. */
  async talk(command: readonly string[]): Promise<{ say(line: string): void; heard: Readable }> {
    const attached = { AttachStdin: true, AttachStdout: true, AttachStderr: true }
    const exec = await this.#handle.exec({ ...attached, Cmd: [...command] })
    const stream = await exec.start({ hijack: true, stdin: true })
    const heard = new PassThrough()
    this.#engine.container.dockerode.modem.demuxStream(stream, heard, new PassThrough().resume())
    stream.on('close', () => heard.end())
    return { say: (line) => stream.write(`${line}\n`), heard }
  }

  /**
   * Copies files into the container's directory. Every user may write them, because the container may run as
   * any user.
   */
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

  /** Passes a copy of the container's current directory to `work`, and deletes the copy afterwards. */
  look<T>(work: (copy: string) => Promise<T>): Promise<T> {
    return inScratch(async (scratch) => {
      for (let tries = 1; ; tries++)
        try {
          await this.#unpack(scratch)
          break
        } catch (error) {
          if (tries === MAX_COPIES) throw error // the engine fails if a file changes its length during the copy
          await sleep(100 * tries)
        }
      return await work(join(scratch, DIRECTORY))
    })
  }

  async #unpack(scratch: string): Promise<void> {
    rmSync(join(scratch, DIRECTORY), { recursive: true, force: true })
    const archive = await this.#engine.container.fetchArchive(this.#handle, DIRECTORY)
    const tar = spawn('tar', ['-x', '-C', scratch], { stdio: ['pipe', 'ignore', 'ignore'] })
    const ended = once(tar, 'close')
    await pipeline(archive, tar.stdin)
    await ended
  }

  /** Removes the container, running or not. */
  async remove(): Promise<void> {
    await this.#handle.remove({ force: true, v: true })
  }
}

/** Maximum number of attempts to copy a directory. */
const MAX_COPIES = 12

interface StartedContainer {
  /**
   * URL at which this machine reaches the container's port. It differs after each start, and is null if the
   * container has ended.
   */
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
 * Starts a process that waits for any end of this process, and then removes everything with the label.
 * Nothing is left after Ctrl-C, and no extra image is pulled.
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
    detached: true, // must survive Ctrl-C
  })
  cleanup.unref()
  return cleanup
}

/** Returns the place in which an image runs; `port` is the port on which it listens. */
export function containerHome(containers: Containers, port: number): Home {
  let made: Container | null = null
  const container = (): Container => {
    if (made === null) throw new StartError('the container has not been made yet')
    return made
  }
  return {
    dir: DIRECTORY,
    port,
    files: {
      list: () => container().look((copy) => filesIn(copy).list()),
      read: (name) => container().look((copy) => filesIn(copy).read(name)),
      write: (files) => container().put(files),
    },
    async writeFiles({ start, env }, files) {
      if (!('image' in start)) throw new StartError('only an image runs in a container')
      made = await containers.create({ image: start.image, command: start.command, env, port })
      await made.put(files)
    },
    run: () => started(container()),
    async runBeside({ env }) {
      let printed: string | null = null
      container()
        .again(env)
        .then(
          (output) => (printed = output),
          (cause: Error) => (printed = cause.message),
        )
      // A second process that starts successfully ends with its container.
      return { alive: () => printed === null, output: () => printed ?? '', stop: async () => {} }
    },
    async remove() {
      await made?.remove()
    },
  }
}

async function started(container: Container): Promise<Process> {
  let output = ''
  const { origin, alive } = await container.start((text) => {
    output = (output + text).slice(-1_000_000)
  })
  return {
    origin,
    alive,
    output: () => output,
    stop: (how) => (alive() ? container.stop(how) : Promise.resolve()),
  }
}
