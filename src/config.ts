// File + environment -> a frozen Config, and the secrets, which are held apart from what may be printed.
// The only file that reads waybill.yaml or looks at environment variables. Errors name line, path and remedy.
// Over 250 lines, because half of it is the schema, and the schema is the reference of every setting.
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { LineCounter, parseDocument } from 'yaml'
import { z } from 'zod'
import type { Pricing } from './pricing.ts'

const UNITS: Record<string, number> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  B: 1,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
}

/** A number with a unit, such as `5s` or `20MiB`, as whole base units (ms, bytes). */
const quantity = (units: string[], example: string) =>
  z
    .string()
    .regex(
      new RegExp(`^\\d+(\\.\\d+)?(${units.join('|')})$`),
      `expected a number and a unit, such as ${example}`,
    )
    .transform((text) => Math.round(Number.parseFloat(text) * UNITS[text.replace(/^[\d.]+/, '')]!))

const duration = quantity(['ms', 's', 'm', 'h'], '5s')
/** A duration that a timer counts. It counts ms in 31 bits, and beyond them would fire at once. */
const wait = duration.refine((ms) => ms < 2 ** 31, 'must be at most 596h, because no timer lasts longer')
const bytes = quantity(['B', 'KiB', 'MiB', 'GiB'], '20MiB')
/** How a provider or a gateway key may be called. */
export const name = z.string().regex(/^[\w.-]+$/, 'expected letters, digits, ".", "_" or "-"')
const digest = z.string().regex(/^sha256:[0-9a-f]{64}$/, 'expected sha256: and 64 hex digits')

const provider = z.strictObject({
  api: z.enum(['openai']).describe('The dialect that it speaks.'),
  base_url: z.url({ protocol: /^https?$/ }).describe('Up to and without /chat/completions.'),
  key: z
    .string()
    .regex(
      /^\$[A-Za-z_]\w*$/,
      'write $NAME and put the key into that environment variable; keys do not belong in this file',
    )
    .optional()
    .describe('$NAME of the environment variable that holds the key; absent for a provider that needs none.'),
})

const price = z.strictObject({
  input: z.number().nonnegative(),
  output: z.number().nonnegative(),
  cached_input: z.number().nonnegative().optional(),
  cache_write: z.number().nonnegative().optional(),
})

const tokens = z.int().positive()

const model = z.strictObject({
  type: z.enum(['chat', 'embedding', 'image']).default('chat'),
  tier: z.string().min(1).optional().describe('Price class, for every target that does not name its own.'),
  context: tokens
    .optional()
    .describe('The longest input that it takes, tokens; no limit is assumed where none is given.'),
  capabilities: z
    .strictObject({ tools: z.boolean().optional(), images: z.boolean().optional() })
    .default({})
    .describe('What it can take; only `false` keeps a call away, what is not said is assumed.'),
  price: price.optional().describe('US dollars per million tokens, instead of the built-in table.'),
})

/** The strategies that a route may name; `routing/table.ts` holds one implementation for each. */
export const STRATEGIES = [
  'priority',
  'weighted',
  'round-robin',
  'random',
  'cheapest',
  'fastest',
  'least-busy',
] as const

const effort = z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])

const rule = z.strictObject({
  when: z
    .strictObject({
      input_tokens: z
        .strictObject({ over: tokens.optional(), under: tokens.optional() })
        .optional()
        .describe('Estimated tokens of the messages and tools: more than `over`, fewer than `under`.'),
      tools: z.boolean().optional().describe('The call offers tools; false: it offers none.'),
      images: z.boolean().optional().describe('The call holds an image; false: it holds none.'),
      effort: z
        .union([effort, z.array(effort).min(1)], 'expected a reasoning effort, such as high, or a list')
        .optional()
        .describe('The reasoning effort that the call asks for, or several of them.'),
    })
    .describe('All of it must be so.'),
  use: z
    .strictObject({ tier: z.string().optional(), target: z.string().optional() })
    .describe('A tier of the route, or one of its targets (provider/model): only these are tried.'),
})

const route = z.strictObject({
  strategy: z.enum(STRATEGIES).default('priority'),
  description: z.string().default(''),
  sticky: z
    .literal('session')
    .optional()
    .describe('The calls of a session stay with the target that served the first, as long as it is ready.'),
  rules: z
    .array(rule)
    .default([])
    .describe('The first whose condition holds narrows the targets; the strategy then orders these.'),
  answer_model: z
    .enum(['provider', 'requested'])
    .default('provider')
    .describe("requested: the answer's `model` is the id that was asked for."),
  cache: z.boolean().optional().describe('Whether this route uses the cache, instead of cache.enabled.'),
  targets: z
    .array(
      z.strictObject({
        model: z.string().describe('provider/model'),
        tier: z.string().optional(),
        weight: z.number().nonnegative().default(1),
      }),
    )
    .min(1),
})

const resilience = z.strictObject({
  connect: wait.prefault('5s').describe('To open a connection to a provider.'),
  stream_first_event: wait.prefault('60s').describe('From the request to the first event of a stream.'),
  answer: wait.prefault('600s').describe('From the request to the end of an answer that is not streamed.'),
  idle: wait
    .prefault('120s')
    .describe('Between two chunks of a stream, pings included; and for a client to take something.'),
  retries: z
    .int()
    .min(0)
    .max(5)
    .default(1)
    .describe('Further tries of a target that could not be connected to.'),
  cooldown: duration
    .prefault('30s')
    .describe('How long a target that failed is passed over; Retry-After goes first.'),
})

const retention = z.strictObject({
  rows: z.int().min(1).default(100_000).describe('Calls on record. Open calls are never dropped.'),
  days: z.number().positive().default(30),
  bytes: bytes
    .refine((value) => value >= 2 ** 20, 'at least 1MiB')
    .prefault('1GiB')
    .describe('Database, write-ahead log and artifacts together.'),
})

const artifacts = z.strictObject({
  keep: z
    .int()
    .min(0)
    .max(100_000)
    .default(500)
    .describe('How many of the newest calls keep their artifact.'),
  bytes: bytes
    .prefault('64MiB')
    .describe('How large the artifacts may be together; never more than an eighth of `retention.bytes`.'),
  bodies: z.boolean().default(false).describe('Keep requests and answers too, prompts included.'),
})

/** Nobody counts requests for longer than a day. */
const ONE_DAY = 24 * UNITS.h!

const key = z.strictObject({
  name,
  role: z.enum(['client', 'admin']).default('client'),
  digest,
  rate: z
    .strictObject({
      requests: z.int().min(1),
      per: duration.refine((ms) => ms >= 1_000 && ms <= ONE_DAY, 'must be between 1s and 24h'),
    })
    .optional()
    .describe('How many calls it may make in each window of this length; more are refused with 429.'),
  budget: z
    .strictObject({ usd: z.number().positive(), per: z.literal('month').default('month') })
    .optional()
    .describe(
      'US dollars that its calls may cost in a calendar month (UTC); then they are refused with 429.',
    ),
})

const cache = z.strictObject({
  enabled: z
    .boolean()
    .default(false)
    .describe('Answer a request that was answered before from memory, for the same key and target.'),
  ttl: duration
    .refine((ms) => ms >= 1_000, 'must be at least 1s')
    .prefault('1h')
    .describe('How long an answer may be repeated.'),
  max_bytes: bytes
    .prefault('64MiB')
    .describe('Memory for answers; one larger than a sixteenth of it is not kept.'),
})

const shape = z.strictObject({
  server: z
    .strictObject({
      host: z.string().default('127.0.0.1'),
      port: z.int().min(0).max(65535).default(4949),
      body_limit: bytes.prefault('20MiB'),
      allowed_hosts: z.array(z.string()).default([]),
      headers_timeout: wait
        .refine((ms) => ms >= 100, 'must be at least 100ms')
        .prefault('10s')
        .describe('For a client to send the headers of a request; a slower one is cut off with 408.'),
      request_timeout: wait
        .prefault('120s')
        .describe('For a client to send a whole request, body included; not for its answer.'),
    })
    .prefault({}),
  data: z.string().default('./data').describe('Directory of the database; relative to this file.'),
  durability: z
    .enum(['process', 'full'])
    .default('process')
    .describe('process: survives a killed gateway; full: survives a power cut too.'),
  providers: z.record(name, provider).default({}),
  models: z.record(z.string(), model).default({}),
  routes: z.record(z.string().min(1), route).default({}),
  resilience: resilience.prefault({}),
  retention: retention.prefault({}),
  artifacts: artifacts.prefault({}),
  cache: cache.prefault({}),
  keys: z.array(key).default([]),
})

/** What the routing table and the names in it must add up to. */
const schema = shape.superRefine((config, context) => {
  const complain = (path: PropertyKey[], message: string) =>
    context.addIssue({ code: 'custom', path, message })
  const known = (id: string) =>
    Object.keys(config.providers).some((p) => id.startsWith(`${p}/`) && id.length > p.length + 1)
  const providers = `known providers: ${Object.keys(config.providers).join(', ') || 'none'}`

  if (config.server.request_timeout < config.server.headers_timeout)
    complain(['server', 'request_timeout'], 'must not be shorter than headers_timeout, which is a part of it')
  for (const id of Object.keys(config.models))
    if (!known(id)) complain(['models', id], `must be provider/model; ${providers}`)
  for (const [id, { targets, rules }] of Object.entries(config.routes)) {
    if (Object.hasOwn(config.providers, id.split('/')[0]!))
      complain(['routes', id], 'a route may not begin with the name of a provider')
    for (const [index, target] of targets.entries())
      if (!known(target.model))
        complain(
          ['routes', id, 'targets', index, 'model'],
          `"${target.model}" must be provider/model; ${providers}`,
        )
    if (targets.length > 0 && targets.every((target) => target.weight === 0))
      complain(['routes', id, 'targets'], 'all weights are 0')
    const tiers = new Set(targets.map((target) => target.tier ?? config.models[target.model]?.tier))
    for (const [index, { when, use }] of rules.entries()) {
      const path = ['routes', id, 'rules', index]
      if (Object.keys(when).length === 0) complain([...path, 'when'], 'says no condition')
      if ((use.tier === undefined) === (use.target === undefined))
        complain([...path, 'use'], 'name either a tier or a target')
      else if (use.tier !== undefined && !tiers.has(use.tier))
        complain([...path, 'use', 'tier'], `no target of the route has the tier "${use.tier}"`)
      else if (use.target !== undefined && !targets.some((target) => target.model === use.target))
        complain([...path, 'use', 'target'], `the route has no target "${use.target}"`)
    }
  }
  const names = config.keys.map((key) => key.name)
  for (const [index, each] of names.entries())
    if (names.indexOf(each) !== index) complain(['keys', index, 'name'], `"${each}" is used twice`)
  const digests = config.keys.map((key) => key.digest)
  for (const [index, each] of digests.entries()) {
    const first = digests.indexOf(each)
    if (names[first] !== names[index])
      complain(
        ['keys', index, 'digest'],
        `"${names[index]}" and "${names[first]}" have the same digest, so they would be one key; make another with \`waybill key new\``,
      )
  }
})

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
  return {
    ...loaded,
    config: Object.freeze({ ...loaded.config, data: resolve(dirname(file), loaded.config.data) }),
  }
}

/** The same for a text; `file` is only named in errors. */
export function parseConfig(text: string, file: string, { env, replay = false }: LoadOptions): Loaded {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const at = (offset: number) => {
    const { line, col } = lines.linePos(offset)
    return `${file}:${line}:${col}`
  }
  if (document.errors.length > 0)
    throw new ConfigError(document.errors.map((error) => `${at(error.pos[0])} ${error.message}`))

  /** Position of a path, or of the nearest thing around it that exists. */
  const locate = (path: readonly PropertyKey[]): string => {
    for (let length = path.length; length > 0; length--) {
      const node = document.getIn(path.slice(0, length), true) as
        | { range?: [number, number, number] }
        | undefined
      if (node?.range) return at(node.range[0])
    }
    return at(0)
  }
  const said = (path: readonly PropertyKey[], message: string) =>
    `${locate(path)} ${path.join('.') || 'file'}: ${message}`

  const parsed = schema.safeParse(override(document.toJS() ?? {}, env))
  if (!parsed.success)
    throw new ConfigError(
      parsed.error.issues.map((issue) => {
        const unknown = issue.code === 'unrecognized_keys' ? issue.keys[0] : undefined
        const path = unknown === undefined ? issue.path : [...issue.path, unknown]
        return said(path, unknown === undefined ? issue.message : 'no such setting')
      }),
    )

  const secrets = new Map<string, string>()
  const missing: string[] = []
  for (const [id, { key }] of Object.entries(parsed.data.providers)) {
    const value = key && env[key.slice(1)]?.trim()
    if (replay) continue // nobody is reached, so nothing is held
    if (value && !/^[\x21-\x7e]+$/.test(value))
      missing.push(
        said(
          ['providers', id, 'key'],
          `environment variable ${key.slice(1)} holds characters that no key has`,
        ),
      )
    else if (value) secrets.set(id, value)
    else if (key)
      missing.push(
        said(
          ['providers', id, 'key'],
          `environment variable ${key.slice(1)} is not set; export it, or take the provider out`,
        ),
      )
  }
  if (missing.length > 0) throw new ConfigError(missing)
  return { config: Object.freeze(parsed.data), secrets }
}

/** Environment variables that go before the file: WAYBILL_HOST, _PORT, _DATA, _ALLOWED_HOSTS, _KEY_DIGESTS. */
function override(raw: unknown, env: LoadOptions['env']): unknown {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return raw
  const config: Record<string, unknown> = { ...raw }
  const server: Record<string, unknown> = { ...(config.server as object | undefined) }
  if (env.WAYBILL_HOST) server.host = env.WAYBILL_HOST
  if (env.WAYBILL_PORT) server.port = Number(env.WAYBILL_PORT)
  if (env.WAYBILL_ALLOWED_HOSTS) server.allowed_hosts = env.WAYBILL_ALLOWED_HOSTS.split(',')
  if (Object.keys(server).length > 0) config.server = server
  if (env.WAYBILL_DATA) config.data = resolve(env.WAYBILL_DATA)
  if (env.WAYBILL_KEY_DIGESTS)
    config.keys = env.WAYBILL_KEY_DIGESTS.split(',').map((entry) => {
      const [who = '', digest] = entry.split('=')
      const [name, role = 'client'] = who.split(':')
      return { name, role, digest }
    })
  return config
}

/** JSON Schema of waybill.yaml, for editors; written to docs/waybill.schema.json. */
export const configJsonSchema = (): object => z.toJSONSchema(shape, { io: 'input' })

/** What the configuration says that bears on prices. */
export function pricingOf({ providers, models }: Config): Pricing {
  const baseUrls = Object.fromEntries(Object.entries(providers).map(([id, { base_url }]) => [id, base_url]))
  const own = Object.entries(models).flatMap(([id, { price }]) => (price ? [[id, price] as const] : []))
  return { baseUrls, own: Object.fromEntries(own) }
}

/** The settings that differ and that a running gateway cannot change. */
export function needRestart(before: Config, after: Config): string[] {
  const fixed = ({ server, data, durability, retention, artifacts }: Config) => ({
    'server.host': server.host,
    'server.port': server.port,
    'server.headers_timeout': server.headers_timeout,
    'server.request_timeout': server.request_timeout,
    data,
    durability,
    'retention.rows': retention.rows,
    'retention.days': retention.days,
    'retention.bytes': retention.bytes,
    'artifacts.keep': artifacts.keep,
    'artifacts.bytes': artifacts.bytes,
  })
  const [old, wanted] = [fixed(before), fixed(after)]
  return Object.keys(old).filter((name) => old[name as keyof typeof old] !== wanted[name as keyof typeof old])
}
