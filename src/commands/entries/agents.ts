// Entries for coding agents.
import { type CommandEntry, example, GATEWAY_KEY, GATEWAY_URL } from './entry.ts'

export const addRun: CommandEntry = (program, { env, config, finish }) => {
  program
    .command('run')
    .description(
      'start a coding agent (claude, codex, opencode, copilot, qwen, gemini, aider) or any other program with the gateway as its provider; runs a gateway, too, if none answers; changes no file',
    )
    .argument('<program>', 'the agent; put -- before it')
    .argument('[args...]', 'its own arguments, passed on unchanged')
    .passThroughOptions()
    .option(...config)
    .option(...GATEWAY_URL)
    .option(...GATEWAY_KEY)
    .option(
      '--model <id>',
      'the model that the program requests; default: its own, or `auto`, or the first route',
    )
    .option(
      '--session <id>',
      'session of the calls, to continue an earlier session; for agents that send no session',
    )
    .option(
      '--own-login',
      'the agent keeps its own login, such as a subscription, for a provider with `auth: caller`; claude only',
    )
    .option('--keep', 'keep what the agent sends and gets in the gateway, encrypted; see `waybill steps`')
    .option('--quiet', 'do not print the settings')
    .addHelpText('after', example('waybill run --model auto/code -- claude --continue'))
    .action(async (agent, args, options) =>
      finish(await (await import('../run.ts')).runAgent({ program: agent, args, ...options, env })),
    )
}

export const addMcp: CommandEntry = (program, { env, config }) => {
  program
    .command('mcp')
    .description(
      'five read-only tools on stdin and stdout (Model Context Protocol): spend, calls, call, routes, resolve',
    )
    .option(...config)
    .option(...GATEWAY_URL)
    .option(...GATEWAY_KEY)
    .addHelpText('after', example('claude mcp add waybill -- waybill mcp'))
    .action(async (options) => (await import('../mcp.ts')).mcp({ ...options, env }))
}

export const addStatusline: CommandEntry = (program, { env, config }) => {
  const line = program
    .command('statusline [options...]')
    .description("draw a coding client's status line from its JSON on stdin")
    .allowUnknownOption()
    .addHelpText('after', example('waybill statusline install --url http://127.0.0.1:4949'))
    .action(async (_options, _known, { args }) => (await import('../statusline.ts')).draw(args, env))
  const client = [
    '--client <name>',
    'the client: claude-code, copilot (GitHub Copilot CLI) or qwen (Qwen Code)',
    'claude-code',
  ] as const
  const scope = ['--scope <scope>', 'which settings to change: user, project or local', 'user'] as const
  const subagents = ['--subagents', 'the rows of subagents instead of the status line'] as const
  const url = ['--url <url>', 'address of the gateway'] as const
  const keyFile = ['--key-file <file>', 'file with a gateway key that only you can read'] as const
  line
    .command('install')
    .description("add the status line to the client's settings, and change nothing else there")
    .option(...client)
    .option(...scope)
    .option(...subagents)
    .option(...url)
    .option(...keyFile)
    .option('--sh', 'the variant that needs only sh and curl')
    .option('--wrap', 'keep the existing line and add ours after it')
    .option('--segments <list>', 'what to show, in this order')
    .option('--theme <name>', 'colours')
    .addHelpText('after', example('waybill statusline install --sh --key-file ~/.config/waybill/keys/laptop'))
    .action(async (options) =>
      (await import('../statusline.ts')).installLine({ ...options, config: config[2], env }),
    )
  line
    .command('uninstall')
    .description('remove our line from the settings, unless you have changed it')
    .option(...client)
    .option(...scope)
    .option(...subagents)
    .addHelpText('after', example('waybill statusline uninstall --scope project'))
    .action(async (options) =>
      (await import('../statusline.ts')).uninstallLine({ ...options, config: config[2], env }),
    )
  line
    .command('doctor')
    .description('find the reason for a blank line')
    .option(...client)
    .option(...url)
    .option(...keyFile)
    .option('--session <id>', 'the session whose line is blank')
    .addHelpText('after', example('waybill statusline doctor --session 5f0c…'))
    .action(async (options) => (await import('../statusline.ts')).lineDoctor({ ...options, env }))
}
