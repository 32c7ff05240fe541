// Ports for the gateways that the suite starts.
import { randomInt } from 'node:crypto'
import { createServer, type Server } from 'node:net'

/**
 * Ports below the range that systems assign by themselves (from 32,768 on Linux, from 49,152 elsewhere), so
 * that no other program gets such a port by chance before the gateway listens.
 */
const PORTS = [20_000, 32_000] as const

/** Port for one instance during its lifetime. */
interface ReservedPort {
  readonly port: number
  release(): Promise<void>
}

/**
 * Reserves an even, free port of this machine. The odd port above it is held until the release. Other
 * instances, of this suite or another one, therefore cannot draw the same port while this instance is not
 * listening or restarts.
 */
export async function reservePort(): Promise<ReservedPort> {
  for (;;) {
    const port = 2 * randomInt(PORTS[0] / 2, PORTS[1] / 2)
    const guard = await listenOn(port + 1)
    if (!guard) continue
    const release = () => closed(guard)
    const first = await listenOn(port)
    if (!first) {
      await release()
      continue
    }
    await closed(first)
    guard.unref()
    return { port, release }
  }
}

/** Listens on a port; returns null if another program listens there. */
function listenOn(port: number): Promise<Server | null> {
  const server = createServer()
  return new Promise((done, fail) => {
    server.on('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? done(null) : fail(error),
    )
    server.listen(port, '127.0.0.1', () => done(server))
  })
}

const closed = (server: Server): Promise<void> => new Promise((done) => server.close(() => done()))
