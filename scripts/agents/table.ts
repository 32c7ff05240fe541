// Coding agents that `npm run agents` tries: for each agent, its installation, its configuration for the
// gateway, its task, and the call with which its own tool reads a file. No agent is a dependency.

/** Parameters of a run for an agent. */
export interface RunParameters {
  /** URL of the gateway, without a trailing slash. */
  readonly url: string
  /** Model id that the agent requests. */
  readonly model: string
  /** Home directory of the agent, initially empty. */
  readonly home: string
  /** Working directory of the agent, with the file to read. */
  readonly work: string
  readonly prompt: string
}

export interface AgentCall {
  readonly name: string
  readonly arguments: Readonly<Record<string, unknown>>
}

/** Agent's way to use one dialect. */
interface Way {
  /** True if `waybill run` starts the agent and passes the gateway's address. */
  readonly launched?: true
  readonly env?: (place: RunParameters) => Readonly<Record<string, string>>
  /** Files below the agent's home: path -> text. */
  readonly files?: (place: RunParameters) => Readonly<Record<string, string>>
  /** Commands of the agent to run once before the task. */
  readonly before?: (place: RunParameters) => readonly string[]
  readonly args: (place: RunParameters) => readonly string[]
  /** Arguments that continue the conversation. */
  readonly again?: (place: RunParameters) => readonly string[]
}

/** An agent's interface in a terminal, started by `waybill run`. */
export interface TerminalInterface {
  /** Key of `ways`: its files and environment are used, but not its arguments. */
  readonly way: string
  readonly args: readonly string[]
  /** Additional files below the agent's home. */
  readonly files?: Way['files']
  /** Shown when the agent accepts a prompt. */
  readonly ready: RegExp
  /** Harmless questions of a first start, each with its name, its text and the keys that answer it. */
  readonly questions: readonly (readonly [name: string, shown: RegExp, keys: readonly string[]])[]
  /** Command that switches to another model; absent if the agent's list has only its own models. */
  readonly switchTo?: (model: string) => string
  /** Keys that answer questions after the command. */
  readonly switchKeys?: readonly string[]
  /** Command that compacts the conversation. */
  readonly compact?: string
  /** Size of the file that it reads, for an agent that compacts no short conversation; default: two lines. */
  readonly noteBytes?: number
  /** Command that shows the context window. */
  readonly window?: string
  /** Settings for the status line with this command; absent if the agent has none. */
  readonly line?: (command: string) => Readonly<Record<string, string>>
  /** Cells of the terminal's width that the agent does not give to the line. */
  readonly margins?: number
}

export interface TestedAgent {
  readonly terminal?: TerminalInterface
  readonly name: string
  readonly title: string
  readonly from: { readonly npm: string } | { readonly pip: string }
  readonly program: string
  readonly ways: Readonly<Record<string, Way>>
  /** True if the agent uses the name `auto` for something else. */
  readonly ownAuto?: true
  /** Returns the call that reads a file; null for an agent without tools. */
  readonly reads: ((file: string) => AgentCall) | null
  /** Returns the call that writes a new file; absent for an agent without tools. */
  readonly writes?: (file: string, text: string) => AgentCall
  /** Returns the answer that makes an agent without tools change the file. */
  readonly edits?: (file: string) => string
}

const json = (value: unknown): string => JSON.stringify(value, null, 2)

/** Adds arguments that continue the conversation: `more`, followed by the arguments of the first turn. */
const goingOn = (more: readonly string[], args: Way['args']): Pick<Way, 'args' | 'again'> => ({
  args,
  again: (place) => [...more, ...args(place)],
})

const piFiles =
  (api: string, path: string): NonNullable<Way['files']> =>
  ({ url, model }) => ({
    '.pi/agent/models.json': json({
      providers: {
        waybill: {
          baseUrl: `${url}${path}`,
          api,
          apiKey: 'none-needed',
          models: [{ id: model, reasoning: true, contextWindow: 200_000, maxTokens: 32_000 }],
        },
      },
    }),
  })
const PI_ENV = () => ({ PI_OFFLINE: '1', PI_TELEMETRY: '0' })
const pi = (api: string, path: string): Way => ({
  env: PI_ENV,
  files: piFiles(api, path),
  ...goingOn(['--continue'], ({ model, prompt }) => [
    '--provider',
    'waybill',
    '--model',
    model,
    '-p',
    prompt,
  ]),
})

const continueFor = (provider: string, path: string): Way => ({
  env: () => ({ CONTINUE_TELEMETRY_ENABLED: '0' }),
  files: ({ url, model }) => ({
    'config.yaml': json({
      name: 'waybill',
      version: '1.0.0',
      schema: 'v1',
      models: [
        {
          name: 'waybill',
          provider,
          model,
          apiBase: `${url}${path}`,
          apiKey: 'none-needed',
          roles: ['chat'],
        },
      ],
    }),
  }),
  ...goingOn(['--resume'], ({ home, prompt }) => ['--config', `${home}/config.yaml`, '--auto', '-p', prompt]),
})

/** Returns Qwen Code in a dialect; without `auth`, the launcher starts it. */
const qwen = (auth?: string, env?: Way['env']): Way => ({
  ...(env ? { env } : { launched: true }),
  files: () => ({
    '.qwen/settings.json': json({
      privacy: { usageStatisticsEnabled: false },
      telemetry: { enabled: false },
    }),
  }),
  ...goingOn(['--continue'], ({ prompt }) => [
    ...(auth ? ['--auth-type', auth] : []),
    '--yolo',
    '-p',
    prompt,
  ]),
})

/** Returns GitHub Copilot CLI with these settings; without settings, the launcher starts it. */
const copilot = (path: string, set?: Readonly<Record<string, string>>): Way => ({
  ...(set ? {} : { launched: true }),
  env: ({ url, model }) => ({
    COPILOT_OFFLINE: 'true',
    COPILOT_AUTO_UPDATE: 'false',
    ...(set && {
      COPILOT_PROVIDER_BASE_URL: `${url}${path}`,
      COPILOT_PROVIDER_API_KEY: 'none-needed',
      COPILOT_MODEL: model,
      ...set,
    }),
  }),
  ...goingOn(['--continue'], ({ prompt }) => ['--allow-all-tools', '-p', prompt]),
})

const OPENCODE = {
  env: () => ({ OPENCODE_DISABLE_AUTOUPDATE: 'true', OPENCODE_DISABLE_MODELS_FETCH: 'true' }),
  args: ({ model, prompt }: RunParameters) => ['run', '--print-logs', '--model', `waybill/${model}`, prompt],
  again: ({ model, prompt }: RunParameters) => [
    'run',
    '--print-logs',
    '--continue',
    '--model',
    `waybill/${model}`,
    prompt,
  ],
}
const opencode = (npm: string): Way => ({
  ...OPENCODE,
  files: ({ url, model }) => ({
    '.config/opencode/opencode.json': json({
      model: `waybill/${model}`,
      small_model: `waybill/${model}`,
      provider: {
        waybill: {
          npm,
          options: { baseURL: `${url}/v1`, apiKey: 'none-needed' },
          models: { [model]: {} },
        },
      },
    }),
  }),
})

const CODEX = ['exec', '--skip-git-repo-check', '--sandbox', 'danger-full-access']

const AIDER = {
  env: () => ({ AIDER_ANALYTICS: 'false', AIDER_CHECK_UPDATE: 'false' }),
  args: ({ prompt }: RunParameters) => [
    ...['--yes-always', '--no-git', '--no-show-model-warnings', '--edit-format', 'diff'],
    ...['--message', prompt, 'note.txt'],
  ],
}

export const TESTED_AGENTS: readonly TestedAgent[] = [
  {
    name: 'claude-code',
    title: 'Claude Code',
    from: { npm: '@anthropic-ai/claude-code' },
    terminal: {
      way: 'messages',
      args: ['--allowedTools', 'Read'],
      ready: /❯/,
      compact: '/compact',
      questions: [
        ['theme', /Choose the text style|text style that looks best/i, ['Enter']],
        ['security notes', /Security notes/, ['Enter']],
        ['trust', /Yes, I trust this folder/, ['Down', 'Enter']],
        ['terminal setup', /recommended (terminal )?settings/i, ['Down', 'Enter']],
      ],
      switchTo: (model) => `/model ${model}`,
      switchKeys: ['Enter'],
      window: '/context',
      line: (command) => ({
        '.claude/settings.json': json({ statusLine: { type: 'command', command } }),
      }),
      margins: 4,
    },
    program: 'claude',
    reads: (file_path) => ({ name: 'Read', arguments: { file_path } }),
    writes: (file_path, content) => ({ name: 'Write', arguments: { file_path, content } }),
    ways: {
      messages: {
        launched: true,
        env: () => ({ CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1' }),
        ...goingOn(['--continue'], ({ prompt }) => ['--allowedTools', 'Read,Write,Edit', '-p', prompt]),
      },
    },
  },
  {
    name: 'codex',
    title: 'Codex',
    from: { npm: '@openai/codex' },
    terminal: {
      way: 'responses',
      args: [],
      ready: /›/,
      compact: '/compact',
      questions: [['trust', /trust the (contents|files)|allow Codex to work/i, ['Enter']]],
      window: '/status',
    },
    program: 'codex',
    reads: (file) => ({ name: 'exec_command', arguments: { cmd: `cat ${file}` } }),
    writes: (file, text) => ({
      name: 'exec_command',
      arguments: {
        cmd: `apply_patch <<'PATCH'\n*** Begin Patch\n*** Add File: ${file}\n+${text}\n*** End Patch\nPATCH`,
      },
    }),
    ways: {
      responses: {
        launched: true,
        args: ({ prompt }) => [...CODEX, prompt],
        again: ({ prompt }) => [...CODEX, 'resume', '--last', prompt],
      },
    },
  },
  {
    name: 'opencode',
    title: 'opencode',
    from: { npm: 'opencode-ai' },
    terminal: {
      way: 'chat',
      args: [],
      ready: /Ask anything|tab agents|ctrl\+p commands/i,
      compact: '/compact',
      questions: [],
    },
    program: 'opencode',
    reads: (filePath) => ({ name: 'read', arguments: { filePath } }),
    writes: (filePath, content) => ({ name: 'write', arguments: { filePath, content } }),
    ways: {
      chat: { ...OPENCODE, launched: true },
      messages: opencode('@ai-sdk/anthropic'),
      responses: opencode('@ai-sdk/openai'),
    },
  },
  {
    name: 'copilot',
    title: 'GitHub Copilot CLI',
    from: { npm: '@github/copilot' },
    terminal: {
      way: 'chat',
      args: ['--allow-all-tools'],
      ready: /❯|>/,
      compact: '/compact',
      questions: [['trust', /trust the files/i, ['Enter']]],
      line: (command) => ({
        '.copilot/settings.json': json({ statusLine: { type: 'command', command } }),
      }),
    },
    program: 'copilot',
    reads: (path) => ({ name: 'view', arguments: { path } }),
    writes: (path, file_text) => ({ name: 'create', arguments: { path, file_text } }),
    ways: {
      chat: copilot(''),
      messages: copilot('', { COPILOT_PROVIDER_TYPE: 'anthropic' }),
      responses: copilot('/v1', { COPILOT_PROVIDER_TYPE: 'openai', COPILOT_PROVIDER_WIRE_API: 'responses' }),
    },
  },
  {
    name: 'qwen',
    title: 'Qwen Code',
    from: { npm: '@qwen-code/qwen-code' },
    terminal: {
      way: 'chat',
      args: ['--yolo'],
      ready: /Type your message|> /,
      compact: '/compress',
      noteBytes: 60_000,
      questions: [['trust', /trust this folder/i, ['Enter']]],
      line: (command) => ({
        '.qwen/settings.json': json({
          privacy: { usageStatisticsEnabled: false },
          telemetry: { enabled: false },
          ui: { statusLine: { type: 'command', command } },
        }),
      }),
    },
    program: 'qwen',
    reads: (file_path) => ({ name: 'read_file', arguments: { file_path } }),
    writes: (file_path, content) => ({ name: 'write_file', arguments: { file_path, content } }),
    ways: {
      chat: qwen(),
      messages: qwen('anthropic', ({ url, model }) => ({
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_API_KEY: 'none-needed',
        ANTHROPIC_MODEL: model,
      })),
      responses: qwen('openai-responses', ({ url, model }) => ({
        OPENAI_BASE_URL: `${url}/v1`,
        OPENAI_API_KEY: 'none-needed',
        OPENAI_MODEL: model,
      })),
    },
  },
  {
    name: 'gemini',
    title: 'Gemini CLI',
    ownAuto: true,
    from: { npm: '@google/gemini-cli' },
    terminal: {
      way: 'gemini',
      args: ['--yolo', '--skip-trust'],
      files: () => ({}),
      ready: /Type your message/,
      compact: '/compress',
      questions: [
        ['trust', /trust this folder|Do you trust/i, ['Enter']],
        ['sign-in', /How would you like to authenticate/, ['Enter']],
        ['key', /Enter Gemini API Key/, ['Enter']],
      ],
      switchTo: (model) => `/model set ${model}`,
    },
    program: 'gemini',
    reads: (file_path) => ({ name: 'read_file', arguments: { file_path } }),
    writes: (file_path, content) => ({ name: 'write_file', arguments: { file_path, content } }),
    ways: {
      gemini: {
        launched: true,
        files: () => ({
          '.gemini/settings.json': json({
            security: { auth: { selectedType: 'gemini-api-key' } },
            privacy: { usageStatisticsEnabled: false },
            telemetry: { enabled: false },
          }),
        }),
        ...goingOn(['--resume', 'latest'], ({ prompt }) => ['--yolo', '--skip-trust', '-p', prompt]),
      },
    },
  },
  {
    name: 'aider',
    title: 'aider',
    from: { pip: 'aider-chat' },
    program: 'aider',
    reads: null,
    edits: (file) =>
      `${file}\n\`\`\`\n<<<<<<< SEARCH\nThe lamp is out.\n=======\nThe lamp is lit.\n>>>>>>> REPLACE\n\`\`\`\n`,
    ways: {
      chat: { ...AIDER, launched: true },
      messages: {
        ...AIDER,
        env: ({ url, model }) => ({
          ...AIDER.env(),
          ANTHROPIC_API_BASE: url,
          ANTHROPIC_API_KEY: 'none-needed',
          AIDER_MODEL: `anthropic/${model}`,
          AIDER_WEAK_MODEL: `anthropic/${model}`,
        }),
      },
    },
  },
  {
    name: 'continue',
    title: 'Continue',
    from: { npm: '@continuedev/cli' },
    program: 'cn',
    reads: (filepath) => ({ name: 'Read', arguments: { filepath } }),
    writes: (filepath, content) => ({ name: 'Write', arguments: { filepath, content } }),
    ways: {
      chat: continueFor('openai', '/v1'),
      messages: continueFor('anthropic', '/v1'),
    },
  },
  {
    name: 'cline',
    title: 'Cline',
    from: { npm: 'cline' },
    program: 'cline',
    reads: (path) => ({ name: 'read_files', arguments: { files: [{ path }] } }),
    writes: (path, new_text) => ({ name: 'editor', arguments: { path, new_text } }),
    ways: {
      chat: {
        env: () => ({ CLINE_TELEMETRY_DISABLED: '1' }),
        before: ({ url, model }) => [
          ...['auth', '--provider', 'openai-compatible', '--apikey', 'none-needed'],
          ...['--modelid', model, '--baseurl', `${url}/v1`],
        ],
        args: ({ prompt }) => ['--provider', 'openai-compatible', prompt],
      },
    },
  },
  {
    name: 'pi',
    title: 'pi',
    from: { npm: '@earendil-works/pi-coding-agent' },
    terminal: {
      way: 'chat',
      args: [],
      ready: /\(auto\)/,
      compact: '/compact',
      noteBytes: 60_000,
      questions: [['trust', /Trust this/i, ['Enter']]],
      switchTo: (model) => `/model waybill/${model}`,
      switchKeys: ['Enter'],
    },
    program: 'pi',
    reads: (path) => ({ name: 'read', arguments: { path } }),
    writes: (path, content) => ({ name: 'write', arguments: { path, content } }),
    ways: {
      chat: {
        launched: true,
        env: PI_ENV,
        ...goingOn(['--continue'], ({ prompt }) => ['-p', prompt]),
      },
      messages: pi('anthropic-messages', ''),
      responses: pi('openai-responses', '/v1'),
      gemini: pi('google-generative-ai', '/v1beta'),
    },
  },
]
