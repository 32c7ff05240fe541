// Target that is a module with an export `start`; runs it in this process.
import { isAbsolute } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Process, StartError } from './instance.ts'

/** Exports of a module that is a target. */
export interface InProcess {
  /**
   * Starts the gateway on the files in `directory`; `name` is the part after the `#`. Rejects if the gateway
   * cannot start.
   */
  start(
    directory: string,
    env: Readonly<Record<string, string>>,
    name?: string,
  ): Promise<{ close(): Promise<void>; output?(): string }>
}

/**
 * Loads `module`: an absolute path, or a path below conformance/, such as `selftest/reference`. The part
 * after a `#` is passed to its `start`.
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
