// A target that is a module: it runs in this process. The module stands in targets/ or mutants/ and exports `start`, alone or in a `mutant`.
import { StartError } from '../running.ts'
import type { Process } from '../start.ts'

/** What such a module exports. */
export interface InProcess {
  /** Starts the gateway on the files in `directory`. Rejects when it cannot. */
  start(
    directory: string,
    env: Readonly<Record<string, string>>,
  ): Promise<{ close(): Promise<void>; output?(): string }>
}

/** `name` is a path below conformance/, without its extension: `targets/waybill`. */
export async function runInProcess(
  name: string,
  directory: string,
  env: Readonly<Record<string, string>>,
): Promise<Process> {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
  const module = await import(new URL(`../${name}.${extension}`, import.meta.url).href)
  const { start }: InProcess = module.mutant ?? module
  const gateway = await start(directory, env).catch((cause: Error) => {
    throw new StartError(cause.message, { cause })
  })
  let up = true
  return {
    alive: () => up,
    output: () => gateway.output?.() ?? '',
    async stop() {
      up = false
      await gateway.close()
    },
  }
}
