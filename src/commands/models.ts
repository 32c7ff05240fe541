// `waybill models`: shows the known facts about the configured models and their origin. `sync` requests the
// providers' lists; `forget` removes facts learned from refusals. Requesting a list is not an inference, and
// only `sync` sends requests.
import { writeFileSync } from 'node:fs'
import { stringify } from 'yaml'
import { configuredModels, type Loaded, loadConfig, syncedFile } from '../config/load.ts'
import { priceLine } from '../core/budget.ts'
import { DIALECTS } from '../dialects/registry.ts'
import { factTableOf, type Statement } from '../models/facts.ts'
import { type LearnedRefusal, openLearnedRefusals } from '../models/learned.ts'
import { type ListedModel, listedModels } from '../models/listed.ts'
import { createPricer, pricedModels, priceOrigin, pricingOf } from '../pricing/pricing.ts'
import { clock } from '../shared/clock.ts'
import { withKept } from '../terminal/keys.ts'
import { table } from '../terminal/table.ts'
import { requestList } from './found-provider.ts'
import { complain, print, json as toJson, UsageError } from './output.ts'

interface ModelsOptions {
  readonly model?: string | undefined
  readonly config: string
  readonly json?: boolean
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Prints the facts. Rejects with ConfigError or UsageError. */
export async function printModels({ model, config: file, json, env }: ModelsOptions): Promise<void> {
  const { config } = loadConfig(file, { env, replay: true })
  const facts = factTableOf(config)
  const refusals = openLearnedRefusals(config.data).list()
  const ids = model === undefined ? configuredModels(config) : [model]
  const found = ids.map((id) => {
    const { provider, name } = partsOf(id, config)
    const statements = new Map<string, Statement>()
    for (const dialect of config.providers[provider]!.dialect)
      for (const each of facts.statements(provider, name, dialect))
        if (!statements.has(`${each.fact} ${each.unverified}`))
          statements.set(`${each.fact} ${each.unverified}`, each)
    const isOwn = (each: LearnedRefusal) => each.provider === provider && each.model === name
    return { model: id, facts: [...statements.values()], refused: refusals.filter(isOwn) }
  })
  if (json) print(toJson(found, 2))
  else {
    const rows = found.flatMap(rowsOf)
    const columns = process.stdout.isTTY ? process.stdout.columns : null
    process.stdout.write(table([HEADER, ...rows], { columns, shrink: ['FROM', 'VALUE'] }))
  }
}

const HEADER = ['MODEL', 'FACT', 'VALUE', 'FROM']

/** Returns the value of a fact in words: `by provider, min 1024`. */
function wordsOf(value: unknown): string {
  if (Array.isArray(value)) return value.join(' ') || 'none'
  if (typeof value !== 'object' || value === null) return String(value ?? 'none')
  return Object.entries(value)
    .map(([name, each]) => `${name} ${each}`)
    .join(', ')
}

function rowsOf({
  model,
  facts,
  refused,
}: {
  readonly model: string
  readonly facts: readonly Statement[]
  readonly refused: readonly LearnedRefusal[]
}): string[][] {
  const rows = [
    ...facts.map(({ fact, value, origin, name, source, date, unverified }) => [
      fact,
      wordsOf(value),
      `${ORIGINS[origin]}, ${name}${origin === 'configuration' ? '' : ` (${source}, ${date})`}${unverified ? '; unverified, changes nothing' : ''}`,
    ]),
    ...refused.map(({ parameter, value, learned_at }) => [
      'refused',
      value === null ? parameter : `${parameter} ${value}`,
      `learned from a refusal on ${learned_at.slice(0, 10)}`,
    ]),
  ]
  if (rows.length === 0) return [[model, '-', 'nothing is known', '']]
  return rows.map((row, n) => [n === 0 ? model : '', ...row])
}

const ORIGINS = {
  configuration: 'your configuration',
  synced: 'the provider’s list',
  package: 'Waybill',
} as const

function partsOf(id: string, { providers }: Loaded['config']): { provider: string; name: string } {
  const [provider = '', ...name] = id.split('/')
  if (!Object.hasOwn(providers, provider) || name.length === 0)
    throw new UsageError(
      `${JSON.stringify(id)} is not provider/model; the providers are ${Object.keys(providers).join(', ')}`,
    )
  return { provider, name: name.join('/') }
}

interface SyncOptions extends Omit<ModelsOptions, 'model' | 'json'> {
  /** Providers to query; all by default. */
  readonly providers: readonly string[]
}

/** Writes the facts of the providers' lists next to the configuration. Throws if no list could be read. */
export async function syncModels({ providers, config: file, env }: SyncOptions): Promise<void> {
  const { config } = loadConfig(file, { env, replay: true, ignoreSynced: true })
  const names = providers.length > 0 ? providers : Object.keys(config.providers)
  for (const name of names)
    if (!Object.hasOwn(config.providers, name))
      throw new UsageError(
        `there is no provider ${JSON.stringify(name)} in ${file}; the providers are ${Object.keys(config.providers).join(', ')}`,
      )
  const lists: { name: string; models: readonly ListedModel[] }[] = []
  for (const name of names) {
    try {
      const models = listedModels(await listOf(name, config, withKept(file, env)))
      lists.push({ name, models })
      complain(`${name}: ${models.length} models`)
    } catch (error) {
      const { cause, message } = error as Error
      complain(`${name}: ${cause instanceof Error ? cause.message : message}`)
    }
  }
  if (lists.length === 0) throw new UsageError('no provider gave a list of models; nothing was written')
  const path = syncedFile(file)
  const date = new Date().toISOString().slice(0, 10)
  const body = {
    sources: Object.fromEntries(
      lists.map(({ name }) => [name, { title: `the list of models of ${name}`, date }]),
    ),
    models: lists.flatMap(({ name, models }) =>
      models.map(({ model, facts }) => ({ provider: name, model, ...facts, source: name })),
    ),
  }
  const note =
    '# Written by `waybill models sync`, which replaces it. Your own facts go into `models` of the configuration.\n'
  writeFileSync(path, note + stringify(body, { lineWidth: 0 }))
  print(
    `${path} was written; a running gateway reads it with its next change of configuration, or after a restart`,
  )
}

type Configured = Loaded['config']['providers'][string]

/** Returns the reason why a provider's list cannot be requested from here; null if it can. */
function withoutList({ auth, platform, key, keys }: Configured): string | null {
  if (platform)
    return `\`platform: ${platform}\` has no list of models in this form; name its models in the configuration`
  if (auth === 'caller') return "it takes the caller's own credential, and this command has none"
  if (auth) return `\`auth: ${auth}\` signs calls only; name its models in the configuration`
  return keys && !key && !keys.some((each) => each.key)
    ? 'its keys come from files or commands, which are read for calls only'
    : null
}

async function listOf(name: string, config: Loaded['config'], env: ModelsOptions['env']): Promise<string> {
  const provider = config.providers[name]!
  const reason = withoutList(provider)
  if (reason !== null) throw new Error(`not asked: ${reason}`)
  const { dialect, base_url, keys } = provider
  const key = provider.key ?? keys?.find((each) => each.key)?.key
  const secret = (key && env[key.slice(1)]?.trim()) || null
  const { path, headers } = DIALECTS[dialect[0]! as keyof typeof DIALECTS].modelList(secret ?? '')
  return requestList(`${base_url.replace(/\/+$/, '')}${path}`, secret, secret === null ? {} : headers)
}

/** Removes facts learned from refusals: all facts, or those of one provider or model. */
export async function forgetModels({ model, config: file, env }: ModelsOptions): Promise<void> {
  const { config } = loadConfig(file, { env, replay: true })
  const isMeant = ({ provider, model: name }: LearnedRefusal) =>
    model === undefined || model === provider || model === `${provider}/${name}`
  const forgotten = openLearnedRefusals(config.data).forget(isMeant)
  for (const { provider, model: name, parameter, value } of forgotten)
    print(`forgot that ${provider}/${name} refuses ${parameter}${value === null ? '' : ` ${value}`}`)
  if (forgotten.length === 0) complain('nothing of it was learned')
}

interface PricesOptions {
  readonly filter?: string | undefined
  readonly config: string
  readonly json?: boolean
  readonly env: Readonly<Record<string, string | undefined>>
}

type Rates = Readonly<Record<string, unknown>>

const ONE = { input: 1, output: 1, cached_input: null, cache_write: null, reasoning: null, images: 1 }
const PRICE_HEADER = ['MODEL', 'INPUT', 'CACHED', 'OUTPUT', 'FROM']

/** Prints the prices. Rejects with ConfigError, or with UsageError if no model matches. */
export async function printPrices({ filter, config: file, json, env }: PricesOptions): Promise<void> {
  const { config } = loadConfig(file, { env, replay: true })
  const pricing = pricingOf(config)
  const price = createPricer(pricing)
  const now = clock.now()
  const listed =
    filter === undefined
      ? []
      : Object.keys(config.providers).flatMap((name) =>
          pricedModels(name, pricing).map((model) => `${name}/${model}`),
        )
  const ids = [...new Set([...configuredModels(config), ...listed])]
    .filter((id) => id.toLowerCase().includes(filter?.toLowerCase() ?? ''))
    .toSorted()
  if (ids.length === 0 && filter !== undefined)
    throw new UsageError(
      `no price is known for a model with ${JSON.stringify(filter)} in its name at ${Object.keys(config.providers).join(', ')}`,
    )
  const found = ids.map((id) => {
    const slash = id.indexOf('/')
    const target = { provider: id.slice(0, slash), model: id.slice(slash + 1) }
    const cost = price(target, ONE, now)
    const rates: Rates | null = cost.price?.rates ?? null
    return {
      model: id,
      billing: cost.flat ? 'flat' : 'metered',
      rates,
      source: rates && priceOrigin(target, pricing, now),
    }
  })
  if (json) {
    print(toJson(found, 2))
    return
  }
  const rows = found.map(({ model, rates, source, billing }) => [
    model,
    ...(rates
      ? [rateOf(rates, 'input_mtok'), rateOf(rates, 'cache_read_mtok'), rateOf(rates, 'output_mtok')]
      : ['?', '?', '?']),
    [
      source
        ? `${source.title}${source.date === null ? '' : `, ${source.date}`}`
        : `unknown; write under models: ${priceLine(model)}`,
      ...(billing === 'flat' ? ['paid by a subscription'] : []),
    ].join('; '),
  ])
  const columns = process.stdout.isTTY ? process.stdout.columns : null
  process.stdout.write(table([PRICE_HEADER, ...rows], { columns, right: [1, 2, 3], shrink: ['FROM'] }))
  complain(
    'US dollars per million tokens, now. `waybill models prices PART` lists all models with this part in their name',
  )
}

/** Returns a rate as text; with `+` if it rises with the length of the input. */
function rateOf(rates: Rates, name: string): string {
  if ('image' in rates) return name === 'output_mtok' ? `${rates.image} a picture` : ''
  const rate = rates[name]
  if (typeof rate === 'number') return String(rate)
  return typeof rate === 'object' && rate !== null && 'base' in rate ? `${rate.base}+` : ''
}
