// A target that is a module: it runs in this process. The module exports `start`, alone or in a `fault`.
import { isAbsolute } from 'node:path'
import { pathToFileURL } from 'node:url'
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

/** `name` is the absolute path of a module, or one of this project's own below conformance/: `targets/waybill`. */
export async function runInProcess(
  name: string,
  directory: string,
  env: Readonly<Record<string, string>>,
): Promise<Process> {
  const url = isAbsolute(name) ? pathToFileURL(name) : new URL(`../${name}.ts`, import.meta.url)
  const module = await import(url.href).catch((cause: Error) => {
    throw new StartError(`cannot load the target's module ${name}: ${cause.message}`, { cause })
  })
  const { start }: InProcess = module.fault ?? module
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
