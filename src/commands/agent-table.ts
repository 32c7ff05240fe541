// The coding agents that `waybill run` can start. Each is configured for a gateway by environment and
// options, never by changing the user's files. A new agent needs one entry. docs/agents.md describes
// observations of each agent.
import type { DIALECT_NAMES } from '../config/schema.ts'

export interface Agent {
  readonly title: string
  /** Names of the agent's program. */
  readonly programs: readonly string[]
  /**
   * Dialect of the agent's calls. The dialect determines the route of a model that the gateway does not know.
   */
  readonly dialect: (typeof DIALECT_NAMES)[number]
  /**
   * Environment with placeholders: `{url}` of the gateway, `{key}` for it, `{session}`, `{model}`, `{models}` (all
   * that the gateway knows, as JSON in the agent's format), `{window}`, `{longWindow}` (if it is not below `leastWindow`), `{output}` and `{prompt}` (tokens of a call, of
   * its answer and of its input), `{file}`. Entries with an unknown value are left out.
   */
  readonly env: Readonly<Record<string, string>>
  /** Environment with limits, left out if the user has set the variable. */
  readonly limits?: Readonly<Record<string, string>>
  /** Shortest window that it accepts for its own models; if that of the route is shorter, it gets the name of the route. */
  readonly leastWindow?: number
  /** Describes the gateway's models for the agent's settings. */
  readonly models?: (models: readonly LaunchModel[]) => unknown
  /** Options placed before the user's own; each list is included or left out as a whole. */
  readonly options?: readonly (readonly string[])[]
  /** Variables that would bypass the gateway, or send it another key. */
  readonly unset?: readonly string[]
  /**
   * Environment for an agent that keeps its own login, such as a subscription; absent if the agent cannot
   * keep its login.
   */
  readonly ownLogin?: Pick<Agent, 'env' | 'unset'> & {
    /** Variable with additional headers, one on each line; the user's own headers come first. */
    readonly headers: string
  }
  /** True if the agent makes no call without the name of a model. */
  readonly needsModel?: true
  /**
   * `own`: the agent sends its own session in every call. `given`: the agent sends the session that it is
   * given. `none`: the agent cannot send a session.
   */
  readonly session: 'own' | 'given' | 'none'
  /**
   * Temporary file, for settings that cannot be passed otherwise. Its text has placeholders as above, and must not
   * contain a key.
   */
  readonly file?: { readonly name: string; readonly text: (limits: Limits) => string }
  /**
   * The user's choice of a sign-in, in a file below the home directory. With none or another than `wanted`, the agent
   * does not call the gateway at once, and `run` says so.
   */
  readonly signIn?: {
    readonly file: string
    readonly member: readonly string[]
    readonly wanted: string
    readonly none: string
    readonly other: string
  }
  /** Options that resume a session; absent if the agent has none. */
  readonly resume?: string
}

/** A model in the gateway's list, with its known limits in tokens. A route has the limits of its smallest target. */
export interface LaunchModel extends Limits {
  readonly id: string
}

export interface Limits {
  readonly window: number | null
  readonly output: number | null
}

const SESSION_HEADER = 'X-Gateway-Session-Id'

/** Limits of a model about which nothing is known: lower bounds for common models. */
const USUAL: { readonly [Name in keyof Limits]: number } = { window: 128_000, output: 16_000 }

const OPENCODE = {
  model: 'waybill/{model}',
  small_model: 'waybill/{model}',
  provider: {
    waybill: {
      npm: '@ai-sdk/openai-compatible',
      name: 'Waybill',
      options: { baseURL: '{url}/v1', apiKey: '{key}' },
      models: '{models}',
    },
  },
}

/**
 * Describes a model for opencode. Without `attachment` and `modalities` opencode sends no images; without
 * `limit` it never compacts a conversation.
 */
const openCodeModel = ({ id, window, output }: LaunchModel) => [
  id,
  {
    attachment: true,
    tool_call: true,
    modalities: { input: ['text', 'image'], output: ['text'] },
    limit: { context: window ?? USUAL.window, output: output ?? USUAL.output },
  },
]

const PI = {
  name: 'Waybill',
  baseUrl: '{url}/v1',
  apiKey: '$WAYBILL_PI_KEY',
  api: 'openai-completions',
  models: '{models}',
}

const piModel = ({ id, window, output }: LaunchModel) => ({
  ...{ type: 'chat', id, name: id, reasoning: true, input: ['text', 'image'] },
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  // pi sends its own session in `x-session-id`.
  compat: { sendSessionAffinityHeaders: true, sessionAffinityFormat: 'openrouter' },
  contextWindow: window ?? USUAL.window,
  maxTokens: output ?? USUAL.output,
})

/** Returns settings with the lowest precedence, so that the user's own settings win. */
const qwenDefaults = ({ window }: Limits) => ({
  model: {
    generationConfig: {
      // biome-ignore lint/suspicious/noTemplateCurlyInString: Qwen Code replaces it with its own session
      customHeaders: { [SESSION_HEADER]: '${session_id}' },
      ...(window !== null && { contextWindowSize: window }),
    },
  },
  outboundCorrelation: { allowDynamicHeaderValues: true },
})

const aiderModels = ({ window, output }: Limits) =>
  window === null
    ? {}
    : {
        'openai/{model}': {
          ...{ litellm_provider: 'openai', mode: 'chat' },
          ...{ max_input_tokens: window, max_output_tokens: output, max_tokens: output },
        },
      }

/** Limits of Claude Code, for a model that it knows and for one that it does not know. */
const CLAUDE_LIMITS = {
  CLAUDE_CODE_MAX_CONTEXT_TOKENS: '{window}',
  CLAUDE_CODE_AUTO_COMPACT_WINDOW: '{longWindow}',
  CLAUDE_CODE_MAX_OUTPUT_TOKENS: '{output}',
}

export const AGENTS: readonly Agent[] = [
  {
    title: 'Claude Code',
    programs: ['claude'],
    dialect: 'messages',
    leastWindow: 100_000,
    env: { ANTHROPIC_BASE_URL: '{url}', ANTHROPIC_AUTH_TOKEN: '{key}', ANTHROPIC_MODEL: '{model}' },
    unset: [
      'ANTHROPIC_API_KEY',
      'CLAUDE_CODE_USE_BEDROCK',
      'CLAUDE_CODE_USE_VERTEX',
      'CLAUDE_CODE_USE_FOUNDRY',
    ],
    ownLogin: {
      env: {
        ANTHROPIC_BASE_URL: '{url}',
        ANTHROPIC_CUSTOM_HEADERS: 'X-Gateway-Key: {key}',
        ANTHROPIC_MODEL: '{model}',
      },
      unset: [
        'ANTHROPIC_AUTH_TOKEN',
        'ANTHROPIC_API_KEY',
        'CLAUDE_CODE_USE_BEDROCK',
        'CLAUDE_CODE_USE_VERTEX',
        'CLAUDE_CODE_USE_FOUNDRY',
      ],
      headers: 'ANTHROPIC_CUSTOM_HEADERS',
    },
    limits: CLAUDE_LIMITS,
    session: 'own',
    resume: '--resume',
  },
  {
    title: 'Codex',
    programs: ['codex'],
    dialect: 'responses',
    env: { WAYBILL_KEY: '{key}' },
    options: [
      ['-c', 'model_provider=waybill'],
      ['-c', 'model_providers.waybill.name=Waybill'],
      ['-c', 'model_providers.waybill.base_url={url}/v1'],
      ['-c', 'model_providers.waybill.wire_api=responses'],
      ['-c', 'model_providers.waybill.env_key=WAYBILL_KEY'],
      ['-c', 'model={model}'],
      ['-c', 'model_context_window={window}'],
    ],
    session: 'own',
    resume: 'resume',
  },
  {
    title: 'opencode',
    programs: ['opencode'],
    dialect: 'chat',
    env: { OPENCODE_CONFIG_CONTENT: JSON.stringify(OPENCODE).replace('"{models}"', '{models}') },
    models: (models) => Object.fromEntries(models.map(openCodeModel)),
    needsModel: true,
    session: 'own',
    resume: '--session',
  },
  {
    title: 'GitHub Copilot CLI',
    programs: ['copilot'],
    dialect: 'chat',
    env: {
      COPILOT_PROVIDER_BASE_URL: '{url}/v1',
      COPILOT_PROVIDER_TYPE: 'openai',
      COPILOT_PROVIDER_API_KEY: '{key}',
      COPILOT_PROVIDER_HEADERS: `${SESSION_HEADER}: {session}`,
      COPILOT_MODEL: '{model}',
    },
    limits: {
      COPILOT_PROVIDER_MAX_PROMPT_TOKENS: '{prompt}',
      COPILOT_PROVIDER_MAX_OUTPUT_TOKENS: '{output}',
    },
    unset: ['COPILOT_PROVIDER_BEARER_TOKEN', 'COPILOT_PROVIDER_API_KEY_COMMAND'],
    needsModel: true,
    session: 'given',
    resume: '--resume',
  },
  {
    title: 'Qwen Code',
    programs: ['qwen'],
    dialect: 'chat',
    env: {
      OPENAI_BASE_URL: '{url}/v1',
      OPENAI_API_KEY: '{key}',
      OPENAI_MODEL: '{model}',
      QWEN_CODE_SYSTEM_DEFAULTS_PATH: '{file}',
    },
    limits: { QWEN_CODE_MAX_OUTPUT_TOKENS: '{output}' },
    options: [['--auth-type', 'openai']],
    needsModel: true,
    session: 'own',
    file: { name: 'settings.json', text: (limits) => JSON.stringify(qwenDefaults(limits)) },
    resume: '--resume',
  },
  {
    title: 'Gemini CLI',
    programs: ['gemini'],
    dialect: 'gemini',
    env: {
      GOOGLE_GEMINI_BASE_URL: '{url}',
      GEMINI_API_KEY: '{key}',
      GEMINI_MODEL: '{model}',
      GEMINI_CLI_CUSTOM_HEADERS: `${SESSION_HEADER}: {session}`,
    },
    unset: ['GOOGLE_API_KEY', 'GOOGLE_GENAI_USE_VERTEXAI', 'GOOGLE_GENAI_USE_GCA'],
    session: 'given',
    signIn: {
      file: '.gemini/settings.json',
      member: ['security', 'auth', 'selectedType'],
      wanted: 'gemini-api-key',
      none: 'Gemini CLI will ask how to authenticate: choose "Use Gemini API Key" and press Enter, twice; it writes this choice into its settings',
      other:
        'Gemini CLI signs in another way by its settings, and then does not call the gateway; choose "Use Gemini API Key" with /auth',
    },
    resume: '--resume',
  },
  {
    title: 'aider',
    programs: ['aider'],
    dialect: 'chat',
    env: {
      OPENAI_API_BASE: '{url}/v1',
      OPENAI_API_KEY: '{key}',
      AIDER_MODEL: 'openai/{model}',
      AIDER_WEAK_MODEL: 'openai/{model}',
    },
    limits: { AIDER_MODEL_METADATA_FILE: '{file}' },
    file: { name: 'models.json', text: (limits) => JSON.stringify(aiderModels(limits)) },
    needsModel: true,
    session: 'none',
  },
  {
    title: 'pi',
    programs: ['pi'],
    dialect: 'chat',
    env: { WAYBILL_PI_KEY: '{key}' },
    models: (models) => models.map(piModel),
    options: [
      ['--extension', '{file}'],
      ['--provider', 'waybill'],
      ['--model', '{model}'],
    ],
    file: {
      name: 'waybill.js',
      text: () =>
        `export default (pi) => pi.registerProvider('waybill', ${JSON.stringify(PI).replace('"{models}"', '{models}')})\n`,
    },
    needsModel: true,
    session: 'own',
    resume: '--session',
  },
]

/** Any other program, configured by the variables that the providers' libraries read. */
export const ANY_PROGRAM: Agent = {
  title: 'none of the known agents, so it gets the variables of the OpenAI, Anthropic and Google clients',
  programs: [],
  dialect: 'chat',
  env: {
    OPENAI_BASE_URL: '{url}/v1',
    OPENAI_API_KEY: '{key}',
    ANTHROPIC_BASE_URL: '{url}',
    ANTHROPIC_API_KEY: '{key}',
    GOOGLE_GEMINI_BASE_URL: '{url}',
    GEMINI_API_KEY: '{key}',
  },
  unset: ['ANTHROPIC_AUTH_TOKEN', 'GOOGLE_API_KEY'],
  session: 'none',
}
