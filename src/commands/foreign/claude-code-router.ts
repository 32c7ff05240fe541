// Claude Code Router's config.json: providers with their models, and the model for each kind of call.
import {
  baseOf,
  type ConfigDraft,
  type ForeignFields,
  type ForeignFormat,
  fields,
  list,
  noteOthers,
  number,
  text,
  variableFor,
} from './draft.ts'

type Env = Readonly<Record<string, string | undefined>>

export const claudeCodeRouter = {
  name: 'Claude Code Router',
  isOne: (file) => {
    const { Providers, providers, Router } = fields(file)
    return Array.isArray(Providers ?? providers) && typeof Router === 'object'
  },
  read(file: ForeignFields, draft, env) {
    const known = new Map<string, string>()
    list(file.Providers ?? file.providers).forEach((given, index) => {
      readProvider(fields(given), `Providers[${index}]`, known, draft, env)
    })
    readRouter(fields(file.Router), known, draft)
    readServer(file, draft, env)
    noteOthers(draft, '', file, READ, ADVICE)
  },
} satisfies ForeignFormat

const READ = [
  'Providers',
  'providers',
  'Router',
  'HOST',
  'PORT',
  'APIKEY',
  'API_TIMEOUT_MS',
  'NON_INTERACTIVE_MODE',
  'LOG',
]
const ADVICE: Readonly<Record<string, string>> = {
  LOG_LEVEL: 'start with `--log-level`, or set WAYBILL_LOG_LEVEL',
  PROXY_URL: 'set HTTPS_PROXY in the environment of the gateway',
  StatusLine: '`waybill statusline install` shows where calls went',
  transformers:
    'programs that change requests are not loaded; `request` of a target sets headers and members',
  CUSTOM_ROUTER_PATH: 'programs that route are not loaded; write `rules` in a route',
  CLAUDE_PATH: '`waybill run -- claude` starts the agent that is on the PATH',
  REWRITE_SYSTEM_PROMPT: 'the gateway changes no prompt',
  fallback: 'the targets of a route are each other’s fallbacks; add them to `routes`',
}

/** Transformers that the translation between dialects replaces. */
const TRANSLATED = [
  'openai',
  'anthropic',
  'gemini',
  'openrouter',
  'deepseek',
  'groq',
  'tooluse',
  'reasoning',
  'openai-responses',
  'streamoptions',
  'cleancache',
]

function readProvider(
  provider: ForeignFields,
  where: string,
  known: Map<string, string>,
  draft: ConfigDraft,
  env: Env,
): void {
  const name = text(provider.name)
  const given = text(variable(provider.api_base_url, env) ?? provider.api_base_url)
  if (!name || !given || !/^https?:/i.test(given)) {
    draft.note(where, 'it has no name or no address; add it by hand')
    return
  }
  const address = draft.address(`${where} (${name})`, given)
  const transformers = usedIn(fields(provider.transformer ?? provider.transformers))
  for (const each of transformers)
    if (!TRANSLATED.includes(each.toLowerCase()))
      draft.note(
        `${where} (${name}): transformer ${each}`,
        each === 'maxtoken'
          ? 'set `max_tokens` in `request.set` of the target if the provider needs it'
          : 'it is not loaded; `request` of a target sets headers and members',
      )
  const dialect = dialectOf(transformers, address)
  known.set(
    name,
    draft.provider({
      name,
      dialect: [dialect],
      baseUrl: dialect === 'gemini' ? address.replace(/\/v1(beta)?\/models\/*$/, '') : baseOf(address),
      keyVariable: keyVariableOf(provider.api_key, name, where, draft),
    }),
  )
}

function usedIn(transformer: ForeignFields): string[] {
  const uses = [transformer, ...Object.values(transformer).map(fields)].flatMap(({ use }) => list(use))
  return [...new Set(uses.map((each) => text(Array.isArray(each) ? each[0] : each) ?? ''))].filter(Boolean)
}

function dialectOf(transformers: readonly string[], address: string) {
  const used = transformers.map((each) => each.toLowerCase())
  if (used.includes('gemini') || /\/v1(beta)?\/models\/*$/.test(address)) return 'gemini'
  if (used.includes('anthropic') || /\/messages\/*$/.test(address)) return 'messages'
  return used.includes('openai-responses') || /\/responses\/*$/.test(address) ? 'responses' : 'chat'
}

const nameIn = (value: unknown): string | undefined => /^\$\{?(\w+)\}?$/.exec(text(value) ?? '')?.[1]
const variable = (value: unknown, env: Env): string | undefined => {
  const name = nameIn(value)
  return name === undefined ? undefined : env[name]
}

function keyVariableOf(key: unknown, provider: string, where: string, draft: ConfigDraft): string | null {
  const named = nameIn(key)
  if (named !== undefined) return named
  const given = text(key)
  if (given === undefined || /^(ollama|lm-?studio|none|dummy|\?)$/i.test(given)) return null
  return draft.secret(`${where} (${provider}): api_key`, given, variableFor(provider))
}

const ALL_EFFORTS = ['minimal', 'low', 'medium', 'high', 'xhigh', 'max']
const USUAL_LONG_CONTEXT = 60_000

/** The kinds of call become rules of one route, in the order in which the other gateway checks them. */
function readRouter(router: ForeignFields, known: ReadonlyMap<string, string>, draft: ConfigDraft): void {
  const targetOf = (kind: string): string | null => {
    const given = text(router[kind])
    if (given === undefined) return null
    const comma = given.indexOf(',')
    const provider = known.get(given.slice(0, comma).trim())
    if (provider) return `${provider}/${given.slice(comma + 1).trim()}`
    draft.note(
      `Router.${kind}`,
      `its provider ${JSON.stringify(given.slice(0, Math.max(0, comma)))} is not there`,
    )
    return null
  }
  const usual = targetOf('default')
  const kinds: readonly [string, object][] = [
    ['longContext', { input_tokens: { over: number(router.longContextThreshold) ?? USUAL_LONG_CONTEXT } }],
    ['background', { purpose: 'background' }],
    ['image', { images: true }],
    ['think', { effort: ALL_EFFORTS }],
  ]
  const ruled = kinds.flatMap(([kind, when]) => {
    const target = targetOf(kind)
    return target === null ? [] : [{ when, use: { target } }]
  })
  const first = usual ?? ruled[0]?.use.target
  if (first === undefined) {
    draft.note('Router', 'it names no target; add a route by hand')
    return
  }
  const models = [...new Set([first, ...ruled.map(({ use }) => use.target)])]
  const rules = ruled.some(({ use }) => use.target !== first) ? ruled : []
  if (models.length > 1)
    draft.note(
      'Router.default',
      'if it fails, the other models of the route are tried; leave them out of `targets` and `rules` if that is not wanted',
    )
  draft.routes.auto = {
    description: 'what the agent asks for',
    ...(rules.length > 0 && { rules }),
    targets: models.map((model) => ({ model })),
  }
  Object.assign(draft.defaults, { messages: 'auto', chat: 'auto', responses: 'auto' })
  noteOthers(draft, 'Router.', router, ['default', 'longContextThreshold', ...kinds.map(([kind]) => kind)], {
    webSearch: 'calls for a search on the web are not told apart; ask for the model, as provider/model',
  })
}

function readServer(file: ForeignFields, draft: ConfigDraft, env: Env): void {
  const { HOST, PORT, APIKEY, API_TIMEOUT_MS } = file
  const port = number(PORT)
  if (port !== undefined && Number.isInteger(port) && port > 0 && port < 65_536) draft.server.port = port
  const key = text(APIKEY)
  if (key !== undefined) draft.gatewayKey('APIKEY', nameIn(key) === undefined ? key : variable(key, env))
  const host = text(HOST)
  if (host !== undefined && draft.keys.length > 0) draft.server.host = host
  else if (host !== undefined && !['127.0.0.1', 'localhost', '::1'].includes(host))
    draft.note(
      'HOST',
      'an address that other machines can reach needs `keys`; the gateway listens on this machine only',
    )
  const ms = number(API_TIMEOUT_MS)
  if (ms !== undefined && ms > 0) draft.resilience.answer = `${ms}ms`
}
