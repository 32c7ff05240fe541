// The target file: how a gateway is started, how it is pointed at the witness, what it claims, and where it tells
// the route. One YAML file for each gateway, or one that `extends` another; this schema is its reference,
// and that is why it is long.
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { z } from 'zod'

const pointer = z.string().regex(/^(\/[^/]*)*$/, 'expected a JSON pointer such as /data/0/model')

/** Begins with what is filled in later, or is an address. */
const ADDRESS = /^(\{\{|https?:\/\/)/
const address = z.string().regex(ADDRESS, 'expected an address such as http://127.0.0.1:8080')

/** A log that can be asked for one call or for the newest ones. */
const log = z.strictObject({
  path: z.string().describe('Read path of the list, newest first.'),
  list: pointer.describe('Where the array is in the answer.'),
  one: z.string().optional().describe('Read path of one record; {id} is the request id of the answer.'),
  fields: z
    .strictObject({
      id: pointer,
      requested_model: pointer.optional(),
      provider: pointer.optional(),
      model: pointer.optional(),
      strategy: pointer.optional(),
      session: pointer.optional(),
      latency: pointer.optional(),
      input_tokens: pointer.optional(),
      output_tokens: pointer.optional(),
      cost: pointer.optional(),
      state: pointer.optional(),
    })
    .describe('Where a record has what.'),
  attempts: z
    .strictObject({ list: pointer, provider: pointer, model: pointer, outcome: pointer.optional() })
    .optional()
    .describe('Where the record of one call lists its attempts.'),
  /** Outcomes of attempts that need not have reached a provider. */
  unsure_outcomes: z.array(z.string()).default([]),
  completed: z.array(z.string()).default([]).describe('Values of `state` that say: completed successfully.'),
  failed: z.array(z.string()).default([]).describe('Values of `state` that say: failed.'),
  lag_ms: z.number().positive().default(1_000).describe('When a record is final after the end of the call.'),
})

/** A request to the gateway's own management interface. */
const step = z.strictObject({
  method: z.string().default('POST'),
  path: z
    .string()
    .regex(
      new RegExp(`^/|${ADDRESS.source}`),
      'expected a path that begins with /, such as /api/setup, or a whole address',
    )
    .describe('Below base_url; a whole address where the management interface lies elsewhere.'),
  headers: z.record(z.string(), z.string()).default({}),
  body: z.unknown().optional(),
})

/** Calls that a gateway makes of its own accord and says so. */
const background = z.strictObject({
  provider: z.string().describe('A provider of the witness.'),
  endpoint: z.string().default('chat/completions').describe('Below the provider’s base path.'),
  body: z
    .record(pointer, z.unknown())
    .refine((members) => Object.keys(members).length > 0, 'says nothing; name what its requests hold')
    .describe('JSON pointer -> what stands there in each of them.'),
  every_ms: z.number().positive().describe('How often one comes, at most.'),
})
export type Background = z.output<typeof background>

const served = z.strictObject({ id: z.string(), provider: z.string(), model: z.string() })

const fields = z.strictObject({
  name: z.string(),
  homepage: z.string().optional(),
  version: z.string().optional(),
  note: z.string().optional(),

  start: z
    .union([
      z.strictObject({ url: address }).describe('It runs already.'),
      z.strictObject({ command: z.array(z.string()).min(1) }).describe('Run here, stopped with SIGTERM.'),
      z
        .strictObject({ image: z.string(), port: z.int(), command: z.array(z.string()).optional() })
        .describe('Run in a container, where it listens on this port; `{{dir}}` lies in there.'),
      z.strictObject({ inproc: z.string() }).describe('A module beside the target files.'),
    ])
    .describe('How it comes to run.'),
  base_url: address.default('http://127.0.0.1:{{port}}').describe('What requests begin with, without /v1.'),
  /** Name of the environment variable that holds the key of a gateway that runs already. */
  key_env: z.string().optional(),
  /** The keys as they are shown, for gateways that hand them out themselves or want a prefix before them. */
  keys: z.strictObject({ client: z.string(), other: z.string(), reader: z.string() }).partial().default({}),
  /** Its environment, beside PATH, HOME and LANG; `{{env.NAME}}` is the suite's own. */
  env: z.record(z.string(), z.string()).default({}),
  files: z.record(z.string(), z.string()).default({}).describe('Written into {{dir}} before the start.'),
  instances: z
    .int()
    .min(1)
    .default(1)
    .describe('How many of it are held to the contract at the same time, each with a witness of its own.'),
  /** Where the witness listens, for gateways that were pointed at it before; any free port where nothing is said. */
  witness_port: z.int().min(0).max(65_535).default(0),
  /** Sent with every call, for gateways that are told the provider by the client. */
  headers: z.record(z.string(), z.string()).default({}),
  ready: z
    .strictObject({
      path: z.string(),
      status: z.int().default(200),
      timeout_ms: z.number().default(30_000),
      settle_ms: z
        .number()
        .default(0)
        .describe('How long it is left alone after the setup, where it takes that up late.'),
    })
    .prefault({ path: '/v1/models' }),
  /** Requests that configure a gateway that has no configuration file, in order, once it is ready. */
  setup: z
    .array(
      step.extend({
        /** Variables for later requests and the rest of this file: name -> where in the answer. */
        keep: z.record(z.string(), pointer).default({}),
      }),
    )
    .default([]),
  /** Requests before each check that make it forget the failures of the one before, where it would not by itself. */
  reset: z.array(step).default([]),

  providers: z
    .record(z.string(), z.strictObject({ aliases: z.array(z.string()).default([]) }))
    .describe('Providers of the witness, and the names under which the gateway speaks of them.'),
  models: z.strictObject({
    /** What is called where it does not matter which; the first of the others where nothing is said. */
    call: z.string().optional(),
    logical: z
      .array(z.strictObject({ id: z.string(), targets: z.array(served.omit({ id: true })).min(1) }))
      .default([]),
    direct: z.array(served).default([]),
  }),
  observability: z
    .strictObject({
      headers: z
        .strictObject({
          provider: z.string().optional(),
          model: z.string().optional(),
          request_id: z.string().optional(),
          session: z.string().optional(),
        })
        .prefault({}),
      log: log.optional(),
    })
    .prefault({}),
  capabilities: z
    .strictObject({
      read_paths: z.array(z.string()).default([]),
      catalog: z.string().optional().describe('Path of the model list, usually /v1/models.'),
      resolve: z
        .strictObject({ path: z.string().describe('{model} is put in.'), provider: pointer, model: pointer })
        .optional(),
      fallback_statuses: z.array(z.int()).default([]),
      /** A missing or wrong key is refused; the paths that need one, inference included. */
      gateway_keys: z
        .strictObject({
          protected: z
            .array(z.string())
            .describe('Paths, asked with GET; `POST /v1/embeddings` where it is another method.'),
        })
        .optional(),
      time_outs: z
        .strictObject({
          connect_ms: z.number(),
          answer_ms: z.number(),
          first_event_ms: z.number(),
          idle_ms: z.number(),
        })
        .partial()
        .optional(),
      session: z.strictObject({ header: z.string() }).optional(),
      /** It can be stopped and started again on the same data. */
      restart: z.boolean().default(false),
      cache: z.strictObject({ model: z.string() }).optional(),
      /** The gateway's own probes of its providers, if it makes any: how often. */
      probe_interval_ms: z.number().nonnegative().default(30_000),
      background: z
        .array(background)
        .default([])
        .describe('Inferences that no call asks for: no excuse for spending on reads, but accounted for.'),
      /** How long a target that failed is passed over. */
      cooldown_ms: z.number().nonnegative().default(0),
      /** After how long a failed request to a provider is sent again, at most. */
      retry_delay_ms: z.number().nonnegative().default(1_000),
    })
    .prefault({}),
  /** Its network reaches nothing but the witness: no call can go elsewhere unseen. Made so for an image. */
  sealed: z.boolean().default(false),
  /** For requirements of this project's own interface: further configurations to start it with, file by file. */
  variants: z.record(z.string(), z.strictObject({ files: z.record(z.string(), z.string()) })).default({}),
})

export const targetSchema = fields.refine(
  ({ instances, start, witness_port, setup }) =>
    instances === 1 || !('url' in start || witness_port > 0 || setup.length > 0),
  {
    path: ['instances'],
    error: 'a gateway that runs already, knows one witness only or is set up by requests is one instance',
  },
)

export type Target = z.output<typeof targetSchema>

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
] as const

export type Capability = (typeof CAPABILITIES)[number] | `variant:${string}`

/** Whether the target file declares it. */
export function declares(
  { start, models, observability, capabilities, variants }: Target,
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
      return headers.request_id !== undefined && log !== undefined
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

/** The target files that come with the package; the same step up from conformance/ and from dist/. */
export const ownTargets = fileURLToPath(new URL('../conformance/targets', import.meta.url))

/** A target file that cannot be used; `problems` are complete lines for a person. */
export class TargetError extends Error {
  override readonly name = 'TargetError'
}

/** Fields of version 0.1 -> their names now. */
const RENAMED = { tells: 'observability', has: 'capabilities' }

/** Reads a target file. Throws TargetError, one line for each problem. */
export function readTarget(file: string): Target {
  const given = completed(file)
  for (const [name, now] of Object.entries(RENAMED))
    if (Object.hasOwn(Object(given), name))
      throw new TargetError(`${file}: \`${name}\` is now called \`${now}\``)
  const parsed = targetSchema.safeParse(given)
  if (parsed.success) return parsed.data
  const lines = parsed.error.issues.map(
    ({ path, message }) => `${file}: ${path.join('.') || 'file'}: ${message}`,
  )
  throw new TargetError(lines.join('\n'))
}

/** The file with what it takes from another: `extends: other.yaml` gives everything that it does not say itself. */
function completed(file: string): unknown {
  const raw = readYaml(file)
  if (typeof raw !== 'object' || raw === null || !('extends' in raw)) return raw
  const { extends: base, ...own } = raw
  return { ...Object(readYaml(resolve(dirname(file), String(base)))), ...own }
}

function readYaml(file: string): unknown {
  try {
    return parse(readFileSync(file, 'utf8'))
  } catch (cause) {
    throw new TargetError(`${file}: ${(cause as Error).message.split('\n')[0]}`, { cause })
  }
}

/** A target of which nothing is known but its address and a model: what a bare url on the command line stands for. */
export const bareTarget = (
  url: string,
  model: string,
  options: { keyEnv?: string; witnessPort?: number },
): Target =>
  targetSchema.parse({
    name: new URL(url).host,
    start: { url: url.replace(/\/+$/, '').replace(/\/v1$/, '') },
    key_env: options.keyEnv,
    witness_port: options.witnessPort,
    providers: { openai: {} },
    // What the provider will be asked for is the gateway's business: nothing is claimed of it.
    models: { call: model },
    capabilities: { catalog: '/v1/models', read_paths: ['/v1/models'] },
  })
