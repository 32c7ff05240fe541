// Builds the configured providers for the pipeline, with their dialects and connections.

import type { Config, ProviderConfig } from '../config/load.ts'
import { targetId } from '../core/call.ts'
import { type CredentialContext, credentialsOf } from '../credentials/registry.ts'
import { DIALECTS, type Dialects } from '../dialects/registry.ts'
import { canTranslate, plainLosses, upstreamsOf } from '../dialects/translate.ts'
import type { ReadContext } from '../endpoints/context.ts'
import { type FactTable, factTableOf } from '../models/facts.ts'
import { answersOf, PLATFORMS } from '../platforms/answers.ts'
import type { Connections } from '../providers/connections.ts'
import { type ProxySettings, proxyFor } from '../providers/proxy.ts'
import type { Provider } from '../providers/send.ts'
import { createRouter } from '../routing/router.ts'
import type { IsForAccount } from '../routing/table.ts'
import { WhatIf } from '../routing/what-if.ts'
import { readBounded } from '../shared/bounded.ts'
import { chance } from '../shared/chance.ts'
import { clock } from '../shared/clock.ts'

/** Returns the provider side for clients of each dialect. */
function spokenFor(
  dialects: Dialects,
  name: string,
  { dialect, base_url, family }: ProviderConfig,
  facts: FactTable,
) {
  const factsOf = (model: string, spoken: string) => facts.of(name, model, spoken)
  return upstreamsOf(dialects, dialect, { name, family, host: new URL(base_url).hostname, factsOf })
}

/** Returns a function for the losses of plain text at a target, by the client's dialect. */
export const plainLossesIn =
  (config: Config, dialects: Dialects = DIALECTS): ReadContext['plainLosses'] =>
  ({ provider, model }) =>
    plainLosses(
      dialects,
      spokenFor(dialects, provider, config.providers[provider]!, factTableOf(config)),
      model,
    )
/** Returns a function for the facts about a configured model, in any dialect of its provider. */
export function factsIn(config: Config): ReadContext['factsOf'] {
  const table = factTableOf(config)
  return (id) => {
    const [provider = '', ...model] = id.split('/')
    const dialects = config.providers[provider]?.dialect ?? []
    const facts = dialects.map((each) => table.of(provider, model.join('/'), each))
    return Object.assign({}, ...facts.reverse())
  }
}

export const translatable = canTranslate(DIALECTS)

/** Returns a function that begins to reprice the record on a route; null for an unknown model. */
export function whatIfIn(config: Config, dialects: Dialects = DIALECTS): ReadContext['whatIf'] {
  const factsOf = factsIn(config)
  const conversations = Object.values(dialects).filter(({ blocks }) => blocks)
  const endpoints = conversations.flatMap(({ client: { name, path, alsoAt = [] } }) =>
    [path, ...alsoAt].map((each) => [each.replace('*', '{model}'), name] as const),
  )
  const names = new Map(endpoints)
  const deps = {
    ...{ config, canTranslate: canTranslate(dialects), isForAccount: isForAccountBy(factsOf) },
    dialectOf: (endpoint: string) => names.get(endpoint),
    cacheOf: (id: string) => factsOf(id).cache,
  }
  const { resolve } = createRouter(config, { ...deps, now: clock.now, random: chance.number })
  return (route, direct) => (resolve(route) ? new WhatIf({ ...deps, route, direct }) : null)
}

/** Returns a function that finds targets whose reasoning only their own account can read. */
export const isForAccountBy =
  (factsOf: ReadContext['factsOf']): IsForAccount =>
  (target) =>
    factsOf(targetId(target)).reasoning_for === 'account'

/** Maximum size of a certificate file, in bytes. */
const MAX_CA_BYTES = 2 ** 20

/** Returns the providers of a configuration, by name. */
export function connect(
  config: Config,
  credentials: CredentialContext,
  dialects: Dialects,
  connections: Connections,
  proxies: ProxySettings = {},
): Map<string, Provider> {
  const facts = factTableOf(config)
  const entries = Object.entries(config.providers).map(([name, provider]): [string, Provider] => {
    const { origin, pathname } = new URL(provider.base_url)
    const platform = provider.platform ? PLATFORMS[provider.platform] : null
    const way = {
      connectMs: config.resilience.connect,
      ca: provider.ca ? readBounded(provider.ca, MAX_CA_BYTES).toString('utf8') : null,
      proxy: proxyFor(origin, proxies),
    }
    const dispatcher = connections.to(origin, way)
    return [
      name,
      {
        dialects: spokenFor(dialects, name, provider, facts),
        dispatcher: platform ? dispatcher.compose(answersOf(platform)) : dispatcher,
        platform,
        sockets: provider.websocket === 'on' ? connections.socketsTo(origin, way) : null,
        origin,
        basePath: pathname.replace(/\/+$/, ''),
        credentials: credentialsOf(name, provider, credentials),
        factsOf: (model, dialect) => facts.of(name, model, dialect),
        windowOf: (model) =>
          provider.dialect.map((each) => facts.of(name, model, each).context).find(Boolean) ?? null,
        trace: provider.trace,
      },
    ]
  })
  return new Map(entries)
}
