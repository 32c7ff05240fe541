// Schema of the target file: how to start the gateway, how to connect it to the mock, what it supports, and
// where it reports the route. Each gateway has one YAML file, which may `extend` another (read.ts).
// docs/target-files.md and the JSON Schema for editors are generated from this schema, so each field has a
// description.
import { z } from 'zod'
import type { JsonSchema } from '../../src/yaml/wording.ts'

const pointer = z
  .string()
  .regex(/^(\/[^/]*)*$/, 'expected a JSON pointer such as /data/0/model')
  .meta({ title: 'JSON pointer' })
const at = (what: string) => pointer.optional().describe(what)

/** Address, or a placeholder that is filled in later. */
const ADDRESS = /^(\{\{|https?:\/\/)/
const address = z
  .string()
  .regex(ADDRESS, 'expected an address such as http://127.0.0.1:8080')
  .meta({ title: 'address' })

const usd = z.number().nonnegative()
const rates = {
  input: usd.describe('Ordinary input, without cache reads and cache writes.'),
  output: usd.describe('Output, including reasoning.'),
  cached_input: usd.optional().describe('Input read from a cache.'),
  cache_write: usd
    .optional()
    .describe('Input written to a cache; if there are several lifetimes, for five minutes.'),
  cache_write_1h: usd.optional().describe('Input written to a cache for an hour.'),
}
const factors = (what: string) =>
  z.record(z.string(), usd).optional().describe(`Factors by ${what}, such as \`flex: 0.5\`.`)

const cost = z.strictObject({
  per_usd: z.number().positive().default(1).describe('Units for one US dollar: 100 for cents.'),
  rounding: z
    .number()
    .nonnegative()
    .default(0)
    .describe('Smallest step of a cost on record, in its unit: 0.01 for cents with two digits.'),
  prices: z
    .record(
      z.string(),
      z.strictObject({
        ...rates,
        over: z
          .strictObject({
            tokens: z.int().positive().describe('Input tokens, including cached tokens.'),
            ...rates,
          })
          .optional()
          .describe(
            'Other prices for calls with long inputs. They apply to all tokens of a call with more input than `tokens`.',
          ),
        service_tier: factors('the tier that served the call'),
        speed: factors('the speed that served the call'),
        region: factors('the region that served the call'),
        web_search: usd.optional().describe('US dollars for one search by the provider.'),
      }),
    )
    .describe(
      'The prices that are configured or built in for these models: provider/model of the mock -> US dollars per million tokens. Prices that are left out are not tested.',
    ),
  reported: z
    .strictObject({ model: z.string().describe('The id to call.') })
    .optional()
    .describe('The gateway records the cost that a provider itself reports, such as OpenRouter.'),
})
export type ModelPrice = z.output<typeof cost>['prices'][string]

const log = z.strictObject({
  path: z
    .string()
    .describe(
      'Read path of the list; a full URL if it is outside base_url. If the list is cut, it has the newest records.',
    ),
  body: z.unknown().optional().describe('If the list is requested with POST: the body, sent as JSON.'),
  list: pointer.describe('The array in the answer.'),
  one: z.string().optional().describe('Read path of one record; {id} is the request id of the answer.'),
  record: at('The record in the answer to `one`; if omitted, the answer is the record.'),
  fields: z
    .strictObject({
      id: pointer.describe('The request id.'),
      requested_model: at('The requested model id.'),
      provider: at('The provider that served the call.'),
      model: at('The model that served the call, under its provider’s name for the model.'),
      strategy: at('The strategy that chose the target.'),
      session: at('The session of the call.'),
      latency: at('The duration of the call.'),
      input_tokens: at('Input tokens.'),
      output_tokens: at('Output tokens.'),
      cost: at('The cost of the call.'),
      state: at('The state of the call; see `completed` and `failed`.'),
      error: at(
        'The error. A call with an error in its record did not complete, even if its state says otherwise.',
      ),
    })
    .describe('The places of values in a record.'),
  attempts: z
    .strictObject({
      list: pointer.describe('The array in the record.'),
      provider: pointer.describe('In an attempt: the provider.'),
      model: pointer.describe('In an attempt: the model.'),
      outcome: at('In an attempt: its outcome.'),
    })
    .optional()
    .describe('The attempts in the record of a call.'),
  unsure_outcomes: z
    .array(z.string())
    .default([])
    .describe('Outcomes of attempts that may not have reached a provider.'),
  completed: z
    .array(z.string())
    .default([])
    .describe('Values of `state` for a call that completed successfully.'),
  failed: z.array(z.string()).default([]).describe('Values of `state` for a call that failed.'),
  cost: cost
    .optional()
    .describe('The gateway records costs: the unit and rounding of `fields.cost`, and the prices.'),
  lag_ms: z
    .number()
    .positive()
    .default(1_000)
    .describe('Maximum time from the end of a call until its record is final, ms.'),
  holds_content: z
    .boolean()
    .default(false)
    .describe(
      'true: the log is a store of traces, which shows prompts and answers by design. LOG-12 then does not apply.',
    ),
})

/** Request to the gateway's own management interface. */
const step = z.strictObject({
  method: z.string().default('POST').describe('The method.'),
  path: z
    .string()
    .regex(
      new RegExp(`^/|${ADDRESS.source}`),
      'expected a path that begins with /, such as /api/setup, or a whole address',
    )
    .describe('The path below base_url; a full URL if the management interface is elsewhere.'),
  headers: z
    .record(z.string(), z.string())
    .default({})
    .describe('The headers, in addition to `content-type`.'),
  body: z.unknown().optional().describe('The body, sent as JSON.'),
})

/** Declaration of calls that a gateway makes without a client's request. */
const background = z.strictObject({
  provider: z.string().describe('A provider of the mock.'),
  endpoint: z.string().default('chat/completions').describe('The path below the provider’s base path.'),
  body: z
    .record(pointer, z.unknown())
    .refine((members) => Object.keys(members).length > 0, 'is empty; name what its requests contain')
    .describe('JSON pointer -> the value there in each of these requests.'),
  every_ms: z.number().positive().describe('Minimum time between two of these calls, ms.'),
})
export type Background = z.output<typeof background>

const served = z.strictObject({
  id: z.string().describe('The id that a client calls.'),
  provider: z.string().describe('The provider of the mock that the call goes to.'),
  model: z.string().describe('The model that is requested from this provider.'),
})

const models = z.strictObject({
  call: z
    .string()
    .optional()
    .describe('The id for calls that can use any model. Default: the first of the other ids.'),
  logical: z
    .array(
      z.strictObject({
        id: z.string().describe('The id that a client calls.'),
        targets: z
          .array(served.omit({ id: true }))
          .min(1)
          .describe('The possible targets. If they have an order, the first target is tried first.'),
      }),
    )
    .default([])
    .describe('Ids that stand for a list of targets.'),
  direct: z.array(served).default([]).describe('Ids that mean one provider and model.'),
})

/** Dialect served in addition to chat. */
const furtherDialect = z.strictObject({
  models: models
    .optional()
    .describe('The ids that can be called in this dialect, if they differ from the ids for chat.'),
})

const fields = z.strictObject({
  name: z.string().describe('The name of the gateway in reports.'),
  homepage: z.string().optional().describe('A page about the gateway.'),
  version: z.string().optional().describe('The tested version, for the report.'),
  note: z.string().optional().describe('A note for readers of the report.'),

  start: z
    .union([
      z
        .strictObject({ url: address.describe('The gateway is already running, at this address.') })
        .meta({ title: 'one that runs already' }),
      z
        .strictObject({
          command: z
            .array(z.string())
            .min(1)
            .describe(
              'Program and arguments. The program runs in a new directory and is stopped with SIGTERM.',
            ),
        })
        .meta({ title: 'a command' }),
      z
        .strictObject({
          image: z
            .string()
            .describe('An image that is run in a container. The container contains `{{dir}}`.'),
          port: z.int().describe('The port on which the image listens.'),
          command: z.array(z.string()).optional().describe('Replaces the image’s own command.'),
        })
        .meta({ title: 'an image' }),
      z
        .strictObject({ inproc: z.string().describe('A module below conformance/ in this package.') })
        .meta({ title: 'a module' }),
    ])
    .describe('The way to start the gateway.'),
  install: z
    .union([
      z
        .strictObject({
          npm: z
            .array(z.string())
            .min(1)
            .describe('Packages of npm; `{{version}}` is the version, as in `my-gateway@{{version}}`.'),
        })
        .meta({ title: 'from npm' }),
      z
        .strictObject({
          pypi: z
            .array(z.string())
            .min(1)
            .describe('Packages of PyPI; `{{version}}` is the version, as in `my-gateway=={{version}}`.'),
          python: z.string().default('python3').describe('The Python that runs the gateway.'),
        })
        .meta({ title: 'from PyPI' }),
    ])
    .optional()
    .describe(
      'What `waybill conform FILE@VERSION --install` installs in a scratch directory. `start.command` then finds its programs.',
    ),
  base_url: address
    .default('http://127.0.0.1:{{port}}')
    .describe('The beginning of the address of all requests, without /v1.'),
  key_env: z
    .string()
    .optional()
    .describe('Name of the environment variable with the gateway’s key, if the gateway already has a key.'),
  key_header: z
    .string()
    .regex(/^[\w-]+$/, 'expected the name of a header, such as x-api-key')
    .default('authorization')
    .describe('The header for the key; in `authorization`, `Bearer ` is put before the key.'),
  keys: z
    .strictObject({
      client: z.string().describe('The key for calls.'),
      other: z.string().describe('The key of a second client.'),
      reader: z.string().describe('The key for reading the log.'),
    })
    .partial()
    .default({})
    .describe('The keys as they are sent, for gateways that issue keys themselves or require a prefix.'),
  env: z
    .record(z.string(), z.string())
    .default({})
    .describe(
      'Environment of the gateway, in addition to PATH, HOME and LANG. `{{env.NAME}}` is a variable of the suite’s own environment.',
    ),
  files: z
    .record(z.string(), z.string())
    .default({})
    .describe('Files that are written into {{dir}} before the start.'),
  instances: z
    .int()
    .min(1)
    .default(1)
    .describe('Number of instances that are tested at the same time, each with its own mock.'),
  mock_port: z
    .int()
    .min(0)
    .max(65_535)
    .default(0)
    .describe('The port of the mock, for gateways that were configured beforehand; 0 means a free port.'),
  mock_host: z
    .string()
    .default('127.0.0.1')
    .describe('The address of this machine on which the mock listens. Its control port stays on 127.0.0.1.'),
  mock_name: z
    .string()
    .regex(/^[\w.:-]+$/, 'expected a host name or an address, such as host.docker.internal')
    .optional()
    .describe('The name by which the target reaches the mock, if that is not `mock_host`.'),
  mock_tls: z
    .boolean()
    .default(false)
    .describe('The mock uses TLS; `{{mock.ca}}` is a file with the certificate to trust.'),
  ca: z
    .string()
    .optional()
    .describe(
      'A file with the certificate authority of the gateway, if it uses TLS with a private authority; `{{dir}}` is the directory of the gateway.',
    ),
  headers: z
    .record(z.string(), z.string())
    .default({})
    .describe('Headers for every request, for gateways that need the name of the provider.'),
  ready: z
    .strictObject({
      path: z.string().describe('The path that is requested until the answer has this status.'),
      status: z
        .union([z.int(), z.array(z.int()).min(1)])
        .default(200)
        .describe('The status of a ready gateway, or a list of statuses.'),
      timeout_ms: z.number().default(30_000).describe('Maximum time until the gateway is ready, ms.'),
      settle_ms: z.number().default(0).describe('Time to wait after the setup, if it takes effect late, ms.'),
    })
    .prefault({ path: '/v1/models' })
    .describe('The readiness check of the gateway.'),
  setup: z
    .array(
      step.extend({
        keep: z
          .record(z.string(), pointer)
          .default({})
          .describe(
            'Variables for later requests and the rest of this file: name -> JSON pointer to the value in the answer.',
          ),
        keep_headers: z
          .record(z.string(), z.string())
          .default({})
          .describe(
            'Variables from the headers of the answer: name -> header. For `set-cookie`: name and value of the first cookie, as in `cookie`.',
          ),
      }),
    )
    .default([])
    .describe('Requests that configure a gateway without a configuration file, in order, once it is ready.'),
  reset: z
    .array(step)
    .default([])
    .describe(
      'Requests before each check, for a gateway that does not forget the failures of the previous check by itself.',
    ),

  providers: z
    .record(
      z.string(),
      z.strictObject({
        aliases: z
          .array(z.string())
          .default([])
          .describe('Other names of the provider in headers and records.'),
      }),
    )
    .describe('Providers of the mock, and the gateway’s names for them.'),
  models: models.describe('The ids that can be called, with their targets.'),
  dialects: z
    .strictObject({
      chat: z
        .literal(false)
        .optional()
        .describe('Chat completions are not served: the suite makes every call in the other dialects.'),
      messages: furtherDialect
        .extend({
          counts: z
            .boolean()
            .default(false)
            .describe('true: the gateway counts the tokens of a request, `/v1/messages/count_tokens`.'),
        })
        .describe('Calls from Anthropic’s clients, `/v1/messages`.'),
      gemini: furtherDialect.describe('Calls from Google’s clients, `/v1beta/models/MODEL:generateContent`.'),
      responses: furtherDialect
        .extend({
          websocket: z
            .boolean()
            .default(false)
            .describe('true: the gateway also answers over a WebSocket at `/v1/responses`, like OpenAI.'),
          continues: z
            .boolean()
            .default(false)
            .describe('An answer with `store: true` can be continued by `previous_response_id`.'),
          keeps: z
            .boolean()
            .default(false)
            .describe('An answer with `store: true` can be read and deleted at `/v1/responses/{id}`.'),
        })
        .describe('Calls from OpenAI’s newer clients, `/v1/responses`.'),
      interactions: furtherDialect
        .extend({
          continues: z
            .boolean()
            .default(false)
            .describe('An interaction can be continued by `previous_interaction_id`.'),
          keeps: z
            .boolean()
            .default(false)
            .describe('An interaction can be read and deleted at `/v1beta/interactions/{id}`.'),
          background: z
            .boolean()
            .default(false)
            .describe('`background: true` answers at once, and the interaction can be read and cancelled.'),
        })
        .describe('Calls from Google’s newer clients, `/v1beta/interactions`.'),
      embeddings: furtherDialect.describe('Embeddings, `/v1/embeddings`.'),
      images: furtherDialect.describe('Pictures, `/v1/images/generations`.'),
    })
    .partial()
    .default({})
    .describe(
      'Dialects that the gateway serves in addition to chat completions, or instead of them. The checks run in each dialect.',
    ),
  observability: z
    .strictObject({
      headers: z
        .strictObject({
          provider: z.string().optional().describe('The header with the provider that served the call.'),
          model: z.string().optional().describe('The header with the model that served the call.'),
          request_id: z.string().optional().describe('The header with the request id.'),
          session: z.string().optional().describe('The header with the session.'),
        })
        .prefault({})
        .describe('Response headers of a call.'),
      request_id_pointer: at(
        'The request id in the body of an answer, or in one of the events of a stream, if no header has it. If no header and no body has the id, the suite uses the only new record in the log since the call.',
      ),
      log: log.optional().describe('A log that can be read for one call or for the newest calls.'),
    })
    .prefault({})
    .describe('The places where the gateway reports the route.'),
  capabilities: z
    .strictObject({
      read_paths: z
        .array(z.string())
        .default([])
        .describe('Paths of GET requests that must not cost anything.'),
      catalog: z.string().optional().describe('Path of the model list, usually /v1/models.'),
      resolve: z
        .strictObject({
          path: z.string().describe('The path; {model} is replaced by the model id.'),
          provider: pointer.describe('The provider in the answer.'),
          model: pointer.describe('The model in the answer.'),
        })
        .optional()
        .describe('A read path that shows where a call would go.'),
      fallback_statuses: z
        .array(z.int())
        .default([])
        .describe('Provider statuses after which the next target is tried.'),
      gateway_keys: z
        .strictObject({
          protected: z
            .array(z.string())
            .describe(
              'Paths that need a key. They are requested with GET, unless a method precedes the path: `POST /v1/embeddings`.',
            ),
        })
        .optional()
        .describe('The gateway refuses a missing or wrong key.'),
      time_outs: z
        .strictObject({
          connect_ms: z.number().describe('Time until the connection to a provider is made.'),
          answer_ms: z.number().describe('Time until a whole answer has arrived.'),
          first_event_ms: z.number().describe('Time until the first event of a stream.'),
          idle_ms: z.number().describe('Time between two events of a stream.'),
        })
        .partial()
        .optional()
        .describe(
          'Time-outs of the gateway for providers, ms. A variant named `time-outs` may have them instead of `files`.',
        ),
      session: z
        .strictObject({ header: z.string().describe('The request header that names the session.') })
        .optional()
        .describe('Calls belong to sessions.'),
      restart: z
        .boolean()
        .default(false)
        .describe('The gateway can be stopped and restarted on the same data.'),
      cache: z
        .strictObject({ model: z.string().describe('An id with cached answers.') })
        .optional()
        .describe('The gateway caches answers.'),
      budget: z
        .strictObject({
          usd: z.number().positive().describe('The budget of the key `client` in the variant, US dollars.'),
          calls_beyond: z
            .int()
            .nonnegative()
            .describe(
              'Number of calls by which simultaneous calls may exceed the budget, according to the documentation of the gateway.',
            ),
        })
        .optional()
        .describe('A key may have a budget; a variant named `budget` gives a budget to the key `client`.'),
      learns_refusals: z
        .strictObject({
          model: z
            .string()
            .describe(
              'An id of the variant. Its provider gets every parameter of a call until it refuses a parameter.',
            ),
          over_restarts: z
            .boolean()
            .default(false)
            .describe('true: the gateway remembers refusals after a restart.'),
          within_ms: z
            .number()
            .nonnegative()
            .default(1_000)
            .describe('Maximum time from a refusal until the gateway applies it to later calls, ms.'),
        })
        .optional()
        .describe(
          'The gateway remembers parameters that a provider refused; in a variant named `learns`, this is switched on.',
        ),
      caller_credentials: z
        .strictObject({
          model: z
            .string()
            .describe(
              'An id of the variant. Its first target is the provider with the caller’s credential, and its second is another provider.',
            ),
          provider: z.string().describe('The provider of the mock that gets the caller’s credential.'),
          key_header: z.string().describe('The header for the gateway’s own key in such a call.'),
        })
        .optional()
        .describe(
          'A provider may get the credential of the caller, in `authorization`; a variant named `caller` has such a provider.',
        ),
      key_pool: z
        .strictObject({
          model: z.string().describe('An id of the variant that goes to this provider.'),
          provider: z
            .string()
            .describe('The provider of the mock that has two keys, `key` and `second_key` of the mock.'),
        })
        .optional()
        .describe(
          'A provider may have several keys, and a session stays with one of them; a variant named `key-pool` has a provider with two keys.',
        ),
      passthrough: z
        .strictObject({
          endpoints: z
            .array(z.enum(['audio', 'moderations', 'files', 'batches']))
            .min(1)
            .describe('Endpoints of OpenAI that the gateway relays to the mock’s provider `openai`.'),
        })
        .optional()
        .describe(
          'The gateway relays endpoints that it does not parse. A variant named `passthrough` opens these endpoints.',
        ),
      window: z
        .int()
        .positive()
        .optional()
        .describe('Tokens that a request and its answer may have together, for profile `server`.'),
      probe_interval_ms: z
        .number()
        .nonnegative()
        .default(30_000)
        .describe('Interval at which the gateway checks its providers by itself, ms; 0 for never.'),
      background: z
        .array(background)
        .default([])
        .describe(
          'Inferences that the gateway makes by itself. This declaration explains them, but does not excuse spending on reads.',
        ),
      cooldown_ms: z
        .number()
        .nonnegative()
        .default(0)
        .describe('Time for which a failed target is skipped, ms.'),
      retry_delay_ms: z
        .number()
        .nonnegative()
        .default(1_000)
        .describe('Maximum time after which a failed request to a provider is sent again, ms.'),
    })
    .prefault({})
    .describe('Promises of the gateway. Undeclared capabilities are not tested.'),
  sealed: z
    .boolean()
    .default(false)
    .describe(
      'true: the network of the gateway reaches only the mock, so that no call can go elsewhere unnoticed. For an image, the suite makes this network.',
    ),
  variants: z
    .record(
      z.string(),
      z.strictObject({
        files: z.record(z.string(), z.string()).describe('Replaces `files`, file by file.'),
      }),
    )
    .default({})
    .describe('Other configurations of the gateway, for requirements of Waybill’s own interface.'),
})

export const targetSchema = fields
  .refine(
    ({ instances, start, mock_port, setup }) =>
      instances === 1 || !('url' in start || mock_port > 0 || setup.length > 0),
    {
      path: ['instances'],
      error:
        'a gateway that is already running, knows only one mock or is set up by requests can have only one instance',
    },
  )
  .refine(({ dialects: { chat, ...others } }) => chat !== false || Object.keys(others).length > 0, {
    path: ['dialects'],
    error: 'chat is not served, and no other dialect is named; there are: messages, responses, embeddings',
  })
  .refine(({ mock_host, mock_name }) => !['0.0.0.0', '::'].includes(mock_host) || mock_name !== undefined, {
    path: ['mock_name'],
    error: 'is missing: the name by which the target reaches this machine, such as host.docker.internal',
  })
  .refine(({ start, mock_host, mock_tls }) => !('image' in start) || (isLoopback(mock_host) && !mock_tls), {
    path: ['start'],
    error:
      'for an image, the mock runs in a container next to it, without TLS; leave out mock_host and mock_tls',
  })

export type Target = z.output<typeof targetSchema>

/** Returns true if an address can be reached from this machine only. */
export const isLoopback = (host: string): boolean => /^(127(\.\d+){3}|::1|localhost)$/.test(host)

/**
 * Returns the JSON Schema of a target file, for editors and for the reference. A file that extends another
 * may leave out the rest.
 */
export function targetJsonSchema(): JsonSchema {
  const base = z
    .string()
    .optional()
    .describe('Another target file, which provides all settings that are missing in this file.')
  const { required, ...schema } = z.toJSONSchema(fields.extend({ extends: base }), {
    io: 'input',
  }) as JsonSchema
  return { ...schema, anyOf: [{ required: ['extends'] }, { required: required ?? [] }] }
}

/** Returns true if answers carry the request id, in a header or in the body. */
const tellsRequestId = ({ headers, request_id_pointer }: Target['observability']): boolean =>
  headers.request_id !== undefined || request_id_pointer !== undefined

/** Returns the header that carries a gateway key. */
export const shownKey = ({ key_header }: Target, key: string): Record<string, string> => ({
  [key_header]: key_header.toLowerCase() === 'authorization' ? `Bearer ${key}` : key,
})

/** Capabilities, except variants, that a target file can declare and a check can need. */
export const CAPABILITIES = [
  'read_paths',
  'catalog',
  'resolve',
  'logical',
  'direct',
  'fallback',
  'headers',
  'log',
  'list',
  'request_id',
  'record',
  'state',
  'attempts',
  'tokens',
  'session',
  'gateway_keys',
  'time_outs',
  'files',
  'restart',
  'process',
  'cache',
  'messages',
  'counts',
  'responses',
  'gemini',
  'websocket',
  'continuation',
  'kept_responses',
  'interactions',
  'continued_interactions',
  'kept_interactions',
  'background_interactions',
  'embeddings',
  'images',
  'window',
  'cost',
  'budget',
  'learns_refusals',
  'caller_credentials',
  'key_pool',
  'passthrough',
] as const

export type Capability = (typeof CAPABILITIES)[number] | `variant:${string}`

/** Returns true if the target file declares a capability. */
export function declares(
  { start, models, dialects, observability, capabilities, variants }: Target,
  capability: Capability,
): boolean {
  const { headers, log } = observability
  const ours = !('url' in start)
  switch (capability) {
    case 'read_paths':
      return capabilities.read_paths.length > 0
    case 'logical':
      return models.logical.length > 0
    case 'direct':
      return models.direct.length > 0
    case 'fallback':
      return (
        capabilities.fallback_statuses.length > 0 && models.logical.some(({ targets }) => targets.length > 1)
      )
    case 'headers':
      return headers.provider !== undefined || headers.model !== undefined
    case 'request_id':
      return tellsRequestId(observability) && log !== undefined
    case 'record':
      return log !== undefined
    case 'log':
      return log !== undefined
    case 'list':
      return log !== undefined && !log.holds_content
    case 'state':
      return log?.fields.state !== undefined && log.completed.length > 0
    case 'attempts':
      return log?.attempts !== undefined
    case 'cost':
      return log?.cost !== undefined && log.fields.cost !== undefined
    case 'tokens':
      return log?.fields.input_tokens !== undefined
    case 'files':
      return ours
    case 'process':
      return 'command' in start || 'image' in start
    case 'restart':
      return ours && capabilities.restart
    case 'counts':
      return dialects.messages?.counts === true
    case 'websocket':
      return dialects.responses?.websocket === true
    case 'continuation':
      return dialects.responses?.continues === true
    case 'kept_responses':
      return dialects.responses?.keeps === true
    case 'continued_interactions':
      return dialects.interactions?.continues === true
    case 'kept_interactions':
      return dialects.interactions?.keeps === true
    case 'background_interactions':
      return dialects.interactions?.background === true
    case 'messages':
    case 'responses':
    case 'interactions':
    case 'gemini':
    case 'embeddings':
    case 'images':
      return dialects[capability] !== undefined
    case 'catalog':
    case 'resolve':
    case 'session':
    case 'gateway_keys':
    case 'time_outs':
    case 'cache':
    case 'budget':
    case 'learns_refusals':
    case 'caller_credentials':
    case 'key_pool':
    case 'passthrough':
    case 'window':
      return capabilities[capability] !== undefined
    default:
      return ours && Object.hasOwn(variants, capability.slice('variant:'.length))
  }
}

/** Name -> value. */
export type Values = Readonly<Record<string, string>>

/** Fills in the placeholders of every text in a value. Throws an Error that names an unknown placeholder. */
export function fillIn<T>(value: T, values: Values): T {
  if (typeof value === 'string') return fillText(value, values) as T
  if (Array.isArray(value)) return value.map((each) => fillIn(each, values)) as T
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [fillText(name, values), fillIn(each, values)]),
  ) as T
}

const fillText = (text: string, values: Values): string =>
  text.replace(/\{\{([\w.-]+)\}\}/g, (_, name: string) => {
    const value = values[name]
    if (value === undefined) throw new Error(`there is no {{${name}}}; known: ${known(values).join(', ')}`)
    return value
  })

const known = (values: Values): string[] =>
  Object.keys(values)
    .filter((name) => !name.startsWith('env.'))
    .sort()
