// LiteLLM's proxy configuration: a list of deployments, and settings of the router, the library and the
// proxy. Deployments with the same name form a route.
import {
  baseOf,
  CLOUDS,
  type ConfigDraft,
  type DraftTarget,
  type ForeignFields,
  type ForeignFormat,
  fields,
  list,
  noteOthers,
  number,
  text,
  variableFor,
  vendorOf,
} from './draft.ts'

type Env = Readonly<Record<string, string | undefined>>

export const litellm = {
  name: 'LiteLLM',
  isOne: (file) => Array.isArray(fields(file).model_list),
  read(file: ForeignFields, draft, env) {
    const { router_settings, litellm_settings, general_settings, model_list } = file
    const [router, library, proxy] = [router_settings, litellm_settings, general_settings].map(fields)
    const groups = readDeployments(list(model_list), draft, env)
    for (const [name, deployments] of groups) draft.routes[name] = routeOf(deployments, router!, draft)
    readAliases(fields(router!.model_group_alias), draft)
    readFallbacks({ ...library, ...router }, groups, draft)
    if (library!.drop_params === true)
      for (const route of Object.values(draft.routes)) route.on_refused = 'adjust'
    readTimes({ ...library, ...router }, draft)
    readCache(library!, draft)
    readProxy(proxy!, library!, draft, env)
    noteOthers(draft, 'litellm_settings.', library!, LIBRARY, ADVICE)
    noteOthers(draft, 'router_settings.', router!, ROUTER, ADVICE)
    noteOthers(draft, 'general_settings.', proxy!, PROXY, ADVICE)
    noteOthers(
      draft,
      '',
      file,
      ['model_list', 'router_settings', 'litellm_settings', 'general_settings'],
      ADVICE,
    )
  },
} satisfies ForeignFormat

const LIBRARY = [
  ...['drop_params', 'fallbacks', 'default_fallbacks', 'context_window_fallbacks', 'num_retries'],
  ...['request_timeout', 'timeout', 'cache', 'cache_params', 'max_budget', 'budget_duration'],
  ...['set_verbose', 'json_logs', 'telemetry', 'turn_off_message_logging'],
]
const ROUTER = [
  ...['routing_strategy', 'fallbacks', 'default_fallbacks', 'context_window_fallbacks', 'num_retries'],
  ...[
    'timeout',
    'stream_timeout',
    'cooldown_time',
    'model_group_alias',
    'enable_pre_call_checks',
    'retry_after',
  ],
]
const PROXY = ['master_key', 'max_budget', 'budget_duration', 'disable_spend_logs', 'store_model_in_db']

const ADVICE: Readonly<Record<string, string>> = {
  database_url:
    'the record is in SQLite, in the directory `data`; several gateways share PostgreSQL with `fleet`',
  callbacks: 'the record has every call; `telemetry` sends traces, and /metrics is for Prometheus',
  success_callback: 'the record has every call; `telemetry` sends traces, and /metrics is for Prometheus',
  failure_callback: 'the record has every call; `telemetry` sends traces, and /metrics is for Prometheus',
  guardrails: 'the gateway changes and blocks no content',
  mcp_servers: 'the gateway is no MCP gateway; name the servers in the client',
  environment_variables: 'set these in the environment of the gateway',
  redis_host: 'nothing is shared through Redis; several gateways share PostgreSQL with `fleet`',
  redis_port: 'nothing is shared through Redis; several gateways share PostgreSQL with `fleet`',
  redis_password: 'nothing is shared through Redis; several gateways share PostgreSQL with `fleet`',
  redis_url: 'nothing is shared through Redis; several gateways share PostgreSQL with `fleet`',
  content_policy_fallbacks: 'a refusal for its content is an answer, and no other target is tried',
  allowed_fails: 'a target rests after its first failure, for `resilience.cooldown`',
  custom_auth: 'callers are known by `keys`',
  enable_jwt_auth: 'callers are known by `keys`',
  alerting: 'watch /metrics with Prometheus',
  default_model: 'set `defaults`, such as `{ chat: ROUTE }`, for models that no route knows',
  pass_through_endpoints: 'only the endpoints in docs/contract.md are forwarded',
  include: 'the files that it names are not read; run this command for each of them',
  files_settings: 'set `keep` of the provider, or name the files at the provider itself',
  finetune_settings: 'the gateway forwards no fine-tuning',
}

/** Parameters of a deployment that are added to each of its requests in the dialect chat. */
const MEMBERS = [
  ...['temperature', 'top_p', 'max_tokens', 'max_completion_tokens', 'seed', 'stop', 'reasoning_effort'],
  ...['frequency_penalty', 'presence_penalty', 'service_tier', 'verbosity', 'parallel_tool_calls'],
]
const READ_PARAMS = [
  ...['model', 'api_base', 'base_url', 'api_key', 'weight', 'order', 'rpm', 'tpm', 'custom_llm_provider'],
  ...[
    'aws_region_name',
    'vertex_project',
    'vertex_location',
    'api_version',
    'input_cost_per_token',
    'output_cost_per_token',
    'cache_read_input_token_cost',
    'extra_headers',
    ...MEMBERS,
  ],
]
const PARAM_ADVICE: Readonly<Record<string, string>> = {
  timeout: 'times are the same for all targets: `resilience.answer`',
  stream_timeout: 'times are the same for all targets: `resilience.stream_first_event`',
  max_retries:
    'a failed call goes to the next target; `resilience.retries` is for connections that could not be opened',
  tags: 'make a route for each tag, or a rule with `client` or `purpose`',
  region_name: 'give the provider the address of its region as base_url',
  aws_access_key_id: 'the credentials are those that AWS’s own programs find: environment, files, machine',
  aws_secret_access_key:
    'the credentials are those that AWS’s own programs find: environment, files, machine',
  aws_profile_name: 'set `aws: { profile: NAME }` of the provider',
  vertex_credentials:
    'the credentials are Google’s application-default ones: set GOOGLE_APPLICATION_CREDENTIALS',
}

interface Deployment {
  readonly target: DraftTarget
  readonly order: number
  readonly where: string
}

function readDeployments(
  deployments: readonly unknown[],
  draft: ConfigDraft,
  env: Env,
): Map<string, Deployment[]> {
  const groups = new Map<string, Deployment[]>()
  deployments.forEach((given, index) => {
    const deployment = fields(given)
    const asked = text(deployment.model_name)
    const where = `model_list[${index}]${asked ? ` (${asked})` : ''}`
    const target = asked ? targetOf(deployment, asked, where, draft, env) : null
    if (!asked) draft.note(where, 'it has no model_name, so no client can ask for it')
    if (!asked || !target) return
    groups.set(asked, [...(groups.get(asked) ?? []), target])
  })
  return groups
}

/** Returns null if a deployment cannot be carried over; a note says why. */
function targetOf(
  deployment: ForeignFields,
  asked: string,
  where: string,
  draft: ConfigDraft,
  env: Env,
): Deployment | null {
  const params = fields(deployment.litellm_params)
  const info = fields(deployment.model_info)
  const place = placeOf(params, where, draft, env)
  if (!place) return null
  const { provider, model } = place
  if (asked.includes('*') || model.includes('*')) {
    draft.note(
      where,
      `routes have no wildcards; ask for ${provider}/MODEL, which goes to this provider without a route`,
    )
    return null
  }
  const type = TYPES[text(info.mode) ?? 'chat']
  if (!type) {
    draft.note(where, `the gateway forwards no calls of the kind ${JSON.stringify(info.mode)}`)
    return null
  }
  const id = `${provider}/${model}`
  const settings = { ...(type !== 'chat' && { type }), ...priceOf({ ...info, ...params }) }
  if (Object.keys(settings).length > 0) draft.models[id] = settings
  const set = Object.fromEntries(
    Object.entries(params).filter(([name, value]) => MEMBERS.includes(name) && value !== null),
  )
  if (Object.keys(set).length > 0)
    draft.note(
      `${where}: ${Object.keys(set).join(', ')}`,
      'carried over as `request.set`, which also replaces what a client sends',
    )
  const headers = fields(params.extra_headers)
  if (Object.keys(headers).length > 0)
    draft.note(
      `${where}: extra_headers`,
      'headers may hold credentials; write those that do not as `request.headers` of the target',
    )
  const limits = ['rpm', 'tpm'].filter((name) => (params[name] ?? deployment[name]) !== undefined)
  if (limits.length > 0)
    draft.note(
      `${where}: ${limits.join(', ')}`,
      'used as weights only; the limits in the provider’s headers are read if it has several `keys`, and `rate` limits a caller',
    )
  noteOthers(draft, `${where}: `, params, READ_PARAMS, PARAM_ADVICE)
  const weight =
    number(params.weight) ?? number(params.rpm ?? deployment.rpm) ?? number(params.tpm ?? deployment.tpm)
  return {
    target: {
      model: id,
      ...(weight !== undefined && weight >= 0 && { weight }),
      ...(Object.keys(set).length > 0 && { request: { set } }),
    },
    order: number(params.order) ?? 1,
    where,
  }
}

const TYPES: Readonly<Record<string, 'chat' | 'embedding' | 'image' | undefined>> = {
  chat: 'chat',
  completion: 'chat',
  responses: 'chat',
  embedding: 'embedding',
  image_generation: 'image',
}

function priceOf(params: ForeignFields): { price?: object } {
  const million = (name: string) => {
    const each = number(params[name])
    return each === undefined ? undefined : Number((each * 1e6).toPrecision(12))
  }
  const [input, output] = [million('input_cost_per_token'), million('output_cost_per_token')]
  const cached = million('cache_read_input_token_cost')
  if (input === undefined || output === undefined || input + output === 0) return {}
  return { price: { input, output, ...(cached !== undefined && { cached_input: cached }) } }
}

/** Finds provider and model of a deployment, such as `groq/llama-3.1-8b-instant`. */
function placeOf(
  params: ForeignFields,
  where: string,
  draft: ConfigDraft,
  env: Env,
): { provider: string; model: string } | null {
  const whole = resolved(params.model, env)
  if (!whole) {
    draft.note(where, 'its model is not known here; set the variable that it names, or add the route by hand')
    return null
  }
  const slash = whole.indexOf('/')
  const own = text(params.custom_llm_provider)
  const prefix = own ?? (slash > 0 && isVendor(whole.slice(0, slash)) ? whole.slice(0, slash) : null)
  const model = prefix !== null && whole.startsWith(`${prefix}/`) ? whole.slice(prefix.length + 1) : whole
  const base = params.api_base ?? params.base_url
  const given = resolved(base, env)
  const address = given && draft.address(where, given)
  if (prefix !== null && Object.hasOwn(CLOUDS, prefix)) {
    const key =
      params.api_key === undefined ? null : keyOf(params.api_key, variableFor(prefix), where, draft, true)
    const found = CLOUDS[prefix]!(
      model,
      (name) => (name === 'api_base' ? address : resolved(params[name], env)),
      key,
    )
    if (typeof found !== 'string') return { model, provider: draft.provider(found) }
    draft.note(where, found)
    return null
  }
  const vendor = vendorOf(prefix ?? vendorByModel(model, base !== undefined))
  if (!vendor && !address) {
    draft.note(
      where,
      `the address of ${JSON.stringify(prefix ?? whole)} is not known; add a provider with its base_url`,
    )
    return null
  }
  if (base !== undefined && !address) {
    draft.note(
      where,
      `${variableIn(base) ?? 'api_base'} is not set here, and base_url is written out; set it and run this again, or add the provider by hand`,
    )
    return null
  }
  const { dialect, baseUrl, keyVariable } = vendor ?? {
    dialect: ['chat' as const],
    baseUrl: '',
    keyVariable: null,
  }
  const isElsewhere = address !== undefined && withVersion(address, vendor?.name) !== baseUrl
  const name = isElsewhere ? nameOfHost(address) : vendor!.name
  return {
    model,
    provider: draft.provider({
      name,
      dialect: isElsewhere && vendor?.name === 'openai' ? ['chat', 'embeddings', 'images'] : dialect,
      baseUrl: address === undefined ? baseUrl : withVersion(address, vendor?.name),
      keyVariable: keyOf(
        params.api_key,
        isElsewhere ? variableFor(name) : keyVariable,
        where,
        draft,
        isElsewhere,
      ),
    }),
  }
}

/** Prefixes of a model's name that name the owner of the model instead of a vendor. */
const OWNERS = /^(meta-llama|mistralai|google|qwen|deepseek-ai|openai-community|microsoft|nvidia-nemotron)$/i
const isVendor = (prefix: string): boolean =>
  Object.hasOwn(CLOUDS, prefix) || vendorOf(prefix) !== null || !OWNERS.test(prefix)

/** LiteLLM recognizes the vendor of well-known models without a prefix. */
function vendorByModel(model: string, hasAddress: boolean): string {
  if (!hasAddress && model.startsWith('claude')) return 'anthropic'
  return 'openai'
}

/**
 * Returns a value, or the value of the variable to which it refers; undefined if that variable is not set.
 */
function resolved(value: unknown, env: Env): string | undefined {
  const variable = variableIn(value)
  return variable === undefined ? text(value) : text(env[variable])
}

const variableIn = (value: unknown): string | undefined => /^os\.environ\/(\w+)$/.exec(text(value) ?? '')?.[1]

/** Returns the environment variable for a provider's key. A key in the file itself is not copied. */
function keyOf(
  key: unknown,
  usual: string | null,
  where: string,
  draft: ConfigDraft,
  isElsewhere: boolean,
): string | null {
  const variable = variableIn(key)
  if (variable !== undefined) return variable
  const given = text(key)
  if (given === undefined) return isElsewhere ? null : usual
  if (
    /^(none|no-key|not-needed|dummy|fake-key|fake|empty|anything|sk-anything|lm-studio|ollama)$/i.test(given)
  )
    return null
  return draft.secret(`${where}: api_key`, given, usual ?? 'PROVIDER_API_KEY')
}

const nameOfHost = (address: string): string => {
  try {
    const { hostname, port } = new URL(address)
    const known = /^(?:www\.|api\.)?([\w-]+)\.(?:ai|com|io|net|dev|cn)$/.exec(hostname)?.[1]
    return known ?? (port ? `${hostname}-${port}` : hostname)
  } catch {
    return 'provider'
  }
}

/** Ollama has its own API at the base address, and the OpenAI-compatible one below /v1. */
const withVersion = (address: string, vendor: string | undefined): string =>
  vendor === 'ollama' && !/\/v1\/?$/.test(address) ? `${baseOf(address)}/v1` : baseOf(address)

const STRATEGIES = {
  'simple-shuffle': 'random',
  'least-busy': 'least-busy',
  'latency-based-routing': 'fastest',
  'cost-based-routing': 'cheapest',
} as const

function routeOf(
  deployments: readonly Deployment[],
  router: ForeignFields,
  draft: ConfigDraft,
): ConfigDraft['routes'][string] {
  const ordered = deployments.toSorted((a, b) => a.order - b.order)
  const targets = ordered.map(({ target }) => target)
  const given = text(router.routing_strategy) ?? 'simple-shuffle'
  const strategy = Object.hasOwn(STRATEGIES, given)
    ? STRATEGIES[given as keyof typeof STRATEGIES]
    : 'least-busy'
  if (!Object.hasOwn(STRATEGIES, given))
    draft.note(
      'router_settings.routing_strategy',
      `${JSON.stringify(given)} is not known here; carried over as least-busy`,
    )
  if (targets.length === 1) return { targets: targets.map(withoutWeight) }
  if (new Set(ordered.map(({ order }) => order)).size > 1) return { targets: targets.map(withoutWeight) }
  if (strategy === 'random' && targets.every(({ weight }) => weight !== undefined))
    return { strategy: 'weighted', targets }
  return { strategy, targets: targets.map(withoutWeight) }
}

const withoutWeight = ({ weight: _, ...target }: DraftTarget): DraftTarget => target

function readAliases(aliases: ForeignFields, draft: ConfigDraft): void {
  for (const [alias, given] of Object.entries(aliases)) {
    const name = text(given) ?? text(fields(given).model)
    const route = name && draft.routes[name]
    if (route) draft.routes[alias] = { ...route }
    else
      draft.note(
        `router_settings.model_group_alias.${alias}`,
        `there is no route ${JSON.stringify(name)} to be another name of`,
      )
  }
}

/** Appends the targets of the fallbacks, which are tried last and only after a failure. */
function readFallbacks(
  settings: ForeignFields,
  groups: ReadonlyMap<string, readonly Deployment[]>,
  draft: ConfigDraft,
): void {
  const own = new Map(Object.entries(draft.routes).map(([name, { targets }]) => [name, targets]))
  const chains = new Map<string, string[]>()
  for (const setting of ['fallbacks', 'context_window_fallbacks'] as const)
    for (const entry of list(settings[setting]))
      for (const [name, given] of Object.entries(fields(entry))) {
        const names = [given].flat().filter((each): each is string => typeof each === 'string')
        chains.set(name, [...(chains.get(name) ?? []), ...names])
      }
  if (list(settings.context_window_fallbacks).length > 0)
    draft.note(
      'context_window_fallbacks',
      'carried over as fallbacks for any failure; set `models.*.context` so that long calls skip small models',
    )
  const everywhere = list(settings.default_fallbacks).filter(
    (each): each is string => typeof each === 'string',
  )
  for (const name of own.keys()) {
    const names = [...(chains.get(name) ?? chains.get('*') ?? []), ...everywhere]
    append(
      name,
      names.filter((each) => each !== name),
      own,
      draft,
    )
  }
  for (const name of chains.keys())
    if (name !== '*' && !own.has(name))
      draft.note(
        `fallbacks: ${name}`,
        groups.has(name) ? 'it could not be carried over' : 'there is no such route',
      )
}

function append(
  name: string,
  fallbacks: readonly string[],
  own: ReadonlyMap<string, DraftTarget[]>,
  draft: ConfigDraft,
): void {
  const route = draft.routes[name]!
  const further = fallbacks.flatMap((each) => {
    const targets = own.get(each)
    if (!targets) draft.note(`fallbacks: ${name}`, `${JSON.stringify(each)} is no route here`)
    return targets ?? []
  })
  const added = further.filter(
    ({ model }, index) =>
      !route.targets.some((each) => each.model === model) &&
      further.findIndex((each) => each.model === model) === index,
  )
  if (added.length === 0) return
  if (route.targets.length === 1) {
    draft.routes[name] = { ...route, targets: [...route.targets, ...added].map(withoutWeight) }
    return
  }
  // A target with weight 0 is chosen only after the other targets have failed.
  if (route.strategy && !['random', 'weighted'].includes(route.strategy))
    draft.note(
      `fallbacks: ${name}`,
      `a route has one strategy; its targets are drawn by weight instead of by ${route.strategy}, so that fallbacks stay last`,
    )
  const targets = [
    ...route.targets.map((target) => ({ ...target, weight: target.weight ?? 1 })),
    ...added.map((target) => ({ ...target, weight: 0 })),
  ]
  draft.routes[name] = { ...route, strategy: 'weighted', targets }
}

function readTimes(settings: ForeignFields, draft: ConfigDraft): void {
  const answer = number(settings.request_timeout) ?? number(settings.timeout)
  if (answer !== undefined && answer > 0) draft.resilience.answer = `${Math.ceil(answer * 1_000)}ms`
  const first = number(settings.stream_timeout)
  if (first !== undefined && first > 0) draft.resilience.stream_first_event = `${Math.ceil(first * 1_000)}ms`
  const cooldown = number(settings.cooldown_time)
  if (cooldown !== undefined && cooldown >= 0) draft.resilience.cooldown = `${Math.ceil(cooldown * 1_000)}ms`
  if (settings.num_retries !== undefined)
    draft.note(
      'num_retries',
      'a failed call goes to the next target instead of being repeated; give each route a second target. `resilience.retries` is for connections that could not be opened',
    )
}

function readCache({ cache, cache_params }: ForeignFields, draft: ConfigDraft): void {
  if (cache !== true) return
  const { type, ttl } = fields(cache_params)
  const seconds = number(ttl)
  draft.cache = { enabled: true, ...(seconds !== undefined && seconds >= 1 && { ttl: `${seconds}s` }) }
  if (type !== 'local')
    draft.note(
      'litellm_settings.cache_params',
      'answers are kept in the memory of each gateway, and only for equal requests',
    )
}

const PERIODS: Readonly<Record<string, string>> = {
  '1d': 'day',
  '24h': 'day',
  '7d': 'week',
  '1w': 'week',
  '30d': 'month',
  '1mo': 'month',
}

function readProxy(proxy: ForeignFields, library: ForeignFields, draft: ConfigDraft, env: Env): void {
  const usd = number(proxy.max_budget ?? library.max_budget)
  const per = PERIODS[text(proxy.budget_duration ?? library.budget_duration) ?? '30d']
  const budget =
    usd !== undefined && usd > 0 && per !== undefined ? { budget: { usd, per, unpriced: 'allow' } } : {}
  if (proxy.master_key !== undefined && proxy.master_key !== null) {
    draft.gatewayKey('general_settings.master_key', resolved(proxy.master_key, env), budget)
    draft.note(
      'general_settings.master_key',
      'keys that LiteLLM made in its database are not in this file; `waybill key new NAME` makes one for each caller',
    )
  }
  if (usd !== undefined && (draft.keys.length === 0 || per === undefined))
    draft.note('max_budget', 'a budget belongs to a key, by day, week, month or session; set `keys[].budget`')
}
