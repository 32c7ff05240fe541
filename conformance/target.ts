// The target file: how a gateway is started, how it is pointed at the witness, what it claims, and where it tells
// the route. One YAML file for each gateway, or one that `extends` another (read-target.ts). This schema is the
// reference: docs/target-files.md and the JSON Schema for editors are generated from it, so each field has a
// description. Over 250 lines, because it is a list of fields.
import { z } from 'zod'
import type { JsonSchema } from '../src/config/json-schema.ts'

const pointer = z
  .string()
  .regex(/^(\/[^/]*)*$/, 'expected a JSON pointer such as /data/0/model')
  .meta({ title: 'JSON pointer' })
const at = (what: string) => pointer.optional().describe(what)

/** Begins with what is filled in later, or is an address. */
const ADDRESS = /^(\{\{|https?:\/\/)/
const address = z
  .string()
  .regex(ADDRESS, 'expected an address such as http://127.0.0.1:8080')
  .meta({ title: 'address' })

const log = z.strictObject({
  path: z
    .string()
    .describe('Read path of the list, newest first; a whole address where it lies outside base_url.'),
  body: z.unknown().optional().describe('Where the list is asked for with POST: the body, sent as JSON.'),
  list: pointer.describe('Where the array is in the answer.'),
  one: z.string().optional().describe('Read path of one record; {id} is the request id of the answer.'),
  record: at('Where the record is in the answer to `one`; the answer itself where nothing is said.'),
  fields: z
    .strictObject({
      id: pointer.describe('The request id.'),
      requested_model: at('The id that was asked for.'),
      provider: at('The provider that served.'),
      model: at('The model that served, as its provider calls it.'),
      strategy: at('How the target was chosen.'),
      session: at('The session of the call.'),
      latency: at('How long the call took.'),
      input_tokens: at('Input tokens.'),
      output_tokens: at('Output tokens.'),
      cost: at('What the call cost.'),
      state: at('How far the call is; see `completed` and `failed`.'),
      error: at(
        'What went wrong. A record that has something there is of no completed call, whatever its state.',
      ),
    })
    .describe('Where a record has what.'),
  attempts: z
    .strictObject({
      list: pointer.describe('Where the array is in the record.'),
      provider: pointer.describe('In an attempt: the provider.'),
      model: pointer.describe('In an attempt: the model.'),
      outcome: at('In an attempt: how it ended.'),
    })
    .optional()
    .describe('Where the record of one call lists its attempts.'),
  unsure_outcomes: z
    .array(z.string())
    .default([])
    .describe('Outcomes of attempts that need not have reached a provider.'),
  completed: z.array(z.string()).default([]).describe('Values of `state` that say: completed successfully.'),
  failed: z.array(z.string()).default([]).describe('Values of `state` that say: failed.'),
  lag_ms: z
    .number()
    .positive()
    .default(1_000)
    .describe('Ms from the end of a call until its record is final, at most.'),
})

/** A request to the gateway's own management interface. */
const step = z.strictObject({
  method: z.string().default('POST').describe('Its method.'),
  path: z
    .string()
    .regex(
      new RegExp(`^/|${ADDRESS.source}`),
      'expected a path that begins with /, such as /api/setup, or a whole address',
    )
    .describe('Below base_url; a whole address where the management interface lies elsewhere.'),
  headers: z.record(z.string(), z.string()).default({}).describe('Its headers, beside `content-type`.'),
  body: z.unknown().optional().describe('Its body, sent as JSON.'),
})

/** Calls that a gateway makes of its own accord and says so. */
const background = z.strictObject({
  provider: z.string().describe('A provider of the witness.'),
  endpoint: z.string().default('chat/completions').describe('Below the provider’s base path.'),
  body: z
    .record(pointer, z.unknown())
    .refine((members) => Object.keys(members).length > 0, 'says nothing; name what its requests hold')
    .describe('JSON pointer -> what stands there in each of them.'),
  every_ms: z.number().positive().describe('Ms between two of them, at least.'),
})
export type Background = z.output<typeof background>

const served = z.strictObject({
  id: z.string().describe('What a client calls.'),
  provider: z.string().describe('The provider of the witness that it goes to.'),
  model: z.string().describe('The model that this provider is asked for.'),
})

const models = z.strictObject({
  call: z
    .string()
    .optional()
    .describe(
      'What is called where it does not matter which; the first of the others where nothing is said.',
    ),
  logical: z
    .array(
      z.strictObject({
        id: z.string().describe('What a client calls.'),
        targets: z
          .array(served.omit({ id: true }))
          .min(1)
          .describe('Where it may go; the first one is tried first, where there is an order.'),
      }),
    )
    .default([])
    .describe('Ids that stand for a list of targets.'),
  direct: z.array(served).default([]).describe('Ids that mean one provider and model.'),
})

/** A surface that is served beside chat. */
const furtherSurface = z.strictObject({
  models: models.optional().describe('What can be called there, where that is something else than by chat.'),
})

const fields = z.strictObject({
  name: z.string().describe('What reports call the gateway.'),
  homepage: z.string().optional().describe('Where to read about it.'),
  version: z.string().optional().describe('The version that is tested, for the report.'),
  note: z.string().optional().describe('What a reader of the report should know.'),

  start: z
    .union([
      z
        .strictObject({ url: address.describe('It runs already, at this address.') })
        .meta({ title: 'one that runs already' }),
      z
        .strictObject({
          command: z
            .array(z.string())
            .min(1)
            .describe('Program and arguments. Run in a directory of its own, stopped with SIGTERM.'),
        })
        .meta({ title: 'a command' }),
      z
        .strictObject({
          image: z.string().describe('Run in a container; `{{dir}}` lies in there.'),
          port: z.int().describe('Where the image listens.'),
          command: z.array(z.string()).optional().describe('Takes the place of the image’s own command.'),
        })
        .meta({ title: 'an image' }),
      z
        .strictObject({ inproc: z.string().describe('A module beside the target files that come along.') })
        .meta({ title: 'a module' }),
    ])
    .describe('How it comes to run.'),
  base_url: address.default('http://127.0.0.1:{{port}}').describe('What requests begin with, without /v1.'),
  key_env: z
    .string()
    .optional()
    .describe('Name of the environment variable that holds the key of a gateway that has one already.'),
  key_header: z
    .string()
    .regex(/^[\w-]+$/, 'expected the name of a header, such as x-api-key')
    .default('authorization')
    .describe('The header that a key is shown in; in `authorization` it has `Bearer ` before it.'),
  keys: z
    .strictObject({
      client: z.string().describe('Shown with calls.'),
      other: z.string().describe('The key of a second client.'),
      reader: z.string().describe('Shown when the log is read.'),
    })
    .partial()
    .default({})
    .describe(
      'The keys as they are shown, for gateways that hand them out themselves or want a prefix before them.',
    ),
  env: z
    .record(z.string(), z.string())
    .default({})
    .describe(
      'Its environment, beside PATH, HOME and LANG. `{{env.NAME}}` is a variable of the suite’s own.',
    ),
  files: z.record(z.string(), z.string()).default({}).describe('Written into {{dir}} before the start.'),
  instances: z
    .int()
    .min(1)
    .default(1)
    .describe('How many of it are held to the contract at the same time, each with a witness of its own.'),
  witness_port: z
    .int()
    .min(0)
    .max(65_535)
    .default(0)
    .describe('Where the witness listens, for gateways that were pointed at it before; 0 takes a free port.'),
  witness_host: z
    .string()
    .default('127.0.0.1')
    .describe(
      'The address of this machine that the witness listens on. Its control port stays on 127.0.0.1.',
    ),
  witness_name: z
    .string()
    .regex(/^[\w.:-]+$/, 'expected a host name or an address, such as host.docker.internal')
    .optional()
    .describe('The name by which the target reaches the witness, where that is not `witness_host`.'),
  witness_tls: z
    .boolean()
    .default(false)
    .describe('The witness speaks TLS; `{{witness.ca}}` is a file with the certificate to trust.'),
  ca: z
    .string()
    .optional()
    .describe(
      'A file with the authority of its certificate, where it speaks TLS with one of its own; `{{dir}}` is its directory.',
    ),
  headers: z
    .record(z.string(), z.string())
    .default({})
    .describe('Sent with every request, for gateways that are told the provider by the client.'),
  ready: z
    .strictObject({
      path: z.string().describe('What is asked until it answers.'),
      status: z.int().default(200).describe('The status that says: ready.'),
      timeout_ms: z.number().default(30_000).describe('How long this may take, ms.'),
      settle_ms: z
        .number()
        .default(0)
        .describe('How long it is left alone after the setup, where it takes that up late, ms.'),
    })
    .prefault({ path: '/v1/models' })
    .describe('When it is ready for calls.'),
  setup: z
    .array(
      step.extend({
        keep: z
          .record(z.string(), pointer)
          .default({})
          .describe('Variables for later requests and the rest of this file: name -> where in the answer.'),
        keep_headers: z
          .record(z.string(), z.string())
          .default({})
          .describe(
            'The same from the headers of the answer: name -> header. Of `set-cookie` name and value of the first cookie, as `cookie` takes them.',
          ),
      }),
    )
    .default([])
    .describe(
      'Requests that configure a gateway that has no configuration file, in order, once it is ready.',
    ),
  reset: z
    .array(step)
    .default([])
    .describe(
      'Requests before each check, where it would not forget the failures of the one before by itself.',
    ),

  providers: z
    .record(
      z.string(),
      z.strictObject({
        aliases: z.array(z.string()).default([]).describe('Its other names in headers and records.'),
      }),
    )
    .describe('Providers of the witness, and the names under which the gateway speaks of them.'),
  models: models.describe('What can be called, and where it goes.'),
  surfaces: z
    .strictObject({
      chat: z
        .literal(false)
        .optional()
        .describe('Chat completions are not served: every call of the suite is made on the others.'),
      messages: furtherSurface
        .extend({
          counts: z
            .boolean()
            .default(false)
            .describe('It counts the tokens of a request, `/v1/messages/count_tokens`.'),
        })
        .describe('Calls of Anthropic’s clients, `/v1/messages`.'),
      responses: furtherSurface.describe('Calls of OpenAI’s newer clients, `/v1/responses`.'),
      embeddings: furtherSurface.describe('Vectors, `/v1/embeddings`.'),
    })
    .partial()
    .default({})
    .describe('What it serves beside chat completions, or in their place; the checks run on each.'),
  observability: z
    .strictObject({
      headers: z
        .strictObject({
          provider: z.string().optional().describe('The header with the provider that served.'),
          model: z.string().optional().describe('The header with the model that served.'),
          request_id: z.string().optional().describe('The header with the request id.'),
          session: z.string().optional().describe('The header with the session.'),
        })
        .prefault({})
        .describe('Response headers of a call.'),
      request_id_pointer: at(
        'Where the request id is in the body of an answer, where no header tells it; in a stream in one of its events. Where nothing tells it, the record of a call is the only one that the log has got since.',
      ),
      log: log.optional().describe('A log that can be asked for one call or for the newest ones.'),
    })
    .prefault({})
    .describe('Where it tells the route.'),
  capabilities: z
    .strictObject({
      read_paths: z
        .array(z.string())
        .default([])
        .describe('Paths of GET requests that must not cost anything.'),
      catalog: z.string().optional().describe('Path of the model list, usually /v1/models.'),
      resolve: z
        .strictObject({
          path: z.string().describe('Its path; {model} is put in.'),
          provider: pointer.describe('Where the provider is in the answer.'),
          model: pointer.describe('Where the model is in the answer.'),
        })
        .optional()
        .describe('A read path that says where a call would go.'),
      fallback_statuses: z
        .array(z.int())
        .default([])
        .describe('Statuses of a provider after which the next target is tried.'),
      gateway_keys: z
        .strictObject({
          protected: z
            .array(z.string())
            .describe(
              'Paths that need a key, asked with GET; `POST /v1/embeddings` where it is another method.',
            ),
        })
        .optional()
        .describe('A missing or wrong key is refused.'),
      time_outs: z
        .strictObject({
          connect_ms: z.number().describe('Until a provider is reached.'),
          answer_ms: z.number().describe('Until a whole answer is there.'),
          first_event_ms: z.number().describe('Until the first event of a stream.'),
          idle_ms: z.number().describe('Between two events of a stream.'),
        })
        .partial()
        .optional()
        .describe('How long it waits for a provider, ms.'),
      session: z
        .strictObject({ header: z.string().describe('The request header that names the session.') })
        .optional()
        .describe('Calls belong to sessions.'),
      restart: z.boolean().default(false).describe('It can be stopped and started again on the same data.'),
      cache: z
        .strictObject({ model: z.string().describe('An id whose answers are cached.') })
        .optional()
        .describe('It can give an answer again.'),
      probe_interval_ms: z
        .number()
        .nonnegative()
        .default(30_000)
        .describe('How often it asks its providers by itself whether they are there, ms; 0 for never.'),
      background: z
        .array(background)
        .default([])
        .describe('Inferences that no call asks for: no excuse for spending on reads, but accounted for.'),
      cooldown_ms: z
        .number()
        .nonnegative()
        .default(0)
        .describe('How long a target that failed is passed over, ms.'),
      retry_delay_ms: z
        .number()
        .nonnegative()
        .default(1_000)
        .describe('After how many ms a failed request to a provider is sent again, at most.'),
    })
    .prefault({})
    .describe('What it promises. What is not declared is not tested.'),
  sealed: z
    .boolean()
    .default(false)
    .describe(
      'Its network reaches nothing but the witness, so that no call can go elsewhere unseen. Made so for an image.',
    ),
  variants: z
    .record(
      z.string(),
      z.strictObject({
        files: z.record(z.string(), z.string()).describe('In the place of `files`, file by file.'),
      }),
    )
    .default({})
    .describe('Further configurations to start it with, for requirements of Waybill’s own interface.'),
})

export const targetSchema = fields
  .refine(
    ({ instances, start, witness_port, setup }) =>
      instances === 1 || !('url' in start || witness_port > 0 || setup.length > 0),
    {
      path: ['instances'],
      error: 'a gateway that runs already, knows one witness only or is set up by requests is one instance',
    },
  )
  .refine(({ surfaces: { chat, ...others } }) => chat !== false || Object.keys(others).length > 0, {
    path: ['surfaces'],
    error: 'chat is not served, and nothing else is named; there are: messages, responses, embeddings',
  })
  .refine(
    ({ witness_host, witness_name }) =>
      !['0.0.0.0', '::'].includes(witness_host) || witness_name !== undefined,
    {
      path: ['witness_name'],
      error: 'is missing: the name by which the target reaches this machine, such as host.docker.internal',
    },
  )
  .refine(
    ({ start, witness_host, witness_tls }) =>
      !('image' in start) || (isLoopback(witness_host) && !witness_tls),
    {
      path: ['start'],
      error:
        'an image gets the witness in a container beside it, without TLS; leave witness_host and witness_tls out',
    },
  )

export type Target = z.output<typeof targetSchema>

/** Whether an address can be reached from this machine only. */
export const isLoopback = (host: string): boolean => /^(127(\.\d+){3}|::1|localhost)$/.test(host)

/** The JSON Schema of a target file, for editors and for the reference. One that extends another may leave out the rest. */
export function targetJsonSchema(): JsonSchema {
  const base = z
    .string()
    .optional()
    .describe('Another target file, which gives everything that this one does not say.')
  const { required, ...schema } = z.toJSONSchema(fields.extend({ extends: base }), {
    io: 'input',
  }) as JsonSchema
  return { ...schema, anyOf: [{ required: ['extends'] }, { required: required ?? [] }] }
}

/** Whether answers carry the request id, in a header or in the body. */
export const tellsRequestId = ({ headers, request_id_pointer }: Target['observability']): boolean =>
  headers.request_id !== undefined || request_id_pointer !== undefined

/** The header that shows a gateway key. */
export const shownKey = ({ key_header }: Target, key: string): Record<string, string> => ({
  [key_header]: key_header.toLowerCase() === 'authorization' ? `Bearer ${key}` : key,
})

/** What a check may need a target file to declare, variants apart. */
export const CAPABILITIES = [
  'read_paths',
  'catalog',
  'resolve',
  'logical',
  'direct',
  'fallback',
  'headers',
  'log',
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
  'embeddings',
] as const

export type Capability = (typeof CAPABILITIES)[number] | `variant:${string}`

/** Whether the target file declares it. */
export function declares(
  { start, models, surfaces, observability, capabilities, variants }: Target,
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
    case 'state':
      return log?.fields.state !== undefined && log.completed.length > 0
    case 'attempts':
      return log?.attempts !== undefined
    case 'tokens':
      return log?.fields.input_tokens !== undefined
    case 'files':
      return ours
    case 'process':
      return 'command' in start || 'image' in start
    case 'restart':
      return ours && capabilities.restart
    case 'counts':
      return surfaces.messages?.counts === true
    case 'messages':
    case 'responses':
    case 'embeddings':
      return surfaces[capability] !== undefined
    case 'catalog':
    case 'resolve':
    case 'session':
    case 'gateway_keys':
    case 'time_outs':
    case 'cache':
      return capabilities[capability] !== undefined
    default:
      return ours && Object.hasOwn(variants, capability.slice('variant:'.length))
  }
}
