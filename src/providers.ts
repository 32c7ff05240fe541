// The configuration's providers as the pipeline needs them: how each is spoken to, and over which connections.
import type { Config, Loaded, ProviderConfig } from './config.ts'
import { DIALECTS, type Dialects } from './dialects/registry.ts'
import { canTranslate, plainLosses, upstreamsOf } from './dialects/translate.ts'
import type { ReadContext } from './endpoints/context.ts'
import type { Connections } from './providers/connections.ts'
import type { Provider } from './providers/send.ts'

/** How clients of each dialect reach a provider. */
function spokenFor(dialects: Dialects, name: string, { api, base_url, family }: ProviderConfig) {
  return upstreamsOf(dialects, api, { name, family, host: new URL(base_url).hostname })
}

/** Whether and with which losses targets of a configuration can be reached by clients of dialects that they do not speak. */
export const plainLossesIn =
  (config: Config, dialects: Dialects = DIALECTS): ReadContext['plainLosses'] =>
  ({ provider, model }) =>
    plainLosses(dialects, spokenFor(dialects, provider, config.providers[provider]!), model)
export const translatable = canTranslate(DIALECTS)

/** The providers of a configuration, by name. */
export function connect(
  config: Config,
  secrets: Loaded['secrets'],
  dialects: Dialects,
  connections: Connections,
): Map<string, Provider> {
  const entries = Object.entries(config.providers).map(([name, provider]): [string, Provider] => {
    const { origin, pathname } = new URL(provider.base_url)
    const key = secrets.get(name) ?? null
    return [
      name,
      {
        dialects: spokenFor(dialects, name, provider),
        dispatcher: connections.to(origin, config.resilience.connect),
        origin,
        basePath: pathname.replace(/\/+$/, ''),
        key,
        keyBytes: key === null ? null : Buffer.from(key),
        trace: provider.trace,
      },
    ]
  })
  return new Map(entries)
}
