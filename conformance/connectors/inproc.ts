// A target that is a module: it runs in this process. The module exports `start`.
import { isAbsolute } from 'node:path'
import { pathToFileURL } from 'node:url'
import { StartError } from '../running.ts'
import type { Process } from '../start.ts'

/** What such a module exports. */
export interface InProcess {
  /** Starts the gateway on the files in `directory`; `name` is what stands after the `#`. Rejects when it cannot. */
  start(
    directory: string,
    env: Readonly<Record<string, string>>,
    name?: string,
  ): Promise<{ close(): Promise<void>; output?(): string }>
}

/**
 * `module` is the absolute path of one, or one of this project's own below conformance/: `targets/waybill`. What stands
 * after a `#` is handed to its `start`.
 */
export async function runInProcess(
  module: string,
  directory: string,
  env: Readonly<Record<string, string>>,
): Promise<Process> {
  const [path, name] = module.split('#') as [string, string?]
  const url = isAbsolute(path) ? pathToFileURL(path) : new URL(`../${path}.ts`, import.meta.url)
  const { start }: InProcess = await import(url.href).catch((cause: Error) => {
    throw new StartError(`cannot load the target's module ${path}: ${cause.message}`, { cause })
  })
  const gateway = await start(directory, env, name).catch((cause: Error) => {
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
