// The witness: every provider on one port of this machine, with a ledger of what arrived, and a control port beside
// it. Joins the world with its two servers; knows no provider and no scenario.
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createControlServer } from './witness-control.ts'
import { createWitnessServer } from './witness-server.ts'
import { createWorld, type Stage, type WorldOptions } from './world.ts'

export interface WitnessOptions extends Omit<WorldOptions, 'keys'> {
  /** Where the providers listen; 127.0.0.1 unless told otherwise. */
  readonly host?: string
  /** The name or address by which clients reach it, where that is not `host`. */
  readonly name?: string
  /** Its certificate and key as PEM; plain HTTP where nothing is said. */
  readonly tls?: { readonly cert: string; readonly key: string }
  /** 0, unless told otherwise: any free port. */
  readonly port?: number
  /** The control port is on 127.0.0.1 whatever `host` says. */
  readonly controlPort?: number
  /** Provider name -> the key that it takes; `sk-witness-key-of-NAME` where nothing is said, shaped as keys are, so that gateways can tell them for keys. */
  readonly keys?: Readonly<Record<string, string>>
}

export interface Witness extends Stage {
  /** `http://127.0.0.1:PORT`, for a gateway that takes an origin only. */
  readonly url: string
  readonly controlUrl: string
  /** The names of all providers. */
  readonly providers: readonly string[]
  /** What to use as a provider's base URL: `http://127.0.0.1:PORT/groq/openai/v1`. Throws for an unknown name. */
  baseUrl(provider: string): string
  /** The key that a provider takes. */
  key(provider: string): string
  /** TCP connections accepted so far, used or not. */
  readonly connections: number
  /** False: connections are refused, and those that were open are reset. True: it listens on the same port again. */
  setReachable(reachable: boolean): Promise<void>
  close(): Promise<void>
}

/**
 * Starts a witness. Rejects when recordings cannot be read or a port is taken.
 *
 * @example
 * const witness = await createWitness()
 * const client = new OpenAI({ baseURL: witness.baseUrl('openai'), apiKey: witness.key('openai') })
 * await client.chat.completions.create({ model: 'scenario-tools', messages })
 * console.log(witness.entries()[0].problems)
 * await witness.close()
 */
export async function createWitness({
  host = '127.0.0.1',
  name,
  tls,
  port = 0,
  controlPort = 0,
  ...options
}: WitnessOptions = {}): Promise<Witness> {
  const world = createWorld(options)
  let connections = 0
  const server = createWitnessServer(world, () => connections++, tls)
  const setReachable = async (reachable: boolean) => {
    if (reachable === server.listening) return
    if (reachable) await listen(server, bound, host)
    else await stop(server)
  }
  const control = createControlServer({ ...world.stage, setReachable }, () => connections)
  const close = async () => {
    world.stage.clear() // what is held would hold its connection
    await Promise.all([stop(server), stop(control)])
  }
  try {
    await listen(server, port, host)
    await listen(control, controlPort, '127.0.0.1')
  } catch (error) {
    await close()
    throw error
  }

  const bound = (server.address() as AddressInfo).port
  const url = addressOf(server, name, tls && 'https')
  return {
    ...world.stage,
    url,
    controlUrl: addressOf(control),
    providers: world.providers.map(({ name }) => name),
    baseUrl(name) {
      const provider = world.providers.find((one) => one.name === name)
      if (!provider) throw new Error(`there is no provider "${name}"`)
      return `${url}/${name}${provider.basePaths[0]}`
    },
    key: world.key,
    get connections() {
      return connections
    },
    setReachable,
    close,
  }
}

/** Rejects with what is in the way and what to do about it; the system's own error is the cause. */
async function listen(server: Server, port: number, host: string): Promise<void> {
  server.listen(port, host)
  await once(server, 'listening').catch((cause: NodeJS.ErrnoException) => {
    const reason =
      cause.code === 'EADDRINUSE'
        ? 'the port is already in use; stop the program that uses it, or choose another port'
        : `${cause.message}; choose another address or port of this machine`
    throw new Error(`cannot listen on ${host}, port ${port}: ${reason}`, { cause })
  })
}

function stop(server: Server): Promise<void> {
  return new Promise((done) => {
    server.close(() => done())
    server.closeAllConnections()
  })
}

/** An address that clients can use: the unspecified one is reached as loopback. */
function addressOf(server: Server, name?: string, scheme = 'http'): string {
  const { address, port } = server.address() as AddressInfo
  const host = name ?? (address === '0.0.0.0' || address === '::' ? '127.0.0.1' : address)
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`
}
