// Builds a frozen Config from the file and the environment. Keeps secrets separate from everything that may
// be printed. The only file that reads waybill.yaml or environment variables. Errors name the line, the path
// and the remedy. config/schema.ts defines the settings.
import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import { ConfigError } from '../core/errors.ts'
import { type FactLayer, FactsError, parseFacts } from '../models/facts.ts'
import { readBounded } from '../shared/bounded.ts'
import { escaped } from '../terminal/clean.ts'
import { fileReason } from '../terminal/file-error.ts'
import { type Kept, keysFileOf, readKept } from '../terminal/keys.ts'
import { type JsonSchema, mistakes, type Problem } from '../yaml/wording.ts'
import { readYaml } from '../yaml/yaml.ts'
import { inconsistencies, MIN_RESPONSES_KEY, missingSecrets, providerSecrets } from './consistency.ts'
import { withOtelVariables } from './otel.ts'
import { configJsonSchema, priceFile, schema } from './schema.ts'

/** The configuration. Safe to print, because it contains no secret. Durations are in ms, sizes in bytes. */
export type Config = Readonly<z.output<typeof schema>> & {
  /** Facts that `waybill models sync` wrote next to the configuration. */
  readonly synced?: FactLayer
}
export type ProviderConfig = Config['providers'][string]
export type KeyConfig = Config['keys'][number]
export type ModelConfig = Config['models'][string]
export type RouteConfig = Config['routes'][string]
export type RuleConfig = RouteConfig['rules'][number]

/** Values of `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`, in lower or upper case. */
interface ProxyVariables {
  readonly http?: string | undefined
  readonly https?: string | undefined
  readonly except?: string | undefined
}

/** The configuration and, separately, the secrets. */
export interface Loaded {
  readonly config: Config
  /** Keys by provider, or by `provider/name` if the provider has several keys. */
  readonly secrets: ReadonlyMap<string, string>
  /** Address of the shared log, a secret; absent without `fleet`, and in replay. */
  readonly fleetUrl?: string | undefined
  /** Proxies for providers; their URLs may contain passwords. Absent in replay. */
  readonly proxies?: ProxyVariables | undefined
  /** Headers for the collector of traces, a secret. */
  readonly telemetryHeaders?: string | undefined
  /** Key that encrypts stored responses, a secret; absent if none are stored. */
  readonly responsesKey?: string | undefined
}

interface LoadOptions {
  readonly env: Readonly<Record<string, string | undefined>>
  /** True in replay. A missing key is then no error, because no provider is reached. */
  readonly replay?: boolean
  /** Keys from the file next to the configuration; `loadConfig` reads them. */
  readonly kept?: Kept
  /** True to ignore the file of `waybill models sync`. */
  readonly ignoreSynced?: boolean
}

/**
 * Maximum size of a configuration or a price table, bytes. All calls wait during a reload; 5,000 routes take
 * a third of a second.
 */
const MAX_BYTES = 2 ** 19

/** Reads, checks and freezes the configuration in `file`. Throws ConfigError with every problem found. */
export function loadConfig(file: string, options: LoadOptions): Loaded {
  let text: string
  try {
    text = readBounded(file, MAX_BYTES).toString('utf8')
  } catch (cause) {
    throw new ConfigError([
      `${file}: ${fileReason(cause)}; write one, name another with --config FILE, or try \`waybill serve --replay\`, which needs none`,
    ])
  }
  const kept = options.replay ? undefined : readKept(keysFileOf(file))
  const loaded = parseConfig(text, file, { ...options, ...(kept && { kept }) })
  const { config } = loaded
  const beside = (path: string) => resolve(dirname(file), path)
  const models = config.prices ? withPrices(config, beside(config.prices)) : config.models
  const synced = options.ignoreSynced ? undefined : readSynced(syncedFile(file))
  const fleet = config.fleet?.ca ? { ...config.fleet, ca: beside(config.fleet.ca) } : config.fleet
  return {
    ...loaded,
    config: Object.freeze({
      ...config,
      providers: withFullPaths(config.providers, beside),
      models,
      data: beside(config.data),
      ...(fleet && { fleet }),
      ...(synced && { synced }),
    }),
  }
}

/** Returns the file of `waybill models sync` for a configuration: waybill.models.yaml next to waybill.yaml. */
export const syncedFile = (file: string): string => `${file.replace(/\.ya?ml$/, '')}.models.yaml`

/** Maximum size of the synced file, bytes. */
const MAX_SYNCED_BYTES = 2 ** 22

function readSynced(file: string): FactLayer | undefined {
  if (!existsSync(file)) return undefined
  const remedy = 'remove it, or run `waybill models sync` again'
  let text: string
  try {
    text = readBounded(file, MAX_SYNCED_BYTES).toString('utf8')
  } catch (cause) {
    throw new ConfigError([`${file}: ${fileReason(cause)}; ${remedy}`])
  }
  try {
    return parseFacts(text, file, 'synced')
  } catch (error) {
    if (!(error instanceof FactsError)) throw error
    throw new ConfigError([`${error.message}; ${remedy}`])
  }
}

/** Returns the providers with the full paths of their files. Throws ConfigError for unusable certificates. */
const withFullPaths = (
  providers: Config['providers'],
  beside: (path: string) => string,
): Config['providers'] =>
  Object.fromEntries(
    Object.entries(providers).map(([id, { keys, ca, ...provider }]) => [
      id,
      {
        ...provider,
        ...(ca && { ca: certificates(`providers.${id}.ca`, beside(ca)) }),
        ...(keys && { keys: keys.map((key) => (key.file ? { ...key, file: beside(key.file) } : key)) }),
      },
    ]),
  )

/** Returns the path of a file if it contains certificates. */
function certificates(setting: string, file: string): string {
  try {
    if (readBounded(file, MAX_BYTES).includes('-----BEGIN CERTIFICATE-----')) return file
  } catch (cause) {
    throw new ConfigError([`${setting}: ${file}: ${fileReason(cause)}`])
  }
  throw new ConfigError([`${setting}: ${file} holds no certificate in PEM`])
}

/** Returns the models. Models without a price in the configuration have the price in `file`. */
function withPrices({ models }: Config, file: string): Config['models'] {
  let text: string
  try {
    text = readBounded(file, MAX_BYTES).toString('utf8')
  } catch (cause) {
    throw new ConfigError([`prices: ${file}: ${fileReason(cause)}; write the file, or remove \`prices\``])
  }
  const yaml = readYaml(text, file)
  const raw = yaml.raw ?? {}
  const json = () => z.toJSONSchema(priceFile) as JsonSchema
  const problems = [...yaml.problems, ...(yaml.broken ? [] : mistakes(raw, { schema: priceFile, json }))]
  if (problems.length > 0) throw new ConfigError(linesOf(problems, yaml, new Map()))
  const priced = Object.entries(priceFile.parse(raw)).map(([id, price]) => {
    const model = models[id] ?? schema.shape.models.parse({ [id]: {} })[id]!
    return [id, { ...model, price: model.price ?? price }] as const
  })
  return { ...models, ...Object.fromEntries(priced) }
}

/** Checks and freezes the configuration in `text`. `file` only appears in errors. */
export function parseConfig(
  text: string,
  file: string,
  { env, replay = false, kept = { values: {}, problem: null } }: LoadOptions,
): Loaded {
  const yaml = readYaml(text, file)
  const { raw, variables, problems: ofVariables } = override(yaml.raw ?? {}, env)
  const problems: Problem[] = [...yaml.problems]
  const secretOf = (variable: string) => env[variable]?.trim() || kept.values[variable]?.trim()
  if (yaml.raw === null) problems.push({ path: [], message: 'is empty; name a provider and a route' })
  else if (!yaml.broken)
    problems.push(...problemsIn(raw), ...(replay ? [] : missingSecrets(raw, secretOf, kept.problem)))
  if (problems.length + ofVariables.length > 0)
    throw new ConfigError([...ofVariables, ...linesOf(problems, yaml, variables)])

  const config = schema.parse(raw)
  const secrets = new Map<string, string>()
  if (!replay)
    // replay reaches no provider, so no key is needed
    for (const [id, provider] of Object.entries(config.providers))
      for (const { of, name } of providerSecrets(id, provider)) {
        const value = typeof name === 'string' && secretOf(name.slice(1))
        if (value) secrets.set(of, value)
      }
  const fleetUrl = replay ? undefined : config.fleet && secretOf(config.fleet.url.slice(1))
  const telemetryHeaders = config.telemetry?.headers && secretOf(config.telemetry.headers.slice(1))
  const { store } = config.responses
  const secret = secretOf(store.key.slice(1)) ?? ''
  const responsesKey = secret.length >= MIN_RESPONSES_KEY ? secret : undefined
  const proxies = replay ? undefined : proxiesIn(env)
  return { config: Object.freeze(config), secrets, fleetUrl, telemetryHeaders, responsesKey, proxies }
}

/** Returns the problems of a configuration, secrets apart. `raw`: its values as written. */
export const problemsIn = (raw: unknown): Problem[] => [
  ...mistakes(raw, { schema, json: configJsonSchema }),
  ...inconsistencies(raw),
]

/** Returns the proxies in the environment. Throws ConfigError for a proxy that is not a URL. */
function proxiesIn(env: LoadOptions['env']): ProxyVariables {
  const read = (name: string) => env[name.toLowerCase()]?.trim() || env[name]?.trim() || undefined
  const [http, https] = ['HTTP_PROXY', 'HTTPS_PROXY'].map((name) => {
    const value = read(name)
    if (value === undefined) return undefined
    const url = URL.parse(/^\w+:\/\//.test(value) ? value : `http://${value}`)
    if (url?.protocol === 'http:' || url?.protocol === 'https:') return url.href
    throw new ConfigError([
      `${name}: must be the URL of an HTTP proxy, such as http://proxy.example.org:3128`,
    ])
  })
  return { http, https, except: read('NO_PROXY') }
}

/** Returns the problems as lines: first environment variables, then settings in the order of the file. */
function linesOf(
  problems: readonly Problem[],
  { offsetOf, placeOf }: ReturnType<typeof readYaml>,
  variables: ReadonlyMap<string, string>,
): string[] {
  const placed = problems.map((problem) => {
    const { path, message } = problem
    const variable = variables.get(String(path[0])) ?? variables.get(path.slice(0, 2).join('.'))
    const said = path.length > 0 || problem.offset === undefined ? `${nameOf(path)}: ${message}` : message
    return variable === undefined
      ? { offset: offsetOf(problem), line: `${placeOf(offsetOf(problem))} ${said}` }
      : { offset: -1, line: `${variable}: ${said}` }
  })
  return placed.sort((a, b) => a.offset - b.offset).map(({ line }) => line)
}

const nameOf = (path: readonly PropertyKey[]): string =>
  path.map((part) => escaped(String(part))).join('.') || 'file'

/**
 * Returns the file's settings, overridden by environment variables. `variables`: the variable of each
 * setting.
 */
function override(
  raw: unknown,
  env: LoadOptions['env'],
): { raw: unknown; variables: ReadonlyMap<string, string>; problems: readonly string[] } {
  const variables = new Map<string, string>()
  const problems: string[] = []
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return { raw, variables, problems }
  const config: Record<string, unknown> = { ...raw }
  const server: Record<string, unknown> = {}
  const take = (variable: string, setting: string, put: (value: string) => void) => {
    const value = env[variable]
    if (!value) return
    variables.set(setting, variable)
    put(value)
  }
  take('WAYBILL_HOST', 'server.host', (value) => (server.host = value))
  take('WAYBILL_PORT', 'server.port', (value) => (server.port = Number(value)))
  take('WAYBILL_ALLOWED_HOSTS', 'server.allowed_hosts', (value) => (server.allowed_hosts = value.split(',')))
  take('WAYBILL_DATA', 'data', (value) => (config.data = resolve(value)))
  if (typeof config.fleet === 'object')
    take(
      'WAYBILL_INSTANCE',
      'fleet.instance',
      (value) => (config.fleet = { ...(config.fleet as object), instance: value }),
    )
  if (isMapping(config.telemetry)) {
    const { telemetry, variables: ofTraces, problems: wrong } = withOtelVariables(config.telemetry, env)
    config.telemetry = telemetry
    for (const [setting, variable] of ofTraces) variables.set(setting, variable)
    problems.push(...wrong)
  }
  take('WAYBILL_KEY_DIGESTS', 'keys', (value) => (config.keys = value.split(',').map(keyOf)))
  if (Object.keys(server).length > 0) config.server = { ...(config.server as object | undefined), ...server }
  return { raw: config, variables, problems }
}

const isMapping = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Parses NAME:ROLE=DIGEST or NAME=DIGEST. */
function keyOf(entry: string): object {
  const [who = '', digest] = entry.split('=')
  const [name, role = 'client'] = who.split(':')
  return { name, role, digest }
}

/** Returns the `provider/model` of each target of the routes, each once. */
export const routedModels = ({ routes }: Pick<Config, 'routes'>): string[] => [
  ...new Set(Object.values(routes).flatMap(({ targets }) => targets.map(({ model }) => model))),
]

/** Returns every `provider/model` that a route or `models` names, each once, in alphabetical order. A pattern names none. */
export const configuredModels = (config: Pick<Config, 'routes' | 'models'>): string[] =>
  [
    ...new Set([...Object.keys(config.models).filter((id) => !id.includes('*')), ...routedModels(config)]),
  ].sort()

/** Settings that a running gateway cannot change, each with a function for the value to compare. */
const FIXED: Readonly<Record<string, (config: Config) => unknown>> = {
  'server.host': ({ server }) => server.host,
  'server.port': ({ server }) => server.port,
  'server.headers_timeout': ({ server }) => server.headers_timeout,
  'server.request_timeout': ({ server }) => server.request_timeout,
  data: ({ data }) => data,
  durability: ({ durability }) => durability,
  'retention.rows': ({ retention }) => retention.rows,
  'retention.days': ({ retention }) => retention.days,
  'retention.bytes': ({ retention }) => retention.bytes,
  'artifacts.keep': ({ artifacts }) => artifacts.keep,
  'artifacts.bytes': ({ artifacts }) => artifacts.bytes,
  'responses.store': ({ responses }) => JSON.stringify(responses.store),
  'keep.days': ({ keep }) => keep.days,
  fleet: ({ fleet }) => JSON.stringify(fleet),
  telemetry: ({ telemetry }) => JSON.stringify(telemetry),
}

export const needsRestart = (setting: string): boolean =>
  Object.keys(FIXED).some((name) => setting === name || setting.startsWith(`${name}.`))

/** Returns the changed settings that need a restart. */
export const needRestart = (before: Config, after: Config): string[] =>
  Object.entries(FIXED)
    .filter(([, value]) => value(before) !== value(after))
    .map(([name]) => name)
