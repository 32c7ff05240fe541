// The reference gateway in this process. The only file, beside the mutants, that reaches into src/.
import { join } from 'node:path'
import { loadConfig } from '../../src/config.ts'
import { createGateway } from '../../src/gateway.ts'
import type { InProcess } from '../connectors/inproc.ts'

export const start: InProcess['start'] = async (directory, env) => {
  const loaded = loadConfig(join(directory, 'waybill.yaml'), { env })
  return createGateway(loaded)
}
