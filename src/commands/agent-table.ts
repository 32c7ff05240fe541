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
   * that the gateway knows, as the members of a JSON object), `{window}` of a route (the longest input, tokens),
   * `{file}`. Entries that contain the model or the window are left out if it is unknown.
   */
  readonly env: Readonly<Record<string, string>>
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
   * Text of a temporary file, for a setting that cannot be passed otherwise. The text must not contain a key.
   */
  readonly file?: string
}

const SESSION_HEADER = 'X-Gateway-Session-Id'

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

/** Settings with the lowest precedence, so that the user's own settings win. */
const QWEN_DEFAULTS = {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: Qwen Code replaces it with its own session
  model: { generationConfig: { customHeaders: { [SESSION_HEADER]: '${session_id}' } } },
  outboundCorrelation: { allowDynamicHeaderValues: true },
}

export const AGENTS: readonly Agent[] = [
  {
    title: 'Claude Code',
    programs: ['claude'],
    dialect: 'messages',
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
    session: 'own',
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
  },
  {
    title: 'opencode',
    programs: ['opencode'],
    dialect: 'chat',
    env: { OPENCODE_CONFIG_CONTENT: JSON.stringify(OPENCODE).replace('"{models}"', '{models}') },
    needsModel: true,
    session: 'own',
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
    unset: ['COPILOT_PROVIDER_BEARER_TOKEN', 'COPILOT_PROVIDER_API_KEY_COMMAND'],
    needsModel: true,
    session: 'given',
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
    options: [['--auth-type', 'openai']],
    needsModel: true,
    session: 'own',
    file: JSON.stringify(QWEN_DEFAULTS),
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
    needsModel: true,
    session: 'none',
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
