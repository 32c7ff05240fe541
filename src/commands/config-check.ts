// `waybill config check`: every problem with its line, or what the configuration amounts to.
import { loadConfig } from '../config.ts'

export interface ConfigCheckOptions {
  readonly config: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Throws ConfigError. */
export function configCheck({ config: file, env }: ConfigCheckOptions): void {
  const { config } = loadConfig(file, { env })
  const count = (things: object, one: string) =>
    `${Object.keys(things).length} ${one}${Object.keys(things).length === 1 ? '' : 's'}`
  process.stdout.write(
    `${file}: ok, ${count(config.providers, 'provider')}, ${count(config.routes, 'route')}, ${count(config.keys, 'key')}\n`,
  )
}
