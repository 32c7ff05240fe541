// What may stand in waybill.yaml: every setting with its kind, its default and its meaning. The schema is the
// reference: docs/configuration.md and the JSON Schema for editors are generated from it, so each setting has a
// description. Knows no file and no environment, and not whether the parts fit together (consistency.ts).
// Over 250 lines, because it is a list of settings.
import { z } from 'zod'
import { LOSSES, type Loss } from '../losses.ts'
import { TRACE_PARENTS } from '../tracing.ts'
import type { JsonSchema } from './json-schema.ts'

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

/** A number with a unit, such as `5s` or `20MiB`, as whole base units (ms, bytes). `title` is what the docs call it. */
const quantity = (title: string, units: string[], example: string) => {
  const wrong = `must be a number and a unit, such as ${example}`
  return z
    .string(wrong)
    .regex(new RegExp(`^\\d+(\\.\\d+)?(${units.join('|')})$`), wrong)
    .meta({ title })
    .transform((text) => Math.round(Number.parseFloat(text) * UNITS[text.replace(/^[\d.]+/, '')]!))
}

const duration = quantity('duration', ['ms', 's', 'm', 'h'], '5s')
/** A duration that a timer counts. It counts ms in 31 bits, and beyond them would fire at once. */
const wait = duration.refine((ms) => ms < 2 ** 31, 'must be at most 596h, because no timer lasts longer')
const bytes = quantity('size', ['B', 'KiB', 'MiB', 'GiB'], '20MiB')
/** How a provider or a gateway key may be called. */
export const name = z.string().regex(/^[\w.-]+$/, 'must consist of letters, digits, ".", "_" or "-"')
const digest = z
  .string()
  .regex(/^sha256:[0-9a-f]{64}$/, 'must be sha256: and 64 hex digits; `waybill key new NAME` prints it')

/** Paths that are added to a base address, so that it may not end with one. */
const ENDPOINTS = /\/(chat\/completions|completions|responses|messages|embeddings|models)\/?$/

const baseUrl = z.url({ protocol: /^https?$/ }).superRefine((text, context) => {
  const url = URL.parse(text)
  if (!url) return
  const complain = (message: string) => context.addIssue({ code: 'custom', message })
  const [endpoint] = ENDPOINTS.exec(url.pathname) ?? []
  if (endpoint) complain(`leave out ${endpoint.replace(/\/$/, '')}; it is added to each request`)
  else if (url.username || url.password)
    complain(
      'must not hold a user name or password; put the key into an environment variable and name it under key',
    )
  else if (url.search || url.hash) complain('must not hold a query or fragment')
})

/** What a model makes; what nothing is said of makes the first. */
export const MODEL_TYPES = ['chat', 'embedding', 'image'] as const

/** The dialects that there are; `dialects/registry.ts` holds each of them. */
export const DIALECT_NAMES = ['chat', 'messages', 'responses', 'embeddings', 'images', 'gemini'] as const

/** Dialects by whose they are. What only OpenAI itself offers under its own name is not in `openai`. */
const ALIASES: Readonly<Record<string, readonly string[]>> = {
  openai: ['chat', 'embeddings', 'images'],
  anthropic: ['messages'],
}

const dialect = z.enum(['openai', 'anthropic', ...DIALECT_NAMES])

/** $NAME of an environment variable that holds a secret. */
const secret = (what: string) =>
  z.string().superRefine((text, context) => {
    if (/^\$[A-Za-z_]\w*$/.test(text)) return
    const [, inBraces] = /^\$\{([A-Za-z_]\w*)\}$/.exec(text) ?? []
    context.addIssue({
      code: 'custom',
      message: inBraces
        ? `write $${inBraces}, without braces`
        : `write $NAME and put the ${what} into that environment variable; ${what}s do not belong in this file`,
    })
  })

const provider = z.strictObject({
  api: z
    .union([dialect, z.array(dialect).min(1)], {
      error: ({ input }) =>
        input === undefined
          ? 'is missing'
          : `must be one of ${dialect.options.join(', ')}, or a list of them`,
    })
    .transform((api): readonly string[] => [
      ...new Set([api].flat().flatMap((name) => ALIASES[name] ?? [name])),
    ])
    .describe(
      'The dialect that it speaks, or a list of them: chat, embeddings, images (OpenAI; `openai` means these three), messages (Anthropic; `anthropic` means the same), responses (OpenAI, what Codex speaks), gemini (Google).',
    ),
  base_url: baseUrl.describe(
    'Up to and without /chat/completions or /responses; for messages with or without the /v1 before /messages, for gemini with or without the /v1beta before /models.',
  ),
  key: secret('key')
    .optional()
    .describe('$NAME of the environment variable that holds the key; absent for a provider that needs none.'),
  family: name
    .optional()
    .describe(
      'Whose sealed reasoning (signatures, encrypted reasoning) it makes and can read, where calls are translated: providers with the same word can read each other’s. Where nothing is said, the dialect’s own (messages: anthropic), for chat the name of the provider.',
    ),
  trace: z
    .boolean()
    .default(false)
    .describe(
      "true: it gets W3C's `traceparent`, and the caller's `tracestate`, so that its spans join the trace of the call; needs `telemetry`. No other provider gets either.",
    ),
})

const rate = z.number().nonnegative()
const price = z.strictObject({
  input: rate.describe('Input that is neither read from a cache nor written to one.'),
  output: rate.describe('Output, reasoning included.'),
  cached_input: rate.optional().describe('Input that was read from a cache; `input` where it is not given.'),
  cache_write: rate.optional().describe('Input that was written to a cache; `input` where it is not given.'),
  cache_write_1h: rate
    .optional()
    .describe('Input that was written to be kept for an hour; `cache_write` where it is not given.'),
  image: rate
    .optional()
    .describe(
      'US dollars for each picture that was made, for a model that is priced so; its tokens cost nothing then.',
    ),
})

/** A file of prices alone, which `prices` names. */
export const priceFile = z.record(z.string().regex(/^[^/]+\/.+$/, 'expected provider/model'), price)

const tokens = z.int().positive()

const model = z.strictObject({
  type: z.enum(MODEL_TYPES).default(MODEL_TYPES[0]).describe('What the model is for.'),
  tier: z.string().min(1).optional().describe('Price class, for every target that does not name its own.'),
  context: tokens
    .optional()
    .describe('The longest input that it takes, tokens; no limit is assumed where none is given.'),
  capabilities: z
    .strictObject({
      tools: z.boolean().optional().describe('false: it takes no tools.'),
      images: z.boolean().optional().describe('false: it takes no images.'),
    })
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
        .strictObject({
          over: tokens.optional().describe('More than this.'),
          under: tokens.optional().describe('Fewer than this.'),
        })
        .optional()
        .describe('Estimated tokens of the messages and tools: more than `over`, fewer than `under`.'),
      tools: z.boolean().optional().describe('The call offers tools; false: it offers none.'),
      images: z.boolean().optional().describe('The call holds an image; false: it holds none.'),
      effort: z
        .union(
          [effort, z.array(effort).min(1)],
          'must be a reasoning effort, such as high, or a list of them',
        )
        .optional()
        .describe('The reasoning effort that the call asks for, or several of them.'),
    })
    .describe('All of it must be so.'),
  use: z
    .strictObject({
      tier: z.string().optional().describe('A tier of the route.'),
      target: z.string().optional().describe('One of its targets, provider/model.'),
    })
    .describe('A tier of the route, or one of its targets (provider/model): only these are tried.'),
})

const target = z.strictObject({
  model: z.string().describe('provider/model'),
  tier: z.string().optional().describe('Price class, instead of that of the model.'),
  weight: z.number().nonnegative().default(1).describe('Its share of the calls with strategy `weighted`.'),
})

const route = z.strictObject({
  strategy: z.enum(STRATEGIES).default('priority').describe('How a target is chosen.'),
  description: z
    .string()
    .default('')
    .describe('What the route is for; clients see it in the list of models.'),
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
  embeddings: z
    .enum(['same_model', 'any_model'])
    .default('same_model')
    .describe(
      'same_model: calls for embeddings go only to targets with the model of the first that speaks embeddings, because vectors of two models do not mix.',
    ),
  cache: z.boolean().optional().describe('Whether this route uses the cache, instead of cache.enabled.'),
  prefer: z
    .literal('native')
    .optional()
    .describe(
      'native: targets that speak the dialect of the client go before those for which it is translated.',
    ),
  on_loss: z
    .union(
      [z.enum(['allow', 'refuse']), z.array(z.enum(Object.keys(LOSSES) as [Loss, ...Loss[]])).min(1)],
      'must be allow, refuse, or a list of losses such as [thinking.signature]; docs/losses.md has all of them',
    )
    .default('allow')
    .describe(
      'What happens where a translation to the dialect of a target would lose something. refuse: such a target is passed over, and where that leaves none the call is refused; a list: the same for these losses only.',
    ),
  targets: z.array(target).min(1, 'names no target').describe('Where its calls may go.'),
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
  days: z.number().positive().default(30).describe('How old a call on record may become.'),
  bytes: bytes
    .refine((value) => value >= 2 ** 20, 'must be at least 1MiB')
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

/** Requests are counted for a day at most. */
const ONE_DAY = 24 * UNITS.h!

const key = z.strictObject({
  name: name.describe('What the records call it.'),
  role: z
    .enum(['client', 'admin'])
    .default('client')
    .describe('client: sees its own calls only. admin: sees all of them, and `/metrics`.'),
  digest: digest.describe('SHA-256 of the key; the key itself is not in this file.'),
  rate: z
    .strictObject({
      requests: z.int().min(1).describe('Calls in each window.'),
      per: duration
        .refine((ms) => ms >= 1_000 && ms <= ONE_DAY, 'must be between 1s and 24h')
        .describe('Length of the window.'),
    })
    .optional()
    .describe('How many calls it may make in each window of this length; more are refused with 429.'),
  budget: z
    .strictObject({
      usd: z.number().positive().describe('US dollars.'),
      per: z.literal('month').default('month').describe('A calendar month, UTC.'),
      unpriced: z
        .enum(['refuse', 'allow'])
        .default('refuse')
        .describe('Whether it may call targets whose price is not known; what they cost does not count.'),
    })
    .optional()
    .describe(
      'US dollars that its calls may cost in a calendar month (UTC), open ones included; then they are refused with 429.',
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

const server = z.strictObject({
  host: z
    .string()
    .default('127.0.0.1')
    .describe('Address to listen on; beyond this machine only with `keys`. WAYBILL_HOST goes first.'),
  port: z.int().min(0).max(65535).default(4949).describe('0 takes a free one. WAYBILL_PORT goes first.'),
  body_limit: bytes.prefault('20MiB').describe('The largest request body; a larger one is refused with 413.'),
  max_calls: z
    .int()
    .min(1)
    .default(1_000)
    .describe(
      'Calls that may be open at the same time; more are refused with 503. Of several keys, one never has more than half.',
    ),
  max_body_bytes: bytes
    .optional()
    .describe(
      'What the request bodies of open calls may take together, at least one of `body_limit`; an eighth of the heap where nothing is said. Of several keys, one never has more than half.',
    ),
  allowed_hosts: z
    .array(z.string())
    .default([])
    .describe(
      'Names by which the gateway may be called, beside localhost and IP addresses; their pages may call it. WAYBILL_ALLOWED_HOSTS, with commas, goes first.',
    ),
  allowed_origins: z
    .array(
      z
        .string()
        .regex(/^[a-z][a-z0-9+.-]*:\/\/[^/?#\s]+$/i, 'expected an origin, such as http://localhost:3000'),
    )
    .default([])
    .describe('Further origins whose pages may call the gateway, such as http://localhost:3000.'),
  headers_timeout: wait
    .refine((ms) => ms >= 100, 'must be at least 100ms')
    .prefault('10s')
    .describe('For a client to send the headers of a request; a slower one is cut off with 408.'),
  request_timeout: wait
    .prefault('120s')
    .describe('For a client to send a whole request, body included; not for its answer.'),
})

const collector = z.url({ protocol: /^https?$/ })

const telemetry = z.strictObject({
  endpoint: collector
    .default('http://127.0.0.1:4318')
    .describe(
      'Where a collector takes OTLP over HTTP in protobuf; /v1/traces is added. Else OTEL_EXPORTER_OTLP_ENDPOINT.',
    ),
  traces_endpoint: collector
    .optional()
    .describe(
      'The whole address for traces instead, to which nothing is added. Else OTEL_EXPORTER_OTLP_TRACES_ENDPOINT.',
    ),
  headers: secret('header')
    .optional()
    .describe(
      '$NAME of the environment variable that holds headers for it, name=value with commas between. Else OTEL_EXPORTER_OTLP_TRACES_HEADERS or OTEL_EXPORTER_OTLP_HEADERS.',
    ),
  service: z
    .string()
    .min(1)
    .default('waybill')
    .describe('What the service is called in traces. Else OTEL_SERVICE_NAME.'),
  attributes: z
    .record(z.string().min(1), z.string())
    .default({})
    .describe('Further attributes of the service. Else OTEL_RESOURCE_ATTRIBUTES.'),
  parent: z
    .enum(TRACE_PARENTS)
    .default('trace')
    .describe(
      'What becomes of the trace that a caller names in `traceparent`. trace: the call is a part of it; link: the call has a trace of its own with a link to it; none: it is not looked at.',
    ),
  sample: z
    .number()
    .min(0)
    .max(1)
    .default(1)
    .describe('Share of the calls that are traced. Else OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG.'),
  follow_caller: z
    .boolean()
    .default(true)
    .describe('With `parent: trace` the caller says whether its trace is sampled; false: `sample` says it.'),
  content: z
    .boolean()
    .default(false)
    .describe(
      'Requests and answers go along, prompts included, as artifacts hold them; needs `artifacts.bodies`.',
    ),
})

const fleet = z.strictObject({
  url: secret('URL').describe(
    '$NAME of the environment variable that holds the address of the PostgreSQL database, postgresql://USER:PASSWORD@HOST/DATABASE.',
  ),
  instance: name
    .optional()
    .describe(
      'What this gateway is called among them; host name and port by default. WAYBILL_INSTANCE goes first.',
    ),
  tls: z
    .enum(['verify', 'off'])
    .default('verify')
    .describe(
      'verify: beyond this machine the certificate of the database is checked, and its name; off: it is reached in the clear.',
    ),
  ca: z
    .string()
    .optional()
    .describe(
      'File of certificates to trust instead of the usual ones; on this machine, too, it is then checked.',
    ),
  days: z
    .number()
    .min(1)
    .max(3_650)
    .default(30)
    .describe('How long calls stay in the shared log; it drops whole days (UTC).'),
  spool: z
    .strictObject({
      calls: z.int().min(1).default(100_000).describe('Calls.'),
      bytes: bytes.prefault('1GiB').describe('What the journal may have in use while calls wait in it.'),
      age: wait.prefault('24h').describe('How long the oldest of them may wait.'),
    })
    .prefault({})
    .describe(
      'What may wait for the shared log while it is away; beyond that, calls are refused and none is dropped.',
    ),
  rate_fallback: z
    .enum(['divide', 'refuse'])
    .default('divide')
    .describe(
      "While the shared log is away: divide: each instance allows its part of a key's rate; refuse: calls of keys with a rate are refused.",
    ),
})

export const schema = z.strictObject({
  server: server.prefault({}).describe('How clients reach the gateway.'),
  data: z
    .string()
    .default('./data')
    .describe('Directory of the database; relative to this file. WAYBILL_DATA goes first.'),
  durability: z
    .enum(['process', 'full', 'shared'])
    .default('process')
    .describe(
      'process: survives a killed gateway; full: survives a power cut too; shared, only with `fleet`: survives the loss of the data directory, because no byte leaves before the shared log has the call.',
    ),
  fleet: fleet
    .optional()
    .describe(
      'One of several gateways that share a log, budgets, rates and cool-downs in a PostgreSQL database.',
    ),
  telemetry: telemetry
    .optional()
    .describe(
      'Traces of calls, made from the record after the fact and sent to a collector. What is not said here is taken from the OTEL_* variables of the environment; these alone send nothing.',
    ),
  providers: z.record(name, provider).default({}).describe('Who answers calls, by name.'),
  models: z
    .record(z.string(), model)
    .default({})
    .describe('What is known of models, by provider/model. A model need not be here to be called.'),
  prices: z
    .string()
    .min(1)
    .optional()
    .describe(
      'A file of your own prices, relative to this one: provider/model and what `models.<name>.price` takes. `models.<name>.price` goes first, the built-in table last. It is read again when this file is, or on SIGHUP.',
    ),
  routes: z
    .record(z.string().min(1), route)
    .default({})
    .describe('Names that clients call instead of a model, and where their calls may go.'),
  defaults: z
    .partialRecord(z.enum(DIALECT_NAMES), z.string())
    .default({})
    .describe(
      'Dialect -> the route of its calls whose model no route and no provider knows, such as the background calls of coding agents; without one they are 404.',
    ),
  resilience: resilience.prefault({}).describe('How long to wait for providers, and what follows a failure.'),
  retention: retention
    .prefault({})
    .describe('How much stays on record; what is over a limit goes, oldest first.'),
  artifacts: artifacts.prefault({}).describe('Whole exchanges of the newest calls, for looking into one.'),
  cache: cache.prefault({}).describe('Answers that may be given again.'),
  keys: z
    .array(key)
    .default([])
    .describe(
      'Keys of clients. Without any, every caller on this machine is let in. WAYBILL_KEY_DIGESTS (NAME:ROLE=DIGEST, with commas) goes first.',
    ),
})

/** JSON Schema of waybill.yaml, for editors; written to docs/waybill.schema.json. */
export const configJsonSchema = (): JsonSchema => z.toJSONSchema(schema, { io: 'input' }) as JsonSchema
