// The reference gateway in this process. The only file, beside the mutants, that reaches into src/.
import { join } from 'node:path'
import { loadConfig } from '../../src/config.ts'
import { createGateway, type Gateway } from '../../src/gateway.ts'
import type { InProcess } from '../connectors/inproc.ts'

export function startWaybill(directory: string, env: Readonly<Record<string, string>>): Promise<Gateway> {
  return createGateway(loadConfig(join(directory, 'waybill.yaml'), { env }))
}

export const start: InProcess['start'] = startWaybill
