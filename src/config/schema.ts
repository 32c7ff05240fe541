// Every setting of waybill.yaml with its type, default and meaning. The schema is the reference.
// docs/configuration.md and the JSON Schema for editors are generated from it, so each setting has a
// description. Reads no file and no environment. consistency.ts checks that the parts are consistent.
import { z } from 'zod'
import { PURPOSES } from '../core/call.ts'
import { LOSSES, type Loss } from '../core/losses.ts'
import { PERIODS } from '../core/period.ts'
import { TRACE_PARENTS } from '../core/tracing.ts'
import { ownFacts } from '../models/facts.ts'
import type { JsonSchema } from '../yaml/json-schema.ts'
import { endpointIn } from './endpoint-paths.ts'

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

/**
 * Parses a number with a unit, such as `5s` or `20MiB`, to whole base units (ms, bytes). `title`: name in the
 * docs.
 */
const quantity = (title: string, units: string[], example: string) => {
  const wrong = `must be a number and a unit, such as ${example}`
  return z
    .string(wrong)
    .regex(new RegExp(`^\\d+(\\.\\d+)?(${units.join('|')})$`), wrong)
    .meta({ title })
    .transform((text) => Math.round(Number.parseFloat(text) * UNITS[text.replace(/^[\d.]+/, '')]!))
}

const duration = quantity('duration', ['ms', 's', 'm', 'h'], '5s')
/** A duration for a timer. Timers count ms in 31 bits and fire immediately beyond this limit. */
const wait = duration.refine((ms) => ms < 2 ** 31, 'must be at most 596h, because no timer lasts longer')
const bytes = quantity('size', ['B', 'KiB', 'MiB', 'GiB'], '20MiB')
/** Name of a provider or a gateway key. */
export const name = z
  .string()
  .regex(/^[\w.-]+$/, 'must consist of letters, digits, ".", "_" or "-"')
  .refine((text) => text !== '__proto__', 'cannot be a name; choose another')
const digest = z
  .string()
  .regex(/^sha256:[0-9a-f]{64}$/, 'must be sha256: and 64 hex digits; `waybill key new NAME` prints it')

const baseUrl = z.url({ protocol: /^https?$/ }).superRefine((text, context) => {
  const url = URL.parse(text)
  if (!url) return
  const complain = (message: string) => context.addIssue({ code: 'custom', message })
  const endpoint = endpointIn(url.pathname)
  if (endpoint) complain(`leave out ${endpoint}; it is added to each request`)
  else if (url.username || url.password)
    complain(
      'must not contain a user name or password; put the key into an environment variable and name it under key',
    )
  else if (url.search || url.hash) complain('must not contain a query or fragment')
})

/** Kinds of model by output. The first is the default. */
export const MODEL_TYPES = ['chat', 'embedding', 'image'] as const

/** All dialects; `dialects/registry.ts` holds an entry for each. */
export const DIALECT_NAMES = ['chat', 'messages', 'responses', 'embeddings', 'images', 'gemini'] as const

/** Clouds that serve messages at paths of their own; `platforms/registry.ts` holds an entry for each. */
export const PLATFORM_NAMES = ['bedrock', 'vertex'] as const

/** Scope of tokens for Azure OpenAI. */
export const ENTRA_SCOPE = 'https://cognitiveservices.azure.com/.default'

/** Ways to authenticate at a provider without a key; `credentials/registry.ts` implements them. */
const AUTH_NAMES = ['caller', 'aws', 'google', 'entra'] as const

/** Groups of dialects by owner. `openai` excludes dialects that only OpenAI itself serves. */
const ALIASES: Readonly<Record<string, readonly string[]>> = {
  openai: ['chat', 'embeddings', 'images'],
  anthropic: ['messages'],
}

const dialect = z.enum(['openai', 'anthropic', ...DIALECT_NAMES])

/** Groups of endpoints that are relayed uninterpreted; `passthrough/operations.ts` lists their paths. */
export const PASSTHROUGH_NAMES = [
  'audio',
  'moderations',
  'rerank',
  'completions',
  'image-edits',
  'files',
  'batches',
] as const

/** A reference $NAME to an environment variable with a secret. */
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

const providerKey = z.strictObject({
  name: name.describe('Its name in the record.'),
  key: secret('key').optional().describe('$NAME of the environment variable that holds it.'),
  file: z
    .string()
    .min(1)
    .optional()
    .describe('File that holds it and nothing else, relative to this file. A changed file is read again.'),
  command: z
    .tuple([z.string().min(1)], z.string())
    .optional()
    .describe(
      'Program, with its arguments, that prints the key as its only line, such as that of a secret manager. No shell is involved. It has 10 s.',
    ),
  renew: wait
    .refine((ms) => ms >= 1_000, 'must be at least 1s')
    .prefault('1h')
    .describe('Time after which the command is run again. It also is if the provider refuses the key.'),
})

const provider = z.strictObject({
  dialect: z
    .union([dialect, z.array(dialect).min(1)], {
      error: ({ input }) =>
        input === undefined
          ? 'is missing'
          : `must be one of ${dialect.options.join(', ')}, or a list of them`,
    })
    .transform((given): readonly string[] => [
      ...new Set([given].flat().flatMap((name) => ALIASES[name] ?? [name])),
    ])
    .describe(
      'The dialect of the provider, or a list of dialects: chat, embeddings, images (OpenAI; `openai` means these three), messages (Anthropic; `anthropic` means the same), responses (OpenAI, used by Codex), gemini (Google).',
    ),
  base_url: baseUrl.describe(
    'The address without /chat/completions or /responses. For messages, /v1 may be left out; for gemini, /v1beta.',
  ),
  key: secret('key')
    .optional()
    .describe(
      '$NAME of the environment variable that holds the key. Leave it out for a provider that needs none.',
    ),
  auth: z
    .enum(AUTH_NAMES, `must be ${AUTH_NAMES.join(', ')}; leave it out for a provider with a key`)
    .optional()
    .describe(
      'caller: the provider gets the credential that the caller itself sends as `Authorization` or `x-api-key`, such as the login of a subscription, and no other provider does. The gateway’s own key then comes as `X-Gateway-Key`. aws: requests are signed for Amazon Bedrock. google: they carry a token of Google’s application-default credentials, for Vertex AI. entra: they carry a token of Microsoft Entra, for Azure. See [Keys and logins](credentials.md).',
    ),
  aws: z
    .strictObject({
      region: z
        .string()
        .regex(/^[a-z]{2}(-[a-z]+)+-\d$/, 'must be a region, such as eu-central-1')
        .optional()
        .describe('Region to sign for. Default: the one in `base_url`.'),
      service: z
        .string()
        .regex(/^[a-z-]+$/, 'must be the name of a service, such as bedrock')
        .optional()
        .describe(
          'Service to sign for. Default: bedrock; bedrock-mantle and aws-external-anthropic for addresses that begin with it.',
        ),
      profile: z
        .string()
        .min(1)
        .optional()
        .describe(
          'Profile in AWS’s files. Default: what AWS’s own programs find: environment, files, machine.',
        ),
    })
    .optional()
    .describe('For `auth: aws`.'),
  entra: z
    .strictObject({
      scope: z
        .url()
        .default(ENTRA_SCOPE)
        .describe(
          'Scope of the tokens. Models of Foundry other than OpenAI’s may need https://ai.azure.com/.default.',
        ),
    })
    .optional()
    .describe('For `auth: entra`.'),
  platform: z
    .enum(PLATFORM_NAMES, `must be ${PLATFORM_NAMES.join(' or ')}`)
    .optional()
    .describe(
      'For messages (Claude) at paths of a cloud. bedrock: InvokeModel and its event stream; `base_url` is https://bedrock-runtime.REGION.amazonaws.com. vertex: rawPredict; `base_url` is https://REGION-aiplatform.googleapis.com/v1/projects/PROJECT/locations/REGION/publishers/anthropic.',
    ),
  keys: z
    .array(providerKey)
    .min(1, 'names no key')
    .optional()
    .describe(
      'Several keys instead of `key`, each with a name. A session stays with its key and moves only if that key is refused or has used up its limits, which are read from the headers of each answer.',
    ),
  ca: z
    .string()
    .min(1)
    .optional()
    .describe(
      'File of certificates (PEM) to trust for this provider beside the usual ones, relative to this file.',
    ),
  family: name
    .optional()
    .describe(
      'For translated calls: the family of models whose sealed reasoning (signatures, encrypted reasoning) it returns. Providers of one family can read each other’s. Default: the dialect’s own family (messages: anthropic); for chat, the name of the provider.',
    ),
  billing: z
    .enum(['metered', 'flat'])
    .default('metered')
    .describe(
      'flat: a subscription or a free tier pays for its calls. They are on record at the list price, marked by `flat_usd`, and no budget counts them.',
    ),
  prompt_cache: wait
    .prefault('5m')
    .describe(
      'How long it keeps a prompt cached after its last use, for `sticky: prefix`. If an answer says that something was cached for an hour, it is an hour for that conversation.',
    ),
  websocket: z
    .enum(['on', 'off'])
    .default('off')
    .describe(
      'on: streams of responses go over a WebSocket, for a provider that has one (OpenAI, Azure, xAI). If it refuses, they go over HTTP.',
    ),
  trace: z
    .boolean()
    .default(false)
    .describe(
      "true: it gets W3C's `traceparent` and the caller's `tracestate`, so that its spans join the trace of the call; needs `telemetry`. Other providers get neither.",
    ),
})

const rate = z.number().nonnegative()
/** Rates for kinds of tokens. */
const rates = {
  input: rate
    .optional()
    .describe('Input that was neither read from a cache nor written to one. Default: the built-in prices.'),
  output: rate.optional().describe('Output, reasoning included. Needs `input`, and `input` needs it.'),
  cached_input: rate.optional().describe('Input read from a cache. Default: the price of `input`.'),
  cache_write: rate.optional().describe('Input written to a cache. Default: the price of `input`.'),
  cache_write_1h: rate
    .optional()
    .describe('Input written to a cache for an hour. Default: the price of `cache_write`.'),
  input_audio: rate.optional().describe('Sound in the input. Default: the price of `input`.'),
  output_audio: rate.optional().describe('Sound in the output. Default: the price of `output`.'),
}
const factors = (of: string) =>
  z.record(z.string().min(1), rate).optional().describe(`Factors by which ${of} multiplies these prices.`)

const price = z
  .strictObject({
    ...rates,
    over: z
      .array(
        z.strictObject({
          tokens: z.int().positive().describe('Input tokens, cached ones included.'),
          ...rates,
        }),
      )
      .optional()
      .describe('Other prices for a call with more input than this, for all of its tokens.'),
    service_tier: factors('the tier that served the call, such as `flex: 0.5`,'),
    speed: factors('the speed at which it was served, such as `fast: 2`,'),
    region: factors('the region in which it was served, such as `us: 1.1`,'),
    tools: z
      .record(z.string().min(1), rate)
      .optional()
      .describe("US dollars for one use of the provider's own tools, such as `web_search: 0.01`."),
    image: rate
      .optional()
      .describe('US dollars per image, for models with such a price. Their tokens then cost nothing.'),
  })
  .superRefine(({ input, output, over }, context) => {
    if (context.issues.length > 0) return // a misspelled member also counts as missing
    const message =
      (input === undefined) !== (output === undefined)
        ? 'needs both `input` and `output`, or neither'
        : over && input === undefined
          ? '`over` needs `input` and `output`'
          : null
    if (message !== null) context.addIssue({ code: 'custom', message })
  })

/** Content of the separate price file that `prices` names. */
export const priceFile = z.record(z.string().regex(/^[^/]+\/.+$/, 'expected provider/model'), price)

const tokens = z.int().positive()

const model = z.strictObject({
  type: z.enum(MODEL_TYPES).default(MODEL_TYPES[0]).describe('What the model produces.'),
  tier: z.string().min(1).optional().describe('Price class, for targets that name none.'),
  context: tokens.optional().describe('The longest input that it accepts, in tokens. Default: no limit.'),
  capabilities: z
    .strictObject({
      tools: z.boolean().optional().describe('false: it does not accept tools.'),
      images: z.boolean().optional().describe('false: it does not accept images.'),
    })
    .default({})
    .describe('What it accepts. Only `false` keeps calls away from it.'),
  accepts: ownFacts
    .optional()
    .describe(
      'What it accepts beyond that: translated calls are written accordingly. It takes precedence over the built-in facts; the name may hold `*`. See [What models accept](models.md).',
    ),
  price: price.optional().describe('US dollars per million tokens. Default: the built-in table.'),
})

/** Strategies that a route may name; `routing/table.ts` implements each. */
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

const clientName = z.string().min(1).max(64)

const rule = z.strictObject({
  when: z
    .strictObject({
      input_tokens: z
        .strictObject({
          over: tokens.optional().describe('More than this.'),
          under: tokens.optional().describe('Fewer than this.'),
        })
        .optional()
        .describe('Estimated tokens of the messages and tools.'),
      tools: z.boolean().optional().describe('The call offers tools; false: it offers none.'),
      images: z.boolean().optional().describe('The call contains an image; false: it contains none.'),
      effort: z
        .union(
          [effort, z.array(effort).min(1)],
          'must be a reasoning effort, such as high, or a list of them',
        )
        .optional()
        .describe('The reasoning effort that the call asks for, or a list of efforts.'),
      purpose: z
        .union(
          [z.enum(PURPOSES), z.array(z.enum(PURPOSES)).min(1)],
          `must be ${PURPOSES.join(', ')}, or a list of them`,
        )
        .optional()
        .describe('The purpose of the call, as in the record, or a list of purposes.'),
      client: z
        .union([clientName, z.array(clientName).min(1)], 'must be the name of a program, or a list of names')
        .optional()
        .describe(
          'The program that makes the call: the beginning of `client` in the record up to the `/`, such as claude-cli or codex_exec; or a list of them.',
        ),
    })
    .describe('All of these must hold.'),
  use: z
    .strictObject({
      tier: z.string().optional().describe('A tier of the route.'),
      target: z.string().optional().describe('One of its targets, provider/model.'),
    })
    .describe('A tier of the route, or one of its targets (provider/model). Only these are tried.'),
})

/** Headers that the gateway itself writes, or that contain a credential. */
const RESERVED_HEADERS =
  /^(authorization|proxy-.*|x-api-key|api-key|x-goog-api-key|x-gateway-.*|host|connection|content-.*|transfer-encoding|te|trailer|upgrade|expect|cookie|accept-encoding)$/i
/** Members that decide the target of a call or the format of its answer. */
const RESERVED_MEMBERS = ['model', 'stream', 'stream_options']
const RESERVED_MEMBER = `cannot be changed here: ${RESERVED_MEMBERS.join(', ')}`

const requestChanges = z.strictObject({
  headers: z
    .record(
      z
        .string()
        .regex(/^[\w!#$%&'*+.^`|~-]+$/, 'must be the name of a header')
        .refine(
          (header) => !RESERVED_HEADERS.test(header),
          'is written by the gateway, or holds a credential',
        ),
      z.string().regex(/^[\x20-\x7e]*$/, 'must consist of printable ASCII characters'),
    )
    .default({})
    .describe(
      'Headers that it gets, in place of those of the same name. No credentials: they belong into the provider.',
    ),
  set: z
    .record(
      z.string().refine((member) => !RESERVED_MEMBERS.includes(member), RESERVED_MEMBER),
      z.json(),
    )
    .default({})
    .describe(
      'Members of its requests, in its own dialect, in place of those of the same name: `{ reasoning_effort: low, max_completion_tokens: 4000 }`.',
    ),
  omit: z
    .array(z.string().refine((member) => !RESERVED_MEMBERS.includes(member), RESERVED_MEMBER))
    .default([])
    .describe('Members of its requests that are left out.'),
  effort: effort
    .optional()
    .describe(
      'Effort of reasoning in place of the client’s, written as the target takes it: the nearest level that its model accepts, or a budget for thinking.',
    ),
  max_output: tokens
    .optional()
    .describe('The most output tokens; a lower limit of the client stays. Reasoning counts as output.'),
})

const target = z.strictObject({
  model: z.string().describe('provider/model'),
  tier: z.string().optional().describe('Price class. Default: that of the model.'),
  weight: z.number().nonnegative().default(1).describe('Its share of the calls, for strategy `weighted`.'),
  request: requestChanges
    .optional()
    .describe('Changes to the requests that go to this target through this route.'),
})

const route = z.strictObject({
  strategy: z.enum(STRATEGIES).default('priority').describe('How a target is chosen.'),
  description: z
    .string()
    .default('')
    .describe('What the route is for. Clients see it in the list of models.'),
  sticky: z
    .enum(['session', 'prefix'])
    .optional()
    .describe(
      'session: the calls of a session stay with the target that served the first one, as long as it is ready. prefix: the same, also for calls without a session if they begin with the same instructions, tools and first message, as long as the provider has them cached (`prompt_cache`).',
    ),
  rules: z
    .array(rule)
    .default([])
    .describe('The first rule that holds decides which targets are tried; the strategy decides their order.'),
  answer_model: z
    .enum(['provider', 'requested'])
    .default('provider')
    .describe('The `model` in the answer: what the provider wrote, or the id that the client asked for.'),
  embeddings: z
    .enum(['same_model', 'any_model'])
    .default('same_model')
    .describe(
      'same_model: calls for embeddings go only to targets with the model of the first target that has embeddings, because vectors of two models must not be mixed.',
    ),
  cache: z.boolean().optional().describe('Whether this route uses the cache. Default: `cache.enabled`.'),
  prefer: z
    .literal('native')
    .optional()
    .describe(
      'native: targets that speak the client’s dialect are tried before those that need a translation.',
    ),
  on_loss: z
    .union(
      [z.enum(['allow', 'refuse']), z.array(z.enum(Object.keys(LOSSES) as [Loss, ...Loss[]])).min(1)],
      'must be allow, refuse, or a list of losses such as [thinking.signature]; docs/losses.md lists them',
    )
    .default('allow')
    .describe(
      'What happens when a translation for a target would lose something. refuse: that target is not tried, and if none is left, the call is refused. A list: the same, for these losses only.',
    ),
  on_refused: z
    .enum(['relay', 'adjust'])
    .optional()
    .describe(
      'What happens when a provider refuses a parameter that can be left out, such as a temperature. adjust: the call is sent once more without it, and the refusal is remembered for seven days. relay: the client gets the refusal. Default: adjust for translated calls, relay for others.',
    ),
  targets: z.array(target).min(1, 'names no target').describe('Where its calls may go.'),
})

const resilience = z.strictObject({
  connect: wait.prefault('5s').describe('Time to open a connection to a provider.'),
  stream_first_event: wait.prefault('60s').describe('Time from the request to the first event of a stream.'),
  answer: wait
    .prefault('600s')
    .describe('Time from the request to the end of an answer that is not streamed.'),
  idle: wait
    .prefault('120s')
    .describe(
      'Time between two chunks of a stream, pings included; also the time for a client to read something.',
    ),
  retries: z
    .int()
    .min(0)
    .max(5)
    .default(1)
    .describe('How often a target is tried again if no connection could be opened.'),
  cooldown: duration
    .prefault('30s')
    .describe('How long a failed target is skipped. `Retry-After` takes precedence.'),
})

const retention = z.strictObject({
  rows: z
    .int()
    .min(1)
    .default(100_000)
    .describe('How many calls stay on record. Open calls are never dropped.'),
  days: z.number().positive().default(30).describe('For how many days a call stays on record.'),
  bytes: bytes
    .refine((value) => value >= 2 ** 20, 'must be at least 1MiB')
    .prefault('1GiB')
    .describe('Size of the database, write-ahead log and artifacts together.'),
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
    .describe('Size of all artifacts together, at most an eighth of `retention.bytes`.'),
  bodies: z.boolean().default(false).describe('Keep requests and answers too, prompts included.'),
})

/** Maximum period over which requests are counted: one day. */
const ONE_DAY = 24 * UNITS.h!

const budget = z.strictObject({
  usd: z.number().positive().describe('US dollars.'),
  per: z
    .enum(PERIODS)
    .default('month')
    .describe('A calendar day, a week from Monday or a month, each UTC; or each session of its own.'),
  unpriced: z
    .enum(['refuse', 'allow'])
    .default('refuse')
    .describe('Whether it may call targets without a known price. Their cost does not count.'),
})

const key = z.strictObject({
  name: name.describe('Its name in the records.'),
  role: z
    .enum(['client', 'admin'])
    .default('client')
    .describe('client: sees its own calls. admin: sees all calls, and `/metrics`.'),
  digest: digest.describe('SHA-256 of the key; the key itself is not in this file.'),
  rate: z
    .strictObject({
      requests: z.int().min(1).describe('Calls in each window.'),
      per: duration
        .refine((ms) => ms >= 1_000 && ms <= ONE_DAY, 'must be between 1s and 24h')
        .describe('Length of the window.'),
    })
    .optional()
    .describe('How many calls it may make in a window of time. More are refused with 429.'),
  budget: z
    .union([
      budget,
      z
        .array(budget)
        .min(1)
        .refine(
          (each) => new Set(each.map(({ per }) => per)).size === each.length,
          'has two budgets for the same period',
        ),
    ])
    .transform((given): readonly z.output<typeof budget>[] => [given].flat())
    .optional()
    .describe(
      'What its calls may cost in a period, open ones included; or a list, of which all must hold. After that they are refused with 429.',
    ),
})

const cache = z.strictObject({
  enabled: z
    .boolean()
    .default(false)
    .describe('Answer an equal request of the same key and target from memory.'),
  ttl: duration
    .refine((ms) => ms >= 1_000, 'must be at least 1s')
    .prefault('1h')
    .describe('How long an answer is kept.'),
  max_bytes: bytes
    .prefault('64MiB')
    .describe('Memory for answers. An answer larger than a sixteenth of it is not kept.'),
})

const server = z.strictObject({
  host: z
    .string()
    .default('127.0.0.1')
    .describe(
      'Address to listen on. An address that other machines can reach needs `keys`. The variable WAYBILL_HOST takes precedence.',
    ),
  port: z
    .int()
    .min(0)
    .max(65535)
    .default(4949)
    .describe('Port to listen on; 0 picks a free one. The variable WAYBILL_PORT takes precedence.'),
  body_limit: bytes.prefault('20MiB').describe('The largest request body. A larger one is refused with 413.'),
  max_calls: z
    .int()
    .min(1)
    .default(1_000)
    .describe(
      'How many calls may be open at the same time. More are refused with 503. With several keys, one never gets more than half.',
    ),
  max_body_bytes: bytes
    .optional()
    .describe(
      'Memory for the request bodies of open calls, at least `body_limit`. Default: an eighth of the heap. With several keys, one never gets more than half.',
    ),
  allowed_hosts: z
    .array(z.string())
    .default([])
    .describe(
      'Host names of the gateway, in addition to localhost and IP addresses. Pages of these hosts may call it. The variable WAYBILL_ALLOWED_HOSTS (with commas) takes precedence.',
    ),
  allowed_origins: z
    .array(
      z
        .string()
        .regex(/^[a-z][a-z0-9+.-]*:\/\/[^/?#\s]+$/i, 'expected an origin, such as http://localhost:3000'),
    )
    .default([])
    .describe('Other origins whose pages may call the gateway, such as `http://localhost:3000`.'),
  headers_timeout: wait
    .refine((ms) => ms >= 100, 'must be at least 100ms')
    .prefault('10s')
    .describe('Time for a client to send the headers of a request. A slower one gets a 408.'),
  request_timeout: wait
    .prefault('120s')
    .describe('Time for a client to send a whole request. The answer does not count.'),
})

const responseStore = z.strictObject({
  enabled: z
    .boolean()
    .default(false)
    .describe(
      'true: what was asked and answered is kept in the database, or in the shared log of a fleet, so that any provider can go on from it, and `GET /v1/responses/{id}` is answered here. `store: false` in a request is respected.',
    ),
  days: z.number().min(0.01).max(3_650).default(30).describe('For how many days a response is kept.'),
  key: secret('key')
    .default('$WAYBILL_RESPONSES_KEY')
    .describe(
      '$NAME of the environment variable that holds the key with which they are encrypted, 32 characters or more; in a fleet, the same for all.',
    ),
})

const responses = z.strictObject({
  store: responseStore.prefault({}).describe('Responses that the gateway itself keeps.'),
  background_limit: wait
    .prefault('2h')
    .describe(
      'For how long after the call a response in the background (`background: true`) is asked for at its provider. If it has not ended by then, its cost stays unknown.',
    ),
  websocket: z
    .enum(['on', 'off'])
    .default('on')
    .describe('on: clients may open a WebSocket at `/v1/responses`. off: an upgrade is answered with 426.'),
  max_sockets: z
    .int()
    .min(1)
    .default(2_000)
    .describe(
      'How many WebSockets may be open at the same time. A further upgrade is answered with 426. With several keys, one never gets more than half.',
    ),
  socket_idle: wait
    .prefault('30m')
    .describe('Time after which a WebSocket without a running response is closed; after 60 minutes all are.'),
})

const collector = z.url({ protocol: /^https?$/ })

const telemetry = z.strictObject({
  endpoint: collector
    .default('http://127.0.0.1:4318')
    .describe(
      'Address of a collector for OTLP over HTTP in protobuf; /v1/traces is added. If unset: OTEL_EXPORTER_OTLP_ENDPOINT.',
    ),
  traces_endpoint: collector
    .optional()
    .describe(
      'The full address for traces instead, to which nothing is added. If unset: OTEL_EXPORTER_OTLP_TRACES_ENDPOINT.',
    ),
  headers: secret('header')
    .optional()
    .describe(
      '$NAME of the environment variable that holds headers for the collector, as name=value,name=value. If unset: OTEL_EXPORTER_OTLP_TRACES_HEADERS or OTEL_EXPORTER_OTLP_HEADERS.',
    ),
  service: z
    .string()
    .min(1)
    .default('waybill')
    .describe('Name of the service in traces. If unset: OTEL_SERVICE_NAME.'),
  attributes: z
    .record(z.string().min(1), z.string())
    .default({})
    .describe('Further attributes of the service. If unset: OTEL_RESOURCE_ATTRIBUTES.'),
  parent: z
    .enum(TRACE_PARENTS)
    .default('trace')
    .describe(
      'How the trace in the caller’s `traceparent` is used. trace: the call becomes part of it; link: the call gets its own trace, with a link to it; none: it is ignored.',
    ),
  sample: z
    .number()
    .min(0)
    .max(1)
    .default(1)
    .describe(
      'Share of the calls that are traced. If unset: OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG.',
    ),
  follow_caller: z
    .boolean()
    .default(true)
    .describe(
      'With `parent: trace`, the caller decides whether its trace is sampled; false: `sample` decides.',
    ),
  content: z
    .boolean()
    .default(false)
    .describe(
      'Send requests and answers too, prompts included, as artifacts hold them; needs `artifacts.bodies`.',
    ),
})

const fleet = z.strictObject({
  url: secret('URL').describe(
    '$NAME of the environment variable that holds the address of the PostgreSQL database, postgresql://USER:PASSWORD@HOST/DATABASE.',
  ),
  instance: name
    .optional()
    .describe(
      'Name of this gateway. Default: host name and port. The variable WAYBILL_INSTANCE takes precedence.',
    ),
  tls: z
    .enum(['verify', 'off'])
    .default('verify')
    .describe(
      'verify: the certificate of a database on another machine is checked, including its name; off: the connection is not encrypted.',
    ),
  ca: z
    .string()
    .optional()
    .describe(
      'File of certificates to trust instead of the usual ones, relative to this file. A database on this machine is then checked too.',
    ),
  days: z
    .number()
    .min(1)
    .max(3_650)
    .default(30)
    .describe('For how many days calls stay in the shared log. It drops whole days (UTC).'),
  spool: z
    .strictObject({
      calls: z.int().min(1).default(100_000).describe('Number of calls.'),
      bytes: bytes.prefault('1GiB').describe('Size of the journal while calls wait in it.'),
      age: wait.prefault('24h').describe('Age of the oldest waiting call.'),
    })
    .prefault({})
    .describe(
      'How much may wait while the shared log is unavailable. Beyond that, calls are refused; none is dropped.',
    ),
  rate_fallback: z
    .enum(['divide', 'refuse'])
    .default('divide')
    .describe(
      'What happens to keys with a rate while the shared log is unavailable. divide: each gateway allows its part of the rate. refuse: their calls are refused.',
    ),
})

export const schema = z.strictObject({
  server: server.prefault({}).describe('How clients reach the gateway.'),
  data: z
    .string()
    .default('./data')
    .describe(
      'Directory of the database, relative to this file. The variable WAYBILL_DATA takes precedence.',
    ),
  durability: z
    .enum(['process', 'full', 'shared'])
    .default('process')
    .describe(
      'What the record survives. process: a killed gateway. full: also a power cut. shared (only with `fleet`): also the loss of the data directory.',
    ),
  fleet: fleet
    .optional()
    .describe('Several gateways that share a log, budgets, rates and cool-downs in a PostgreSQL database.'),
  telemetry: telemetry
    .optional()
    .describe(
      'Traces of calls, made from the record after the fact and sent to a collector. Settings that are missing here are taken from the OTEL_* environment variables; those variables alone send nothing.',
    ),
  providers: z.record(name, provider).default({}).describe('The providers, by name.'),
  models: z
    .record(z.string(), model)
    .default({})
    .describe('Facts about models, by provider/model. A model that is not listed here can still be called.'),
  prices: z
    .string()
    .min(1)
    .optional()
    .describe(
      'A file with your own prices, relative to this file. By provider/model, it has the same settings as `models.<name>.price`, which takes precedence. It is read again when this file changes, or on SIGHUP.',
    ),
  routes: z
    .record(z.string().min(1), route)
    .default({})
    .describe('Names that clients ask for instead of a model, and where their calls may go.'),
  defaults: z
    .partialRecord(z.enum(DIALECT_NAMES), z.string())
    .default({})
    .describe(
      'By dialect, the route for calls whose model is unknown, such as the background calls of coding agents. Without it such calls get a 404.',
    ),
  responses: responses.prefault({}).describe('What is special about OpenAI’s responses.'),
  passthrough: z
    .array(z.enum(PASSTHROUGH_NAMES))
    .default([])
    .describe(
      'Endpoints that are recorded, but relayed without being understood: audio, moderations, rerank, completions, image-edits, files, batches. Those that are not named here do not exist (404). See [Passthrough](passthrough.md).',
    ),
  passthrough_providers: z
    .partialRecord(z.enum(PASSTHROUGH_NAMES), z.array(name).min(1, 'names no provider'))
    .default({})
    .describe(
      'By endpoint of `passthrough`, the providers for calls that name no model which the gateway knows; of several, the first that speaks the client’s dialect. Default: the first provider with that dialect.',
    ),
  resilience: resilience
    .prefault({})
    .describe('How long to wait for providers, and what happens after a failure.'),
  retention: retention
    .prefault({})
    .describe('How much stays on record. Calls over a limit are dropped, oldest first.'),
  artifacts: artifacts.prefault({}).describe('The newest calls in full detail.'),
  cache: cache.prefault({}).describe('Answers kept in memory, for equal requests.'),
  keys: z
    .array(key)
    .default([])
    .describe(
      'Keys of clients. Without keys, every program on this machine may call. The variable WAYBILL_KEY_DIGESTS (NAME:ROLE=DIGEST, with commas) takes precedence.',
    ),
})

/** Returns the JSON Schema of waybill.yaml for editors, written to docs/waybill.schema.json. */
export const configJsonSchema = (): JsonSchema => z.toJSONSchema(schema, { io: 'input' }) as JsonSchema
