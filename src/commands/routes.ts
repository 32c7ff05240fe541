// `waybill routes [MODEL]`: the routing table as it would be used now; reads the configuration and nothing else.
import { loadConfig } from '../config.ts'
import { GatewayError } from '../errors.ts'
import { createRouter, type Resolution } from '../routing/router.ts'

export interface RoutesOptions {
  readonly model?: string
  readonly config: string
  readonly json?: boolean
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Throws ConfigError, or GatewayError `model_not_found`. */
export function routes({ model, config: file, json, env }: RoutesOptions): void {
  const { config } = loadConfig(file, { env, replay: true })
  const router = createRouter(config, { now: Date.now, random: Math.random })
  const names = model === undefined ? Object.keys(config.routes) : [model]
  const found = names.map((name) => {
    const resolution = router.resolve(name)
    if (!resolution)
      throw new GatewayError('model_not_found', `${file} has no route and no provider for "${name}"`)
    return resolution
  })
  process.stdout.write(json ? `${JSON.stringify(found, null, 2)}\n` : found.map(table).join('\n'))
}

function table({ model, strategy, candidates }: Resolution): string {
  const rows = candidates.map(({ provider, model, tier, probability }) => [
    `  ${provider}/${model}`,
    tier ?? '-',
    `${Math.round(probability * 100)} %`,
  ])
  const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]!.length)))
  const lines = rows.map(
    ([target, tier, chance]) =>
      `${target!.padEnd(widths[0]!)}  ${tier!.padEnd(widths[1]!)}  ${chance!.padStart(5)}`,
  )
  return `${model}  (${strategy})\n${lines.join('\n')}\n`
}
