// The reference gateway in this process, as `waybill serve` runs it: a changed configuration file is taken up.
// The only file, beside the faults, that reaches into src/.
import { join } from 'node:path'
import { stateOf, watchConfig } from '../../src/commands/watch-config.ts'
import { loadConfig } from '../../src/config.ts'
import { createGateway, type Gateway } from '../../src/gateway.ts'
import type { InProcess } from '../connectors/inproc.ts'

/** Starts it on a configuration in `directory`. Rejects as `createGateway` and `loadConfig` do. */
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
