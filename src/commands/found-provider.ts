// Finds out what `waybill init` and `waybill provider` need to know about a provider: its address, dialect, models and
// windows. Sends only requests for lists and descriptions of models, which cost nothing and load no model.
import { z } from 'zod'
import { LOCAL_SERVERS, PRESETS } from '../config/presets.ts'
import { DIALECTS } from '../dialects/registry.ts'
import { listedModels } from '../models/listed.ts'
import { boundedBody } from '../shared/bounded.ts'
import { createKeySearch } from '../shared/redact.ts'
import { clean } from '../terminal/clean.ts'
import { nearest } from '../yaml/wording.ts'
import { readAddress } from './gateway-client.ts'
import { UsageError } from './output.ts'

type Env = Readonly<Record<string, string | undefined>>
type Dialect = keyof typeof DIALECTS

/** A provider as it will be written into the configuration. */
export interface FoundProvider {
  readonly name: string
  /** Dialects; null if they are not known before the list of models is read. */
  readonly dialect: readonly Dialect[] | null
  readonly baseUrl: string
  /** Variable of its key; null if it needs none. */
  readonly keyVariable: string | null
  /** Models to begin with: the first for everyday work, the last for cheap tasks. */
  readonly models: readonly string[]
  /** Facts that the server told about its models. */
  readonly facts: Readonly<Record<string, { readonly context?: number; readonly type?: 'embedding' }>>
  /** Models whose window is only known to be no longer than that. */
  readonly atMost?: ReadonlySet<string>
  /** True for a server that computes its answers on the user's own machine. An unknown one may pass calls on to a provider. */
  readonly isFree: boolean
  /** Path of its list of models, if it has a better one than its dialect. */
  readonly list?: string
}

/** Names of clouds in which each customer has a different address. */
const CLOUDS = /^(aws|(amazon-)?bedrock|(google-)?vertex(-ai)?|azure(-openai)?|foundry)$/

/**
 * Returns the provider for a word of the user: a preset, a local server, an address, NAME=ADDRESS, or one of them with a
 * model, as in ollama/qwen3. Throws UsageError.
 */
export function providerFor(word: string, env: Env): FoundProvider {
  const [, given, address] = /^(?:([\w.-]+)=)?(https?:\/\/.*)$/i.exec(word) ?? []
  if (address !== undefined) {
    const url = readAddress('--provider', address)
    const name = given ?? nameOf(url)
    const keyVariable = isThisMachine(url) ? null : `${name.toUpperCase().replaceAll(/\W/g, '_')}_API_KEY`
    return {
      name,
      dialect: null,
      baseUrl: url.href.replace(/\/+$/, ''),
      keyVariable,
      models: [],
      facts: {},
      isFree: false,
    }
  }
  const [name = '', ...rest] = word.split('/')
  const models = rest.length > 0 ? [rest.join('/')] : []
  const preset = PRESETS.find((each) => each.name === name)
  if (preset)
    return { ...preset, models: models.length > 0 ? models : preset.models, facts: {}, isFree: false }
  const local = LOCAL_SERVERS.find((each) => each.name === name)
  if (local) return { ...localProvider(local, env), models }
  throw new UsageError(unknown(name))
}

/** Returns what to do about a name that is no preset. */
function unknown(name: string): string {
  const known = [...PRESETS, ...LOCAL_SERVERS].map((each) => each.name)
  const none = `there is no preset for ${JSON.stringify(name)}`
  if (CLOUDS.test(name))
    return `${none}, because its address holds your region, project or resource; begin with another provider, and add this one as in docs/credentials.md`
  const meant = nearest(name, known)
  if (meant) return `${none}; did you mean ${meant}?`
  return `${none}; the presets are ${known.join(', ')}. For any other provider give its address: ${name || 'NAME'}=https://…/v1`
}

function localProvider({ name, port, list }: (typeof LOCAL_SERVERS)[number], env: Env): FoundProvider {
  // OLLAMA_HOST is Ollama's own variable for its address.
  const host = (name === 'ollama' && env.OLLAMA_HOST?.trim()) || `127.0.0.1:${port}`
  const url =
    URL.parse(/^https?:/.test(host) ? host : `http://${host}`) ?? new URL(`http://127.0.0.1:${port}`)
  if (url.port === '' && !/:(80|443)$/.test(host)) url.port = String(port)
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1'
  return {
    ...{ name, dialect: ['chat', 'embeddings'], baseUrl: `${url.origin}/v1`, keyVariable: null, models: [] },
    ...{ facts: {}, isFree: true, list },
  }
}

/** Returns a name for a provider at an address: the domain, or `local`. */
function nameOf(url: URL): string {
  if (isThisMachine(url)) return 'local'
  const labels = url.hostname
    .split('.')
    .filter((label) => !/^(api|www|com|org|net|ai|io|dev|\d+)$/.test(label))
  return labels.at(-1)?.replaceAll(/[^\w-]/g, '') || 'provider'
}

const isThisMachine = ({ hostname }: URL): boolean => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)

/** Returns the provider as the configuration describes it. */
export const settingsOf = ({ dialect, baseUrl, keyVariable }: FoundProvider): Record<string, unknown> => ({
  dialect: dialect && dialect.length > 1 ? dialect : (dialect?.[0] ?? 'chat'),
  base_url: baseUrl,
  ...(keyVariable !== null && { key: `$${keyVariable}` }),
})

/** A server on this machine may list every model that was ever loaded. */
const MAX_MODELS = 50

/** Ollama passes calls to these models on to its own service. */
const isElsewhere = (model: string): boolean => /[:-]cloud$/.test(model)

/** Returns the entries of `models` for a provider: known windows, and prices of 0 for all models that cost nothing. */
export function modelEntries({ name, models, facts, isFree }: FoundProvider): [id: string, model: object][] {
  const ids = isFree ? [...new Set([...models, ...Object.keys(facts)])].slice(0, MAX_MODELS) : models
  return ids.flatMap((model) => {
    const entry = {
      ...facts[model],
      ...(isFree && !isElsewhere(model) && { price: { input: 0, output: 0 } }),
    }
    return Object.keys(entry).length > 0 ? [[`${name}/${model}`, entry]] : []
  })
}

const LIST_TIMEOUT_MS = 20_000
/** A server on this machine answers at once, or is not there. */
const LOCAL_TIMEOUT_MS = 1_500
const MAX_LIST_BYTES = 8 * 2 ** 20

/** Returns the local servers that run on their usual ports of this machine, with their models. */
export async function runningServers(env: Env): Promise<(FoundProvider & { listed: readonly string[] })[]> {
  const found = await Promise.all(
    LOCAL_SERVERS.map(async (server) => {
      const provider = localProvider(server, env)
      if (!isThisMachine(new URL(provider.baseUrl))) return []
      const { owner } = server
      return withList(provider, null, { owner, ms: LOCAL_TIMEOUT_MS, windows: false }).then(
        (each) => [each],
        () => [],
      )
    }),
  )
  return found.flat()
}

interface ListOptions {
  /** False to leave out requests for windows that a list does not tell. */
  readonly windows?: boolean
  /** Pattern of the owner in the list, for a port that many programs use. */
  readonly owner?: RegExp
  readonly ms?: number
}

/**
 * Returns the provider with what its list of models tells: the dialect, the windows, and models if none are chosen.
 * Rejects if there is no such list.
 */
export async function withList(
  provider: FoundProvider,
  key: string | null,
  { owner = /./, ms = LIST_TIMEOUT_MS, windows = true }: ListOptions = {},
): Promise<FoundProvider & { readonly listed: readonly string[] }> {
  const { text, base, dialect } = await listOf(provider, key, ms)
  const owners = [...text.matchAll(/"owned_by"\s*:\s*"([^"]*)"/g)].map(([, name]) => name!)
  if (owners.length > 0 && !owners.some((name) => owner.test(name))) throw new Error('is another program')
  const all = listedModels(text)
  const types = new Map(entriesOf(text).map(({ id, type }) => [id, type]))
  const isEmbedding = (id: string) => types.get(id) === 'embeddings' || /embed|(^|\/)bge-|minilm/i.test(id)
  const chat = all.filter(({ model }) => !isEmbedding(model)).map(({ model }) => model)
  const more = provider.name === 'ollama' && windows ? await ollamaWindows(base, all, ms) : null
  const facts = all.map(({ model, facts }) => [
    model,
    {
      ...((more?.get(model) ?? facts).context && { context: (more?.get(model) ?? facts).context! }),
      ...(isEmbedding(model) && { type: 'embedding' as const }),
    },
  ])
  const { models } = provider
  return {
    ...{ ...provider, dialect, baseUrl: base, models: models.length > 0 ? models : chat.slice(0, 1) },
    ...{ facts: Object.fromEntries(facts), listed: all.map(({ model }) => model) },
    atMost: new Set([...(more ?? [])].flatMap(([model, { isAtMost }]) => (isAtMost ? [model] : []))),
  }
}

const loadedModels = z.looseObject({
  models: z.array(z.looseObject({ name: z.string(), context_length: z.int().positive() })),
})
const shownModel = z.looseObject({
  parameters: z.string().optional(),
  model_info: z.record(z.string(), z.unknown()).optional(),
})

/**
 * Requests the windows of Ollama's models: of a loaded model the one in force, else the one that its Modelfile sets, else
 * the longest that the model allows. Ollama then uses its own default, which it does not tell.
 */
async function ollamaWindows(base: string, all: readonly { readonly model: string }[], ms: number) {
  const ask = async <Answer>(
    path: string,
    shape: z.ZodType<Answer>,
    body?: object,
  ): Promise<Answer | null> => {
    const text = requestList(new URL(path, base).href, null, {}, ms, body)
    return text.then((json) => shape.parse(JSON.parse(json))).catch(() => null) // older ones lack some of this
  }
  const loaded = new Map((await ask('/api/ps', loadedModels))?.models.map((each) => [each.name, each]))
  const windowOf = async (model: string) => {
    const shown = await ask('/api/show', shownModel, { model })
    const longest = shown?.model_info?.[`${shown.model_info['general.architecture']}.context_length`]
    const set = Number(/^num_ctx\s+(\d+)\s*$/m.exec(shown?.parameters ?? '')?.[1] ?? Number.NaN)
    const limits = [longest, set].filter(
      (each) => typeof each === 'number' && Number.isSafeInteger(each) && each > 0,
    )
    const inForce = loaded.get(model)?.context_length
    const context = inForce ?? (limits.length > 0 ? Math.min(...(limits as number[])) : null)
    const isAtMost = context !== null && inForce === undefined && Number.isNaN(set) && !isElsewhere(model)
    return [model, { context, isAtMost }] as const
  }
  return new Map(await Promise.all(all.slice(0, MAX_MODELS).map(({ model }) => windowOf(model))))
}

/**
 * Window of a local model, in tokens, below which a coding agent hardly works: the instructions of Claude Code 2.1.332
 * take 9,500, and it compacts the conversation when fewer than 21,200 are left.
 */
const SHORT_WINDOW = 48_000

/** Returns what to do about the window of the first model; null if it is long enough, or nothing is known. */
export function windowAdvice({ name, models, facts, atMost, isFree }: FoundProvider): string | null {
  const [model = ''] = models
  const context = facts[model]?.context
  if (!isFree || context === undefined) return null
  const tokens = `${context.toLocaleString('en-US')} tokens`
  if (atMost?.has(model))
    return `${name}/${model} is not loaded: its window is at most ${tokens}. Ollama uses a shorter one by default, and cuts longer prompts without an error; for a coding agent, start Ollama with OLLAMA_CONTEXT_LENGTH=64000`
  if (context >= SHORT_WINDOW) return null
  return `${name}/${model} has a window of ${tokens}, which is short for a coding agent; set a longer one in the server, and \`context\` in the file`
}

function entriesOf(text: string): { id?: unknown; type?: unknown }[] {
  const { data } = JSON.parse(text)
  return Array.isArray(data) ? data : []
}

/** Requests the list of models. Tries the address as given, and with the version that most servers have in it. */
async function listOf(
  { dialect, baseUrl, list }: FoundProvider,
  key: string | null,
  ms: number,
): Promise<{ text: string; base: string; dialect: readonly Dialect[] }> {
  const ask = (url: string, headers: Readonly<Record<string, string>>) => requestList(url, key, headers, ms)
  if (dialect) {
    const { path, headers } = DIALECTS[dialect[0]!].modelList(key ?? '')
    const own = list && (await ask(new URL(list, baseUrl).href, {}).catch(() => null))
    const text = own || (await ask(`${baseUrl}${path}`, key === null ? {} : headers))
    return { text, base: baseUrl, dialect }
  }
  // Each dialect has its own header for the key, and one server gets all of them.
  const headers = {
    ...DIALECTS.messages.modelList(key ?? '').headers,
    ...DIALECTS.chat.modelList(key ?? '').headers,
  }
  const sent = key === null ? { 'anthropic-version': headers['anthropic-version'] ?? '' } : headers
  const bases = /\/v\d[^/]*$/.test(baseUrl) ? [baseUrl] : [`${baseUrl}/v1`, baseUrl]
  let failure: unknown
  for (const base of bases)
    try {
      const text = await ask(`${base}/models`, sent)
      listedModels(text)
      const isAnthropic =
        entriesOf(text).some(({ type }) => type === 'model') || 'first_id' in JSON.parse(text)
      return isAnthropic
        ? { text, base: base.replace(/\/v1$/, ''), dialect: ['messages'] }
        : { text, base, dialect: ['chat', 'embeddings'] }
    } catch (error) {
      failure ??= error
    }
  throw failure
}

/** Requests a list of models, or with a body the description of one. Rejects with one line if there is none, or if it repeats the key. */
export async function requestList(
  url: string,
  key: string | null,
  headers: Readonly<Record<string, string>>,
  ms = LIST_TIMEOUT_MS,
  body?: object,
): Promise<string> {
  let response: Response
  const sent = body && { method: 'POST', body: JSON.stringify(body) }
  try {
    response = await fetch(url, { ...sent, headers, signal: AbortSignal.timeout(ms), redirect: 'error' })
  } catch (error) {
    const { cause, message } = error as Error
    throw new Error(
      clean(cause instanceof Error ? cause.message || (cause as { code?: string }).code || message : message),
    )
  }
  if (response.status === 401 || response.status === 403)
    throw new Error(`${response.status}; ${key === null ? 'it needs a key' : 'it does not accept the key'}`)
  if (!response.ok) throw new Error(`${response.status} for ${new URL(url).pathname}`)
  const list = await boundedBody(response, MAX_LIST_BYTES)
  if (key !== null && createKeySearch(key)(list)) throw new Error('its list repeats the key')
  return list.toString('utf8')
}
