// The coding agents that `waybill run` can start, and how each is pointed at a gateway: by environment and options, never
// by a file of the user. A new agent is an entry. What was seen of each is in docs/agents.md.

export interface Agent {
  readonly title: string
  /** Names of the program. */
  readonly programs: readonly string[]
  /**
   * Placeholders: `{url}` of the gateway, `{key}` for it, `{session}`, `{model}`, `{models}` (all that the gateway knows, as
   * the members of a JSON object), `{file}`. What names the model is left out where none was asked for.
   */
  readonly env: Readonly<Record<string, string>>
  /** Stand before the user's own options; each list is left out as a whole. */
  readonly options?: readonly (readonly string[])[]
  /** Would lead past the gateway, or bring another key to it. */
  readonly unset?: readonly string[]
  /** It calls nothing without being told which model. */
  readonly needsModel?: true
  /** `own`: it tells the gateway a session of its own in every call. `given`: it tells the one that it is given. `none`: it cannot tell any. */
  readonly session: 'own' | 'given' | 'none'
  /** A text for a temporary file, where a setting can be given in no other way. No key belongs into it. */
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

/** Of the settings with the least say, so that the user's own go first. */
const QWEN_DEFAULTS = {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: Qwen Code fills it in, with its own session
  model: { generationConfig: { customHeaders: { [SESSION_HEADER]: '${session_id}' } } },
  outboundCorrelation: { allowDynamicHeaderValues: true },
}

export const AGENTS: readonly Agent[] = [
  {
    title: 'Claude Code',
    programs: ['claude'],
    env: { ANTHROPIC_BASE_URL: '{url}', ANTHROPIC_AUTH_TOKEN: '{key}', ANTHROPIC_MODEL: '{model}' },
    unset: [
      'ANTHROPIC_API_KEY',
      'CLAUDE_CODE_USE_BEDROCK',
      'CLAUDE_CODE_USE_VERTEX',
      'CLAUDE_CODE_USE_FOUNDRY',
    ],
    session: 'own',
  },
  {
    title: 'Codex',
    programs: ['codex'],
    env: { WAYBILL_KEY: '{key}' },
    options: [
      ['-c', 'model_provider=waybill'],
      ['-c', 'model_providers.waybill.name=Waybill'],
      ['-c', 'model_providers.waybill.base_url={url}/v1'],
      ['-c', 'model_providers.waybill.wire_api=responses'],
      ['-c', 'model_providers.waybill.env_key=WAYBILL_KEY'],
      ['-c', 'model={model}'],
    ],
    session: 'own',
  },
  {
    title: 'opencode',
    programs: ['opencode'],
    env: { OPENCODE_CONFIG_CONTENT: JSON.stringify(OPENCODE).replace('"{models}"', '{models}') },
    needsModel: true,
    session: 'own',
  },
  {
    title: 'GitHub Copilot CLI',
    programs: ['copilot'],
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

/** Any other program: what the libraries of the providers read. */
export const ANY_PROGRAM: Agent = {
  title: 'a program that this table does not know',
  programs: [],
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
