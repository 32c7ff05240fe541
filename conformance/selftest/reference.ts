// Reference gateway in this process, as `waybill serve` runs it: it reloads a changed configuration file.
// Apart from the must-fail and must-pass gateways, no other part of the suite imports the gateway.
import { join } from 'node:path'
import { stateOf, watchConfig } from '../../src/commands/watch-config.ts'
import { loadConfig } from '../../src/config/load.ts'
import { createGateway, type Gateway } from '../../src/gateway/create-gateway.ts'
import type { InProcess } from '../launch/in-process.ts'

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

export const start: InProcess['start'] = (directory, env) => startWaybill(directory, env)
