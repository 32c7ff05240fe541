// The models and routes in the configuration, as values. Pure: the same configuration gives the same bytes
// for every client, regardless of earlier calls (CAT-03).

import { type Config, configuredModels } from '../config/load.ts'
import { MODEL_TYPES } from '../config/schema.ts'

/** An entry of OpenAI's model list, with its type. */
export interface CatalogEntry {
  readonly id: string
  readonly object: 'model'
  /** Always 0: OpenAI's clients require a number, but a configuration has no creation date. */
  readonly created: 0
  /** The provider, or `waybill` for a route. */
  readonly owned_by: string
  readonly type: (typeof MODEL_TYPES)[number] | 'route'
}

/** Returns routes first, then every model that a route or `models` names. A pattern contributes no model. */
export const catalog = (config: Config): CatalogEntry[] => [
  ...Object.keys(config.routes).map((id) => entry(id, 'waybill', 'route')),
  ...configuredModels(config).map((id) =>
    entry(id, id.slice(0, id.indexOf('/')), config.models[id]?.type ?? MODEL_TYPES[0]),
  ),
]

const entry = (id: string, owned_by: string, type: CatalogEntry['type']): CatalogEntry => ({
  id,
  object: 'model',
  created: 0,
  owned_by,
  type,
})
