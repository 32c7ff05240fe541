// Reference gateway in this process, as `waybill serve` runs it: it reloads a changed configuration file.
// Apart from the must-fail and must-pass gateways, no other part of the suite imports the gateway.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import { join } from 'node:path'
import { parse } from 'yaml'
import { stateOf, watchConfig } from '../../src/commands/serve.ts'
import { loadConfig } from '../../src/config/load.ts'
import { createGateway, type Gateway } from '../../src/gateway/create-gateway.ts'
import type { InProcess } from '../target/local.ts'

/** Starts the gateway with a configuration in `directory`. Rejects like `createGateway` and `loadConfig`. */
export async function startWaybill(
  directory: string,
  env: Readonly<Record<string, string>>,
  file = 'waybill.yaml',
): Promise<Gateway> {
  const path = join(directory, file)
  const load = () => loadConfig(path, { env })
  const since = stateOf(path)
  const gateway = await createGateway(load())
  const unwatch = watchConfig(path, () => gateway.reload(load), { since })
  return {
    ...gateway,
    close(graceMs) {
      unwatch()
      return gateway.close(graceMs)
    },
  }
}

/** Starts the gateway behind a server of its own, which has the port of its configuration. */
export async function startBehind(
  directory: string,
  env: Readonly<Record<string, string>>,
  serverFor: (url: string) => Server,
): Promise<{ close(): Promise<void> }> {
  const { url, close } = await startWaybill(directory, { ...env, WAYBILL_PORT: '0' })
  const server = serverFor(url)
  const { port } = parse(readFileSync(join(directory, 'waybill.yaml'), 'utf8')).server
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    async close() {
      server.close()
      server.closeAllConnections()
      await close()
    },
  }
}

export const start: InProcess['start'] = (directory, env) => startWaybill(directory, env)
