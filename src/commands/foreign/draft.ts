// A draft configuration: the parts of another gateway's file that our configuration can express, and notes on the
// other parts. Never writes a key, even if the file contains one. Independent of any particular gateway.
import { createHash } from 'node:crypto'
import { PRESETS } from '../../config/presets.ts'
import { type DIALECT_NAMES, type STRATEGIES, withoutEndpoint } from '../../config/schema.ts'
import { plainAddress } from '../../shared/plain-address.ts'

/** A setting that was not carried over, or was changed. */
export interface Note {
  /** Place of the setting in the file. */
  readonly where: string
  /** The reason, and the alternative. */
  readonly advice: string
}

type DialectName = (typeof DIALECT_NAMES)[number]

/** A provider as described in a file. */
interface ForeignProvider {
  /** Proposed name. */
  readonly name: string
  readonly dialect: readonly DialectName[]
  readonly baseUrl: string
  /** Variable that contains the provider's key; null if it needs none. */
  readonly keyVariable: string | null
  /** Sign-in of a cloud, instead of a key. */
  readonly auth?: string
  /** Cloud that has its own paths. */
  readonly platform?: string
}

export interface DraftTarget {
  readonly model: string
  readonly weight?: number
  readonly request?: Readonly<Record<string, unknown>>
}

interface DraftRoute {
  description?: string
  strategy?: (typeof STRATEGIES)[number]
  on_refused?: 'adjust'
  rules?: { readonly when: object; readonly use: { readonly target: string } }[]
  targets: DraftTarget[]
}

export class ConfigDraft {
  readonly notes: Note[] = []
  readonly server: Record<string, unknown> = {}
  readonly models: Record<string, object> = Object.create(null)
  readonly routes: Record<string, DraftRoute> = Object.create(null)
  readonly resilience: Record<string, unknown> = {}
  readonly keys: Record<string, unknown>[] = []
  readonly defaults: Record<string, string> = {}
  cache: Readonly<Record<string, unknown>> | null = null
  /** Models that are requested as provider/model, without a route. */
  readonly direct: string[] = []
  readonly #providers = new Map<string, ForeignProvider>()
  /** Variables for keys that the file contains, by the digest of each. */
  readonly #secrets = new Map<string, string>()

  note(where: string, advice: string): void {
    if (!this.notes.some((each) => each.where === where && each.advice === advice))
      this.notes.push({ where, advice })
  }

  /**
   * Returns the variable for a key that the file contains, and adds a note. Keys for the same purpose are
   * numbered.
   */
  secret(where: string, key: string, usual: string): string {
    const digest = createHash('sha256').update(key).digest('hex')
    let name = this.#secrets.get(digest)
    if (name === undefined) {
      const taken = new Set(this.#secrets.values())
      name = usual
      for (let n = 2; taken.has(name); n++) name = `${usual}_${n}`
      this.#secrets.set(digest, name)
    }
    this.note(where, `keys do not belong in the file; put this one into the variable ${name}`)
    return name
  }

  /** Returns an address without parts that may hold a credential, and adds a note if it has such parts. */
  address(where: string, given: string): string {
    const plain = plainAddress(given)
    if (plain !== given)
      this.note(
        `${where}: address`,
        'its user, password, query and fragment were left out, because they may hold a credential; put the key into a variable, and name it under `key`',
      )
    return plain
  }

  /** Returns the name under which a provider is written. Each pair of address and key has one name. */
  provider(described: ForeignProvider): string {
    const given = { ...described, baseUrl: this.address(described.name, described.baseUrl) }
    const plain = given.name.replaceAll(/[^\w.-]+/g, '-').replaceAll(/^-+|-+$/g, '')
    const wanted = plain === '' || plain === '__proto__' ? 'provider' : plain
    for (let n = 1; ; n++) {
      const name = n === 1 ? wanted : `${wanted}-${n}`
      const known = this.#providers.get(name)
      if (!known) {
        this.#providers.set(name, given)
        return name
      }
      if (known.baseUrl === given.baseUrl && known.keyVariable === given.keyVariable) {
        const dialect = [...new Set([...known.dialect, ...given.dialect])]
        this.#providers.set(name, { ...known, dialect })
        return name
      }
    }
  }

  /**
   * Accepts a gateway key from the file. Writes its digest, or a note if the key is in a variable that is not
   * set.
   */
  gatewayKey(where: string, key: string | undefined, more: Readonly<Record<string, unknown>> = {}): void {
    if (key) {
      const digest = `sha256:${createHash('sha256').update(key).digest('hex')}`
      if (!this.keys.some((each) => each.digest === digest))
        this.keys.push({
          name: this.keys.length === 0 ? 'admin' : `key-${this.keys.length + 1}`,
          role: 'admin',
          digest,
          ...more,
        })
    } else
      this.note(
        where,
        'its value is not known here; `waybill key new admin` makes a key, and prints the lines for `keys`',
      )
  }

  /** Returns the variables that contain the providers' keys. */
  get variables(): string[] {
    return [...new Set([...this.#providers.values()].flatMap(({ keyVariable }) => keyVariable ?? []))]
  }

  /**
   * Makes the names consistent. A route name may not begin with a provider's name, and a route has each target once.
   * A route is left out if its name would select the same target anyway.
   */
  settle(): void {
    const providerOf = (id: string) => id.split('/')[0]!
    const isDirect = (name: string) => {
      const { targets, rules } = this.routes[name]!
      const [first, ...rest] = targets
      return rest.length === 0 && !rules && first!.model === name && !first!.request
    }
    const colliding = new Set(
      Object.keys(this.routes)
        .filter((name) => this.#providers.has(providerOf(name)) && !isDirect(name))
        .map(providerOf),
    )
    const taken = new Set([...this.#providers.keys(), ...Object.keys(this.routes).map(providerOf)])
    const newNames = new Map<string, string>()
    for (const name of colliding) {
      let free = `${name}-api`
      for (let n = 2; taken.has(free); n++) free = `${name}-api-${n}`
      taken.add(free)
      newNames.set(name, free)
    }
    const renamed = (id: string) => {
      const name = providerOf(id)
      return newNames.has(name) ? `${newNames.get(name)}${id.slice(name.length)}` : id
    }
    for (const [name, route] of Object.entries(this.routes)) {
      if (this.#providers.has(providerOf(name)) && !colliding.has(providerOf(name))) {
        if (route.on_refused)
          this.note(
            'drop_params',
            'it holds for routes; a model asked for as provider/model gets the refusals of its provider',
          )
        delete this.routes[name]
        this.direct.push(name)
        continue
      }
      const targets = new Map<string, DraftTarget>()
      for (const target of route.targets) {
        const model = renamed(target.model)
        const weight = (targets.get(model)?.weight ?? 0) + (target.weight ?? 0)
        targets.set(model, { ...target, model, ...(target.weight !== undefined && { weight }) })
      }
      const rules = route.rules?.map((rule) => ({ ...rule, use: { target: renamed(rule.use.target) } }))
      this.routes[name] = { ...route, ...(rules && { rules }), targets: [...targets.values()] }
    }
    for (const [id, model] of Object.entries(this.models)) {
      delete this.models[id]
      this.models[renamed(id)] = model
    }
    for (const [name, free] of newNames) {
      const provider = this.#providers.get(name)!
      this.#providers.delete(name)
      this.#providers.set(free, provider)
    }
  }

  /** Returns the configuration as values, in the order of the written file. */
  values(): Record<string, unknown> {
    const filled = (part: object) => (Object.keys(part).length > 0 ? part : undefined)
    const providers = Object.fromEntries(
      [...this.#providers].map(([name, { dialect, baseUrl, keyVariable, auth, platform }]) => [
        name,
        {
          dialect: dialect.length === 1 ? dialect[0] : dialect,
          base_url: baseUrl,
          ...(keyVariable !== null && { key: `$${keyVariable}` }),
          ...(auth && { auth }),
          ...(platform && { platform }),
        },
      ]),
    )
    const all = {
      server: filled(this.server),
      providers,
      models: filled(this.models),
      routes: filled(this.routes),
      defaults: filled(this.defaults),
      resilience: filled(this.resilience),
      cache: this.cache ?? undefined,
      keys: this.keys.length > 0 ? this.keys : undefined,
    }
    return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
  }
}

/** A file format of another gateway. */
export interface ForeignFormat {
  /** Name for people. */
  readonly name: string
  /** Returns true for a file of this format. */
  isOne(file: unknown): boolean
  /** Fills the draft. `env` contains the variables to which the file refers, if they are set. */
  read(file: never, draft: ConfigDraft, env: Readonly<Record<string, string | undefined>>): void
}

export type ForeignFields = Readonly<Record<string, unknown>>
export const fields = (value: unknown): ForeignFields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as ForeignFields) : {}
export const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
export const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined
export const number = (value: unknown): number | undefined => {
  const given = typeof value === 'string' ? Number(value.replaceAll('_', '')) : value
  return typeof given === 'number' && Number.isFinite(given) ? given : undefined
}

/** Returns a name for the environment variable of a provider's key. */
export const variableFor = (provider: string): string =>
  `${provider
    .toUpperCase()
    .replaceAll(/\W+/g, '_')
    .replace(/^(?=\d)/, '_')}_API_KEY`

/**
 * Returns an address without the path of an endpoint, which the gateway adds itself. For messages, also adds
 * the version.
 */
export const baseOf = (url: string): string => withoutEndpoint(url.replace(/\/v1(?=\/messages\/*$)/, ''))

/** Adds a note for each setting in a section that the conversion has not read. */
export function noteOthers(
  draft: ConfigDraft,
  where: string,
  section: ForeignFields,
  read: readonly string[],
  advice: Readonly<Record<string, string>> = {},
): void {
  for (const [name, value] of Object.entries(section))
    if (!read.includes(name) && value !== null && value !== false && value !== '')
      draft.note(`${where}${name}`, advice[name] ?? NO_COUNTERPART)
}

const NO_COUNTERPART = 'there is no such setting; see docs/configuration.md for what there is'

type Vendor = Omit<ForeignProvider, 'name'>

const chat = (baseUrl: string, keyVariable: string | null): Vendor => ({
  dialect: ['chat'],
  baseUrl,
  keyVariable,
})

const FURTHER: Readonly<Record<string, Vendor>> = {
  together: chat('https://api.together.xyz/v1', 'TOGETHERAI_API_KEY'),
  deepinfra: chat('https://api.deepinfra.com/v1/openai', 'DEEPINFRA_API_KEY'),
  nvidia: chat('https://integrate.api.nvidia.com/v1', 'NVIDIA_NIM_API_KEY'),
  sambanova: chat('https://api.sambanova.ai/v1', 'SAMBANOVA_API_KEY'),
  huggingface: chat('https://router.huggingface.co/v1', 'HF_TOKEN'),
  dashscope: chat('https://dashscope-intl.aliyuncs.com/compatible-mode/v1', 'DASHSCOPE_API_KEY'),
  zai: chat('https://api.z.ai/api/paas/v4', 'ZAI_API_KEY'),
  zhipu: chat('https://open.bigmodel.cn/api/paas/v4', 'ZHIPU_API_KEY'),
  siliconflow: chat('https://api.siliconflow.cn/v1', 'SILICONFLOW_API_KEY'),
  ollama: chat('http://localhost:11434/v1', null),
  'lm-studio': chat('http://localhost:1234/v1', null),
  vllm: chat('http://localhost:8000/v1', null),
}

/** Other spellings of the providers' names. */
const SPELLINGS: Readonly<Record<string, string>> = {
  together_ai: 'together',
  nvidia_nim: 'nvidia',
  fireworks_ai: 'fireworks',
  cohere_chat: 'cohere',
  text_completion_openai: 'openai',
  ollama_chat: 'ollama',
  lm_studio: 'lm-studio',
  hosted_vllm: 'vllm',
}

/** Returns a provider by its name; null for an unknown name. */
export function vendorOf(spelling: string): (Vendor & { readonly name: string }) | null {
  const name = SPELLINGS[spelling] ?? spelling
  const preset = PRESETS.find((each) => each.name === name)
  if (preset) {
    const { dialect, baseUrl, keyVariable } = preset
    const isOpenAi = name === 'openai'
    return { name, dialect: isOpenAi ? [...dialect, 'embeddings', 'images'] : dialect, baseUrl, keyVariable }
  }
  return Object.hasOwn(FURTHER, name) ? { name, ...FURTHER[name]! } : null
}

/** Reads a parameter; undefined if it is absent or refers to a variable that is not set. */
type ReadParameter = (name: string) => string | undefined

/** Returns the provider, or the reason why there is none. */
type CloudReader = (
  model: string,
  read: ReadParameter,
  keyVariable: string | null,
) => ForeignProvider | string

const azure: CloudReader = (_model, read, keyVariable) => {
  const address = read('api_base')
  if (address === undefined)
    return 'its api_base is not known here; add a provider with base_url https://RESOURCE.openai.azure.com/openai/v1'
  const [resource] = baseOf(address).split('/openai')
  return {
    ...{ name: 'azure', dialect: ['chat', 'responses', 'embeddings'], baseUrl: `${resource}/openai/v1` },
    keyVariable,
    ...(keyVariable === null && { auth: 'entra' }),
  }
}

const bedrock: CloudReader = (model, read) => {
  const region = read('aws_region_name')
  if (!model.includes('anthropic.'))
    return 'only Claude is reached by InvokeModel; see docs/credentials.md for the addresses of other models'
  if (region === undefined)
    return 'its aws_region_name is not known here; add a provider as in docs/credentials.md'
  const baseUrl = `https://bedrock-runtime.${region}.amazonaws.com`
  return {
    name: 'bedrock',
    dialect: ['messages'],
    baseUrl,
    keyVariable: null,
    auth: 'aws',
    platform: 'bedrock',
  }
}

const vertex: CloudReader = (model, read) => {
  const [project, location] = [read('vertex_project'), read('vertex_location')]
  const publisher = /^claude/.test(model) ? 'anthropic' : /^gemini/.test(model) ? 'google' : null
  if (publisher === null) return 'only Claude and Gemini are reached on Vertex AI'
  if (project === undefined || location === undefined)
    return 'its vertex_project or vertex_location is not known here; add a provider as in docs/credentials.md'
  const host = location === 'global' ? 'aiplatform.googleapis.com' : `${location}-aiplatform.googleapis.com`
  const isClaude = publisher === 'anthropic'
  return {
    name: isClaude ? 'vertex-claude' : 'vertex',
    dialect: [isClaude ? 'messages' : 'gemini'],
    baseUrl: `https://${host}/v1/projects/${project}/locations/${location}/publishers/${publisher}`,
    keyVariable: null,
    auth: 'google',
    ...(isClaude && { platform: 'vertex' }),
  }
}

export const CLOUDS: Readonly<Record<string, CloudReader>> = {
  azure,
  bedrock,
  vertex_ai: vertex,
  vertex_ai_beta: vertex,
}
