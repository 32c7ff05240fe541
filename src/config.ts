// File + environment -> a frozen Config, and the secrets, which are kept apart from what may be printed.
// The only file that reads waybill.yaml or looks at environment variables. Errors name line, path and remedy.
// The settings of the file: config/schema.ts.
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import { inconsistencies, missingSecrets } from './config/consistency.ts'
import type { JsonSchema } from './config/json-schema.ts'
import { withOtelVariables } from './config/otel.ts'
import type { Problem } from './config/problem.ts'
import { configJsonSchema, priceFile, schema } from './config/schema.ts'
import { mistakes } from './config/wording.ts'
import { readYaml } from './config/yaml.ts'
import { escaped } from './terminal/clean.ts'

/** The configuration; safe to print, secrets are not in it. Durations in ms, sizes in bytes. */
export type Config = Readonly<z.output<typeof schema>>
export type ProviderConfig = Config['providers'][string]
export type KeyConfig = Config['keys'][number]
export type ModelConfig = Config['models'][string]
export type RouteConfig = Config['routes'][string]
export type RuleConfig = RouteConfig['rules'][number]

/** The configuration and, apart from it, each provider's key. */
export interface Loaded {
  readonly config: Config
  /** Provider name -> key. */
  readonly secrets: ReadonlyMap<string, string>
  /** The address of the shared log, which is a secret; absent without `fleet`, and in replay. */
  readonly fleetUrl?: string | undefined
  /** Headers for the collector of traces, which are a secret. */
  readonly telemetryHeaders?: string | undefined
}

/** A configuration that cannot be used. `problems` are complete lines for a person. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly problems: readonly string[]
  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.problems = problems
  }
}

export interface LoadOptions {
  readonly env: Readonly<Record<string, string | undefined>>
  /** In replay no provider is reached, so a key that is not in the environment is no error. */
  readonly replay?: boolean
}

/** Reads, checks and freezes the configuration in `file`. Throws ConfigError with every problem found. */
export function loadConfig(file: string, options: LoadOptions): Loaded {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (cause) {
    const reason =
      (cause as NodeJS.ErrnoException).code === 'ENOENT' ? 'no such file' : (cause as Error).message
    throw new ConfigError([
      `${file}: ${reason}; write one, name another with --config FILE, or try \`waybill serve --replay\`, which needs none`,
    ])
  }
  const loaded = parseConfig(text, file, options)
  const { config } = loaded
  const beside = (path: string) => resolve(dirname(file), path)
  const models = config.prices ? withPrices(config, beside(config.prices)) : config.models
  const fleet = config.fleet?.ca ? { ...config.fleet, ca: beside(config.fleet.ca) } : config.fleet
  return {
    ...loaded,
    config: Object.freeze({ ...config, models, data: beside(config.data), ...(fleet && { fleet }) }),
  }
}

/** The models with the prices of `file`, where the configuration sets none itself. */
function withPrices({ models }: Config, file: string): Config['models'] {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (cause) {
    throw new ConfigError([`prices: ${(cause as Error).message}; write the file, or remove \`prices\``])
  }
  const yaml = readYaml(text, file)
  const raw = yaml.raw ?? {}
  const json = z.toJSONSchema(priceFile) as JsonSchema
  const problems = [...yaml.problems, ...(yaml.broken ? [] : mistakes(raw, { schema: priceFile, json }))]
  if (problems.length > 0) throw new ConfigError(linesOf(problems, yaml, new Map()))
  const priced = Object.entries(priceFile.parse(raw)).map(([id, price]) => {
    const model = models[id] ?? schema.shape.models.parse({ [id]: {} })[id]!
    return [id, { ...model, price: model.price ?? price }] as const
  })
  return { ...models, ...Object.fromEntries(priced) }
}

/** The same for a text; `file` is only named in errors. */
export function parseConfig(text: string, file: string, { env, replay = false }: LoadOptions): Loaded {
  const yaml = readYaml(text, file)
  const { raw, variables, problems: ofVariables } = override(yaml.raw ?? {}, env)
  const problems: Problem[] = [...yaml.problems]
  if (yaml.raw === null) problems.push({ path: [], message: 'is empty; name a provider and a route' })
  else if (!yaml.broken)
    problems.push(
      ...mistakes(raw, { schema, json: configJsonSchema() }),
      ...inconsistencies(raw),
      ...(replay ? [] : missingSecrets(raw, env)),
    )
  if (problems.length + ofVariables.length > 0)
    throw new ConfigError([...ofVariables, ...linesOf(problems, yaml, variables)])

  const config = schema.parse(raw)
  const secrets = new Map<string, string>()
  if (!replay)
    // in replay no provider is reached, so no key is needed
    for (const [id, { key }] of Object.entries(config.providers)) {
      const value = key && env[key.slice(1)]?.trim()
      if (value) secrets.set(id, value)
    }
  const fleetUrl = replay ? undefined : config.fleet && env[config.fleet.url.slice(1)]?.trim()
  const telemetryHeaders = config.telemetry?.headers && env[config.telemetry.headers.slice(1)]?.trim()
  return { config: Object.freeze(config), secrets, fleetUrl, telemetryHeaders }
}

/** The problems as lines, in the order of the file; those of an environment variable come first, under its name. */
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

/** The file with what environment variables say. `variables`: setting -> the variable that it comes from. */
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

/** NAME:ROLE=DIGEST, or NAME=DIGEST. */
function keyOf(entry: string): object {
  const [who = '', digest] = entry.split('=')
  const [name, role = 'client'] = who.split(':')
  return { name, role, digest }
}
