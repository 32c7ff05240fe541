// Starts the mock of a run where its target can reach it: in this process, or in a container on the target's
// network.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { certify } from '../../mocks/server/certificate.ts'
import { createMockProviders, type MockProviders } from '../../mocks/server/create.ts'
import type { MockControl } from '../runner/context.ts'
import type { Target } from '../target/schema.ts'
import type { Values } from '../target/template.ts'
import { type Containers, openContainers, ownImage } from './containers.ts'
import { StartError } from './instance.ts'
import { startMockContainer } from './mock-container.ts'
import { controlOf, valuesOf } from './mock-control.ts'
import { atExit } from './on-exit.ts'

interface RunMock {
  readonly control: MockControl
  readonly values: Values
  /** Mock object; null if the mock runs in a container. */
  readonly here: MockProviders | null
  /** Creates containers for targets on the mock's network; null if they need none. */
  readonly containers: Containers | null
  close(): Promise<void>
}

/** Starts a mock that the target can reach. Rejects with StartError. */
export async function startMock(target: Target): Promise<RunMock> {
  const { start, sealed, mock_port: port } = target
  if (!('image' in start)) return startHere(target)
  const containers = await openContainers(sealed)
  try {
    const mock = await startMockContainer(containers, ownImage(), port)
    const close = async () => {
      await mock.close()
      await containers.close()
    }
    return { ...mock, here: null, containers, close }
  } catch (cause) {
    await containers.close()
    throw cause
  }
}

/** Starts the mock in this process. While it runs, its authority's certificate is in a file. */
async function startHere({
  mock_host: host,
  mock_name: name,
  mock_port: port,
  mock_tls,
}: Target): Promise<RunMock> {
  const tls = mock_tls ? certify([...new Set([name ?? host, host, 'localhost', '127.0.0.1', '::1'])]) : null
  const here = await createMockProviders({
    host,
    port,
    lenient: true,
    ...(name && { name }),
    ...(tls && { tls }),
  }).catch((cause: Error) => {
    throw new StartError(`the mock cannot start: ${cause.message}`, { cause })
  })
  const run = { control: controlOf(here), values: valuesOf(here), here, containers: null, close: here.close }
  if (tls === null) return run
  const directory = mkdtempSync(join(tmpdir(), 'waybill-mock-'))
  const remove = () => rmSync(directory, { recursive: true, force: true })
  const forget = atExit(remove)
  const ca = join(directory, 'ca.pem')
  writeFileSync(ca, tls.ca)
  return {
    ...run,
    values: { ...run.values, 'mock.ca': ca },
    async close() {
      await here.close()
      remove()
      forget()
    },
  }
}
