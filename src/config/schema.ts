// Every setting of waybill.yaml with its type, default and meaning. The schema is the reference.
// docs/configuration.md and the JSON Schema for editors are generated from it, so each setting has a
// description. Reads no file and no environment. consistency.ts checks that the parts are consistent.
import { z } from 'zod'
import { PURPOSES } from '../core/call.ts'
import { LOSSES, type Loss } from '../core/losses.ts'
import { PERIODS } from '../core/period.ts'
import { TRACE_PARENTS } from '../core/tracing.ts'
import { ownFacts } from '../models/facts.ts'
import type { JsonSchema } from '../yaml/wording.ts'

// Zod would make code for each schema at its first use, which takes longer than the few uses of a schema save.
z.config({ jitless: true })

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
export const DIALECT_NAMES = [
  'chat',
  'messages',
  'responses',
  'embeddings',
  'images',
  'gemini',
  'interactions',
] as const

/** Clouds that serve messages at paths of their own; `platforms/answers.ts` holds an entry for each. */
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

/** Groups of endpoints that are relayed without interpretation; `passthrough/operations.ts` lists their paths. */
export const PASSTHROUGH_NAMES = [
  'audio',
  'moderations',
  'rerank',
  'completions',
  'image-edits',
  'files',
  'batches',
  'skills',
  'decisions',
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
  name: name.describe('Name of the key in the record.'),
  key: secret('key').optional().describe('$NAME of the environment variable that holds the key.'),
  file: z
    .string()
    .min(1)
    .optional()
    .describe('File that contains only the key, relative to this file. A changed file is read again.'),
  command: z
    .tuple([z.string().min(1)], z.string())
    .optional()
    .describe(
      'Program, with its arguments, that prints the key as its only line, such as the program of a secret manager. It runs without a shell, for at most 10 s.',
    ),
  renew: wait
    .refine((ms) => ms >= 1_000, 'must be at least 1s')
    .prefault('1h')
    .describe(
      'Time after which the command is run again. It is also run again if the provider refuses the key.',
    ),
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
      '$NAME of the environment variable that holds the key. Leave it out for a provider that needs no key.',
    ),
  auth: z
    .enum(AUTH_NAMES, `must be ${AUTH_NAMES.join(', ')}; leave it out for a provider with a key`)
    .optional()
    .describe(
      'caller: only this provider gets the credential that the caller itself sends as `Authorization` or `x-api-key`, such as the login of a subscription. The gateway’s own key is then sent as `X-Gateway-Key`. aws: requests are signed for Amazon Bedrock. google: requests have a token of Google’s application-default credentials, for Vertex AI. entra: requests have a token of Microsoft Entra, for Azure. See [Keys and logins](credentials.md).',
    ),
  aws: z
    .strictObject({
      region: z
        .string()
        .regex(/^[a-z]{2}(-[a-z]+)+-\d$/, 'must be a region, such as eu-central-1')
        .optional()
        .describe('Region to sign for. Default: the region in `base_url`.'),
      service: z
        .string()
        .regex(/^[a-z-]+$/, 'must be the name of a service, such as bedrock')
        .optional()
        .describe(
          'Service to sign for. Default: bedrock; for addresses that begin with bedrock-mantle or aws-external-anthropic, the same name.',
        ),
      profile: z
        .string()
        .min(1)
        .optional()
        .describe(
          'Profile in AWS’s files. Default: the credentials that AWS’s own programs find in the environment, in files or on the machine.',
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
      'For Messages (Claude) at the paths of a cloud. bedrock: InvokeModel and its event stream; `base_url` is https://bedrock-runtime.REGION.amazonaws.com. vertex: rawPredict; `base_url` is https://REGION-aiplatform.googleapis.com/v1/projects/PROJECT/locations/REGION/publishers/anthropic.',
    ),
  keys: z
    .array(providerKey)
    .min(1, 'names no key')
    .optional()
    .describe(
      'Several keys instead of `key`, each with a name. A session stays with its key and moves only if the key is refused or its limits are exhausted. Limits are read from the headers of each answer.',
    ),
  ca: z
    .string()
    .min(1)
    .optional()
    .describe(
      'File of certificates (PEM) to trust for this provider in addition to the usual certificates, relative to this file.',
    ),
  family: name
    .optional()
    .describe(
      'For translated calls: the family of models that made the sealed reasoning (signatures, encrypted reasoning) of this provider. Providers of one family can read each other’s reasoning. Default: the dialect’s own family (messages: anthropic); for chat, the name of the provider.',
    ),
  billing: z
    .enum(['metered', 'flat'])
    .default('metered')
    .describe(
      'flat: a subscription or a free tier pays for the calls of this provider. They are on record at the list price, marked by `flat_usd`, and no budget counts them.',
    ),
  other_models: z
    .enum(['relay', 'refuse'])
    .default('relay')
    .describe(
      'For requests that name other models than the one they ask for (`models`, `fallbacks`, `providerOptions.gateway.models`, an advisor). refuse: this provider does not get them, and if no other target is left, the call gets 400; relayed requests are searched up to 64 KiB, and files for batches are not. relay: it gets them unchanged, and a budget reserves for the dearest model.',
    ),
  prompt_cache: wait
    .prefault('5m')
    .describe(
      'Time for which the provider keeps a prompt cached after its last use, for `sticky: prefix`. If an answer says that something was cached for an hour, the time is an hour for that conversation.',
    ),
  websocket: z
    .enum(['on', 'off'])
    .default('off')
    .describe(
      'on: Responses streams use a WebSocket, for a provider that supports it (OpenAI, Azure, xAI). If the provider refuses the WebSocket, they use HTTP.',
    ),
  trace: z
    .boolean()
    .default(false)
    .describe(
      "true: the provider gets W3C's `traceparent` and the caller's `tracestate`, so that its spans join the trace of the call; needs `telemetry`. Other providers do not get these headers.",
    ),
})

const rate = z.number().nonnegative()
/** Rates for kinds of tokens. */
const rates = {
  input: rate
    .optional()
    .describe(
      'Price of input that was neither read from a cache nor written to one. Default: the built-in prices.',
    ),
  output: rate
    .optional()
    .describe('Price of output, including reasoning. Set `input` and `output` together.'),
  cached_input: rate
    .optional()
    .describe('Price of input that was read from a cache. Default: the price of `input`.'),
  cache_write: rate
    .optional()
    .describe('Price of input that was written to a cache. Default: the price of `input`.'),
  cache_write_1h: rate
    .optional()
    .describe('Price of input that was written to a cache for an hour. Default: the price of `cache_write`.'),
  input_audio: rate.optional().describe('Price of sound in the input. Default: the price of `input`.'),
  output_audio: rate.optional().describe('Price of sound in the output. Default: the price of `output`.'),
}
const factors = (of: string) =>
  z
    .record(z.string().min(1), rate)
    .optional()
    .describe(`Factors by ${of}. These prices are multiplied by the matching factor.`)

const price = z
  .strictObject({
    ...rates,
    over: z
      .array(
        z.strictObject({
          tokens: z.int().positive().describe('Input tokens, including cached tokens.'),
          ...rates,
        }),
      )
      .optional()
      .describe(
        'Other prices for calls with long inputs. They apply to all tokens of a call with more input than `tokens`.',
      ),
    service_tier: factors('the tier that served the call, such as `flex: 0.5`'),
    speed: factors('the speed that served the call, such as `fast: 2`'),
    region: factors('the region that served the call, such as `us: 1.1`'),
    tools: z
      .record(z.string().min(1), rate)
      .optional()
      .describe("US dollars for one use of the provider's own tools, such as `web_search: 0.01`."),
    image: rate
      .optional()
      .describe('US dollars for an image, for models with a price by image. Their tokens then cost nothing.'),
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
  type: z.enum(MODEL_TYPES).default(MODEL_TYPES[0]).describe('The kind of output of the model.'),
  tier: z.string().min(1).optional().describe('Price class, for targets without their own tier.'),
  context: tokens
    .optional()
    .describe('The longest input that the model accepts, in tokens. Default: no limit.'),
  capabilities: z
    .strictObject({
      tools: z.boolean().optional().describe('false: the model does not accept tools.'),
      images: z.boolean().optional().describe('false: the model does not accept images.'),
    })
    .default({})
    .describe('Capabilities of the model. Only `false` excludes the model from calls.'),
  accepts: ownFacts
    .optional()
    .describe(
      'More facts about the model, for the translation of calls. They take precedence over the built-in facts; the name may contain `*`. See [What models accept](models.md).',
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
          over: tokens.optional().describe('More tokens than this number.'),
          under: tokens.optional().describe('Fewer tokens than this number.'),
        })
        .optional()
        .describe('Estimated tokens of the messages and tools.'),
      tools: z.boolean().optional().describe('true: the call offers tools; false: it offers no tools.'),
      images: z
        .boolean()
        .optional()
        .describe('true: the call contains an image; false: it contains no image.'),
      effort: z
        .union(
          [effort, z.array(effort).min(1)],
          'must be a reasoning effort, such as high, or a list of them',
        )
        .optional()
        .describe('The reasoning effort that the call requests, or a list of efforts.'),
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
          'The program that makes the call: the beginning of `client` in the record up to the `/`, such as claude-cli or codex_exec; or a list of programs.',
        ),
    })
    .describe('Conditions of the rule. All of them must match.'),
  use: z
    .strictObject({
      tier: z.string().optional().describe('A tier of the route.'),
      target: z.string().optional().describe('One of its targets, provider/model.'),
    })
    .describe('A tier of the route, or one of its targets (provider/model). Only these targets are tried.'),
})

/** Headers that the gateway itself writes, or that contain a credential. */
const RESERVED_HEADERS =
  /^(authorization|proxy-.*|x-api-key|api-key|x-goog-api-key|x-amz-(?:date|content-sha256|security-token)|x-gateway-.*|host|connection|content-.*|transfer-encoding|te|trailer|upgrade|expect|cookie|accept-encoding)$/i
/** Members that determine the target of a call or the format of its answer. */
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
      'Headers for this target, which replace headers of the same name. Credentials are not allowed here; they belong to the provider.',
    ),
  set: z
    .record(
      z.string().refine((member) => !RESERVED_MEMBERS.includes(member), RESERVED_MEMBER),
      z.json(),
    )
    .default({})
    .describe(
      'Members of the requests in the dialect of the provider, which replace members of the same name: `{ reasoning_effort: low, max_completion_tokens: 4000 }`.',
    ),
  omit: z
    .array(z.string().refine((member) => !RESERVED_MEMBERS.includes(member), RESERVED_MEMBER))
    .default([])
    .describe('Members that are left out of the requests.'),
  effort: effort
    .optional()
    .describe(
      'Effort of reasoning in place of the client’s, in the form that the target accepts: the nearest level of its model, or a budget for thinking.',
    ),
  max_output: tokens
    .optional()
    .describe(
      'Maximum number of output tokens; a lower limit of the client takes precedence. Reasoning counts as output.',
    ),
})

const target = z.strictObject({
  model: z.string().describe('provider/model'),
  tier: z.string().optional().describe('Price class. Default: the price class of the model.'),
  weight: z.number().nonnegative().default(1).describe('Weight of the target, for strategy `weighted`.'),
  request: requestChanges
    .optional()
    .describe('Changes to the requests that go to this target through this route.'),
})

const route = z.strictObject({
  strategy: z.enum(STRATEGIES).default('priority').describe('The strategy that chooses a target.'),
  description: z
    .string()
    .default('')
    .describe('Purpose of the route. Clients see this text in the list of models.'),
  sticky: z
    .enum(['session', 'prefix'])
    .optional()
    .describe(
      'session: the calls of a session stay with the target that served the first call, as long as it is ready. prefix: the same, also for calls without a session that begin with the same instructions, tools and first message, as long as the provider has them cached (`prompt_cache`).',
    ),
  rules: z
    .array(rule)
    .default([])
    .describe(
      'Rules that limit the targets of a call. The first matching rule applies; the strategy decides the order of its targets.',
    ),
  answer_model: z
    .enum(['provider', 'requested'])
    .default('provider')
    .describe(
      'The `model` in the answer: the value that the provider wrote, or the id that the client requested.',
    ),
  embeddings: z
    .enum(['same_model', 'any_model'])
    .default('same_model')
    .describe(
      'same_model: calls for embeddings go only to targets with the model of the first target that has embeddings, because vectors of two models must not be mixed.',
    ),
  cache: z.boolean().optional().describe('true: this route uses the cache. Default: `cache.enabled`.'),
  keep: z.boolean().optional().describe('true: the bodies of calls to this route are kept, see `keep`.'),
  prefer: z
    .literal('native')
    .optional()
    .describe(
      'native: targets that speak the client’s dialect are tried before targets that need a translation.',
    ),
  on_loss: z
    .union(
      [z.enum(['allow', 'refuse']), z.array(z.enum(Object.keys(LOSSES) as [Loss, ...Loss[]])).min(1)],
      'must be allow, refuse, or a list of losses such as [thinking.signature]; docs/losses.md lists them',
    )
    .default('allow')
    .describe(
      'Behaviour if a translation for a target would lose something. refuse: that target is not tried, and if no target is left, the call is refused. A list: the same, but only for these losses.',
    ),
  on_refused: z
    .enum(['relay', 'adjust'])
    .optional()
    .describe(
      'Behaviour if a provider refuses a parameter that can be left out, such as a temperature. adjust: the call is sent once more without it, and the refusal is remembered for seven days. relay: the client gets the refusal, and an output limit keeps the name that the client sent. Default: adjust for translated calls; for relayed calls, the refusal is relayed, and an output limit gets the name that the model is known to accept.',
    ),
  targets: z.array(target).min(1, 'names no target').describe('The possible targets of calls to this route.'),
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
      'Time between two chunks of a stream, pings included. A client must also read some of its answer within this time.',
    ),
  retries: z
    .int()
    .min(0)
    .max(5)
    .default(1)
    .describe('Number of additional attempts at a target if no connection could be opened.'),
  cooldown: duration
    .prefault('30s')
    .describe('Time for which a failed target is skipped. `Retry-After` takes precedence.'),
})

const retention = z.strictObject({
  rows: z
    .int()
    .min(1)
    .default(100_000)
    .describe('Maximum number of calls on record. Open calls are never deleted.'),
  days: z.number().positive().default(30).describe('Number of days for which a call stays on record.'),
  bytes: bytes
    .refine((value) => value >= 2 ** 20, 'must be at least 1MiB')
    .prefault('1GiB')
    .describe('Size of the database, write-ahead log and artifacts together.'),
})

const artifacts = z.strictObject({
  keep: z.int().min(0).max(100_000).default(500).describe('Number of the newest calls with an artifact.'),
  bytes: bytes
    .prefault('64MiB')
    .describe('Size of all artifacts together, at most an eighth of `retention.bytes`.'),
  bodies: z
    .boolean()
    .default(false)
    .describe('true: artifacts also contain requests and answers, prompts included.'),
})

/** Maximum period over which requests are counted: one day. */
const ONE_DAY = 24 * UNITS.h!

const budget = z.strictObject({
  usd: z.number().positive().describe('US dollars.'),
  per: z
    .enum(PERIODS)
    .default('month')
    .describe('Period of the budget: a calendar day, a week from Monday or a month, in UTC; or a session.'),
  unpriced: z
    .enum(['refuse', 'allow'])
    .default('refuse')
    .describe('allow: the key may also call targets without a known price. Their cost does not count.'),
})

const keep = z
  .strictObject({
    days: z.number().min(0.01).max(3_650).default(7).describe('Number of days for which a call is kept.'),
  })
  .prefault({})
  .describe(
    'Bodies of calls, kept only where it is asked for: `waybill run --keep`, `/keep` before the path of a call, `keys[].keep`, `routes.<name>.keep`. They are encrypted with `responses.store.key`. See [Steps of a session](steps.md). *Restart.*',
  )

const key = z.strictObject({
  name: name.describe('Name of the key in the records.'),
  role: z
    .enum(['client', 'admin'])
    .default('client')
    .describe('client: the key sees its own calls. admin: the key sees all calls, and `/metrics`.'),
  keep: z.boolean().optional().describe('true: the bodies of calls with this key are kept, see `keep`.'),
  digest: digest.describe('SHA-256 of the key; the key itself is not in this file.'),
  rate: z
    .strictObject({
      requests: z.int().min(1).describe('Calls in each window.'),
      per: duration
        .refine((ms) => ms >= 1_000 && ms <= ONE_DAY, 'must be between 1s and 24h')
        .describe('Length of the window.'),
    })
    .optional()
    .describe('Maximum number of calls in a window of time. Additional calls are refused with 429.'),
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
      'Maximum cost of the calls of this key in a period, open calls included; or a list of budgets, which all apply. Additional calls are refused with 429.',
    ),
})

const cache = z.strictObject({
  enabled: z
    .boolean()
    .default(false)
    .describe('true: an equal request of the same key and target is answered from memory.'),
  ttl: duration
    .refine((ms) => ms >= 1_000, 'must be at least 1s')
    .prefault('1h')
    .describe('Time for which an answer is cached.'),
  max_bytes: bytes
    .prefault('64MiB')
    .describe('Memory for answers. An answer larger than a sixteenth of this size is not cached.'),
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
    .describe('Port to listen on; 0 picks a free port. The variable WAYBILL_PORT takes precedence.'),
  body_limit: bytes
    .prefault('20MiB')
    .describe('The largest request body. A larger body is refused with 413.'),
  max_calls: z
    .int()
    .min(1)
    .default(1_000)
    .describe(
      'Maximum number of open calls. Additional calls are refused with 503. With several keys, one key never gets more than half.',
    ),
  memory: bytes
    .optional()
    .describe(
      'Memory for all that callers and providers make the gateway hold: requests, messages, answers in transit and unread. Default: half of the heap. A request counts three times its size. With several keys, one key never gets more than half, except for one request.',
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
    .describe('Other origins with pages that may call the gateway, such as `http://localhost:3000`.'),
  headers_timeout: wait
    .refine((ms) => ms >= 100, 'must be at least 100ms')
    .prefault('10s')
    .describe('Time for a client to send the headers of a request. A slower client gets a 408.'),
  request_timeout: wait
    .prefault('120s')
    .describe('Time for a client to send a whole request. The time for the answer does not count.'),
})

const responseStore = z.strictObject({
  enabled: z
    .boolean()
    .default(false)
    .describe(
      'true: input and output are stored in the database, or in the shared log of a fleet. Any provider can then continue a response, and the gateway answers `GET /v1/responses/{id}`. Requests with `store: false` are not stored.',
    ),
  days: z
    .number()
    .min(0.01)
    .max(3_650)
    .default(30)
    .describe('Number of days for which a response is stored.'),
  key: secret('key')
    .default('$WAYBILL_RESPONSES_KEY')
    .describe(
      '$NAME of the environment variable that holds the encryption key of the store, 32 characters or more. All gateways of a fleet need the same key.',
    ),
})

const responses = z.strictObject({
  store: responseStore.prefault({}).describe('Store for responses in the gateway itself.'),
  background_limit: wait
    .prefault('2h')
    .describe(
      'Time after the call for which the provider of a background response (`background: true`) is polled. If the response has not ended by then, its cost stays unknown.',
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
      'Maximum number of open WebSockets. Another upgrade gets 426. With several keys, one key never gets more than half.',
    ),
  socket_idle: wait
    .prefault('30m')
    .describe(
      'Time after which a WebSocket without a running response is closed. Every WebSocket is closed after 60 minutes.',
    ),
})

const collector = z
  .url({ protocol: /^https?$/ })
  .refine(
    (text) => !URL.parse(text)?.username && !URL.parse(text)?.password,
    'must not contain a user name or password; put them into the environment variable of `headers`',
  )

const telemetry = z.strictObject({
  endpoint: collector
    .default('http://127.0.0.1:4318')
    .describe(
      'Address of a collector for OTLP over HTTP in protobuf; /v1/traces is added. If unset: OTEL_EXPORTER_OTLP_ENDPOINT.',
    ),
  traces_endpoint: collector
    .optional()
    .describe(
      'The full address for traces, used without a suffix. If unset: OTEL_EXPORTER_OTLP_TRACES_ENDPOINT.',
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
    .describe('More attributes of the service. If unset: OTEL_RESOURCE_ATTRIBUTES.'),
  parent: z
    .enum(TRACE_PARENTS)
    .default('trace')
    .describe(
      'Use of the trace in the caller’s `traceparent`. trace: the call becomes part of this trace; link: the call gets its own trace, with a link to this trace; none: `traceparent` is ignored.',
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
      'true: with `parent: trace`, the caller decides about the sampling of its trace; false: `sample` decides.',
    ),
  content: z
    .boolean()
    .default(false)
    .describe(
      'true: traces also contain requests and answers, prompts included, as in artifacts; needs `artifacts.bodies`.',
    ),
  proposed_cost: z
    .boolean()
    .default(false)
    .describe(
      'true: attempts also have their cost, its currency and its source under the names that OpenTelemetry proposes (`gen_ai.usage.cost.*`). Langfuse takes the amount for a number of tokens.',
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
      'File of certificates to trust instead of the usual certificates, relative to this file. A database on this machine is then checked too.',
    ),
  days: z
    .number()
    .min(1)
    .max(3_650)
    .default(30)
    .describe('Number of days for which calls stay in the shared log. Whole days (UTC) are dropped.'),
  spool: z
    .strictObject({
      calls: z.int().min(1).default(100_000).describe('Number of calls.'),
      bytes: bytes.prefault('1GiB').describe('Size of the journal while calls wait in it.'),
      age: wait.prefault('24h').describe('Age of the oldest waiting call.'),
    })
    .prefault({})
    .describe(
      'Limits for waiting calls while the shared log is unavailable. Beyond these limits, calls are refused, but no call is dropped.',
    ),
  rate_fallback: z
    .enum(['divide', 'refuse'])
    .default('divide')
    .describe(
      'Behaviour for keys with a rate while the shared log is unavailable. divide: each gateway allows its part of the rate. refuse: their calls are refused.',
    ),
})

export const schema = z.strictObject({
  server: server.prefault({}).describe('The address of the gateway and limits for clients.'),
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
      'The failures that the record survives. process: a killed gateway. full: also a power cut. shared (only with `fleet`): also the loss of the data directory.',
    ),
  fleet: fleet
    .optional()
    .describe(
      'Settings of gateways that share a log, budgets, rates and cool-downs in a PostgreSQL database.',
    ),
  telemetry: telemetry
    .optional()
    .describe(
      'Traces of calls, made from the record after each call and sent to a collector. The OTEL_* environment variables provide missing settings; without this section, they send nothing.',
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
      'A file with your own prices, relative to this file. It has the settings of `models.<name>.price` for each provider/model; `models.<name>.price` takes precedence. It is read again when this file changes, or on SIGHUP.',
    ),
  routes: z
    .record(z.string().min(1), route)
    .default({})
    .describe('Names that clients request instead of a model, with the targets of their calls.'),
  defaults: z
    .partialRecord(z.enum(DIALECT_NAMES), z.string())
    .default({})
    .describe(
      'For each dialect, the route for calls with an unknown model, such as the background calls of coding agents. Without a default, these calls get a 404.',
    ),
  responses: responses.prefault({}).describe('Settings for OpenAI’s Responses.'),
  keep,
  passthrough: z
    .array(z.enum(PASSTHROUGH_NAMES))
    .default([])
    .describe(
      'Endpoints that are recorded, but relayed without being parsed: audio, moderations, rerank, completions, image-edits, files, batches, skills, decisions. Endpoints that are not listed get a 404. See [Passthrough](passthrough.md).',
    ),
  passthrough_providers: z
    .partialRecord(z.enum(PASSTHROUGH_NAMES), z.array(name).min(1, 'names no provider'))
    .default({})
    .describe(
      'For each endpoint of `passthrough`, the providers for calls without a known model. The first of them that speaks the client’s dialect is used. Default: the first provider with that dialect.',
    ),
  unknown_objects: z
    .enum(['relay', 'refuse'])
    .optional()
    .describe(
      'Files, batches, skills, containers, conversations and cached contents at a provider that are not on record, such as a file made in the provider’s console. refuse: for a client key they do not exist. relay: every key can reach them. Default: refuse with several client keys, relay with one or none.',
    ),
  resilience: resilience.prefault({}).describe('Time limits for providers; behaviour after a failure.'),
  retention: retention
    .prefault({})
    .describe('Limits of the record. Calls over a limit are deleted, oldest first.'),
  artifacts: artifacts.prefault({}).describe('The newest calls in full detail.'),
  cache: cache.prefault({}).describe('Cache in memory for answers to equal requests.'),
  keys: z
    .array(key)
    .default([])
    .describe(
      'Keys of clients. Without keys, every program on this machine may call. The variable WAYBILL_KEY_DIGESTS (NAME:ROLE=DIGEST, with commas) takes precedence.',
    ),
})

/** Returns the JSON Schema of waybill.yaml for editors, written to docs/waybill.schema.json. */
export const configJsonSchema = (): JsonSchema => z.toJSONSchema(schema, { io: 'input' }) as JsonSchema

/** Paths that dialects append to a provider's base address. */
const ENDPOINT_PATHS = [
  'chat/completions',
  'completions',
  'responses',
  'messages',
  'embeddings',
  'images/generations',
  'interactions',
  'models',
] as const

const AT_THE_END = new RegExp(`/(${ENDPOINT_PATHS.join('|')})/*$`)

/** Returns the endpoint's path at the end of an address, such as `/chat/completions`; null if there is none. */
export const endpointIn = (address: string): string | null => {
  const [, path] = AT_THE_END.exec(address) ?? []
  return path === undefined ? null : `/${path}`
}

/** Returns an address without an endpoint's path and without slashes at its end. */
export const withoutEndpoint = (address: string): string =>
  address.replace(AT_THE_END, '').replace(/\/+$/, '')
