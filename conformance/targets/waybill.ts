// The reference gateway in this process. The only file, beside the mutants, that reaches into src/.
import { join } from 'node:path'
import { loadConfig } from '../../src/config.ts'
import { createGateway, type Gateway } from '../../src/gateway.ts'
import type { InProcess } from '../connectors/inproc.ts'

/** Starts it on a configuration in `directory`. Rejects as `createGateway` and `loadConfig` do. */
export function startWaybill(
  directory: string,
  env: Readonly<Record<string, string>>,
  file = 'waybill.yaml',
): Promise<Gateway> {
  return createGateway(loadConfig(join(directory, file), { env }))
}

export const start: InProcess['start'] = (directory, env) => startWaybill(directory, env)
