// The command line: names, options, help. Each command's work is in a file of its own, loaded when it runs.
// Over 250 lines, because it is a list of commands.
import { Argument, Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import manifest from '../../package.json' with { type: 'json' }
import { PREFERENCES } from '../config/presets.ts'
import { name as nameSchema } from '../config/schema.ts'
import { ConfigError } from '../config.ts'
import { completion, SHELLS } from './completion.ts'
import { configOrExample } from './example-config.ts'
import { complain, forgiveLeavingReaders, reasonOf } from './output.ts'
import { UsageError } from './usage-error.ts'

type Env = Readonly<Record<string, string | undefined>>

/** Every command with its options; nothing runs yet. `finish` hears of an exit code that is neither success nor a thrown error. */
export function commandLine(env: Env, finish: (exitCode: number) => void = () => {}): Command {
  const program = new Command('waybill')
    .description('A local gateway for language models that records where each call went.')
    .version(manifest.version)
    .exitOverride()
    .enablePositionalOptions()
    .configureHelp({ showGlobalOptions: true })
    .showSuggestionAfterError()
    .configureOutput({ outputError: (text) => complain(text.trim().replace(/^error: /, '')) })
  const config = ['-c, --config <file>', 'configuration file', env.WAYBILL_CONFIG ?? 'waybill.yaml'] as const

  program
    .command('serve')
    .description('run the gateway')
    .option(...config)
    .option('-p, --port <number>', 'port to listen on; default: from the configuration')
    .option('--replay [dir]', 'answer from recordings: no key, no network, no cost')
    .option('--invent', 'with --replay: make up an answer if there is no recording; default: an error')
    .option('--log-level <level>', 'silent, error, warn, info or debug (WAYBILL_LOG_LEVEL; info by default)')
    .addHelpText('after', example('waybill serve --replay --config examples/waybill.yaml'))
    .action(async (options, command) => {
      const asked = command.getOptionValueSource('config') === 'cli'
      const { note, ...found } = configOrExample({ ...options, asked }, env)
      if (note) process.stderr.write(note)
      await (await import('./serve.ts')).serve({ ...options, ...found })
    })

  program
    .command('init [file]')
    .description('write a configuration: asks which providers you have and what to prefer')
    .option('--provider <names>', 'providers, separated by commas, the preferred one first')
    .addOption(new Option('--prefer <what>', 'what matters for everyday calls').choices(PREFERENCES))
    .option('--check', 'ask the providers for their lists of models; this tries the keys and costs nothing')
    .option('--no-check', 'send nothing')
    .addHelpText('after', example('waybill init --provider openai,groq --prefer price'))
    .action(async (file = 'waybill.yaml', options) =>
      (await import('./init.ts')).init({ file, ...options, env }),
    )

  program
    .command('routes [model]')
    .description(
      'show where calls would go, for each route or for one model; asks the running gateway and no provider',
    )
    .option(...config)
    .option('--json', 'print JSON instead of a table')
    .option('--url <url>', 'address of the running gateway (WAYBILL_URL); default: from the configuration')
    .option('--key-file <file>', 'file with a gateway key that only you can read (WAYBILL_KEY_FILE)')
    .addHelpText('after', example('waybill routes auto/cheap'))
    .action(async (model, options) => (await import('./routes.ts')).routes({ model, ...options, env }))

  program
    .command('record')
    .description('run the gateway against a live provider and keep redacted recordings; costs money')
    .requiredOption('--provider <name>', 'the provider whose exchanges are recorded')
    .option(...config)
    .option('--out <dir>', 'where recordings are written', 'recordings')
    .option('-p, --port <number>', 'port to listen on; default: from the configuration')
    .option('--scenario <name>', 'name of what is recorded; default: plain, tools or the status')
    .option('--canary <text...>', 'texts from your prompts that must not appear in what is written')
    .addHelpText('after', example('waybill record --provider openai --out recordings'))
    .action(async (options) => (await import('./record.ts')).record({ ...options, env }))

  const recordings = program
    .command('recordings')
    .description('list, check and import recordings; calls no provider')
  recordings
    .command('list [dir]')
    .description('list the recordings in a directory, or those of the package')
    .option('--json', 'print JSON instead of a table')
    .addHelpText('after', example('waybill recordings list recordings --json'))
    .action(async (dir, options) => (await import('./recordings.ts')).list({ dir, ...options }))
  recordings
    .command('verify [dir]')
    .description(
      'check recordings: their format, and that nothing private is left in them; exit code 1 if not',
    )
    .option('--older-than <months>', 'warn of recordings older than this')
    .addHelpText('after', example('waybill recordings verify recordings --older-than 12'))
    .action(async (dir, options) => (await import('./recordings.ts')).verify({ dir, ...options }))
  recordings
    .command('import <files...>')
    .description('turn vcrpy, Ruby VCR, go-vcr, HAR and httpmock files into redacted recordings')
    .requiredOption('--out <dir>', 'where recordings are written')
    .option('--provider <name>', 'provider of the recordings, for files that name no host (httpmock)')
    .addHelpText('after', example('waybill recordings import cassettes/*.yaml --out recordings'))
    .addHelpText('after', '\nExit codes: 0 everything is imported, 1 something was refused, 2 wrong usage.')
    .action(async (files, options) => (await import('./recordings.ts')).importFiles({ files, ...options }))

  program
    .command('logs')
    .description(
      'show the newest calls of a running gateway, newest last; with --follow, also each new call as it ends',
    )
    .option('-f, --follow', 'keep running until Ctrl-C')
    .option('-n, --limit <number>', 'how many calls to show first, 1 to 200', '20')
    .option('--json', 'print each record as a line of JSON instead of a table')
    .option(...config)
    .option('--url <url>', 'address of the gateway (WAYBILL_URL); default: from the configuration')
    .option('--key-file <file>', 'file with a gateway key that only you can read (WAYBILL_KEY_FILE)')
    .option('--session <id>', 'only this session')
    .option('--provider <name>', 'only this provider')
    .option('--model <id>', 'only this model of a provider')
    .option('--route <name>', 'only this route')
    .option('--purpose <purpose>', 'only this purpose: main, background, subagent or compaction')
    .option('--status <status>', 'ok, error or an HTTP status')
    .option('--since <time>', 'only calls since then: 15m, 1h, 7d, a date, or a date with a time')
    .option('--until <time>', 'only calls before then, in the same forms')
    .addHelpText('after', example('waybill logs --since 1h --status error'))
    .action(async ({ session, provider, model, route, purpose, status, ...options }) => {
      const filters = { session_id: session, provider, model, route, purpose, status }
      await (await import('./logs.ts')).logs({ ...options, filters, env })
    })

  program
    .command('run')
    .description(
      'start a coding agent (claude, codex, opencode, copilot, qwen, gemini, aider) or any other program with the gateway as its provider; changes no file',
    )
    .argument('<program>', 'the agent; put -- before it')
    .argument('[args...]', 'its own arguments, passed on unchanged')
    .passThroughOptions()
    .option(...config)
    .option('--url <url>', 'address of the gateway (WAYBILL_URL); default: from the configuration')
    .option('--key-file <file>', 'file with a gateway key that only you can read (WAYBILL_KEY_FILE)')
    .option('--model <id>', 'the model that it asks for; default: its own, or `auto`, or the first route')
    .option('--quiet', 'do not print what was set')
    .addHelpText('after', example('waybill run --model auto/code -- claude --continue'))
    .action(async (agent, args, options) =>
      finish(await (await import('./run-agent.ts')).runAgent({ program: agent, args, ...options, env })),
    )

  program
    .command('ui')
    .description('open the page of the running gateway in the browser, signed in if the gateway has keys')
    .option(...config)
    .option('--url <url>', 'address of the gateway (WAYBILL_URL); default: from the configuration')
    .option('--key-file <file>', 'file with a gateway key that only you can read (WAYBILL_KEY_FILE)')
    .option('--print', 'print the address instead; it works once, within a minute')
    .addHelpText('after', example('waybill ui'))
    .action(async (options) => (await import('./ui.ts')).ui({ ...options, env }))

  program
    .command('mcp')
    .description(
      'five read-only tools on stdin and stdout (Model Context Protocol): spend, calls, call, routes, resolve',
    )
    .option(...config)
    .option('--url <url>', 'address of the gateway (WAYBILL_URL); default: from the configuration')
    .option('--key-file <file>', 'file with a gateway key that only you can read (WAYBILL_KEY_FILE)')
    .addHelpText('after', example('claude mcp add waybill -- waybill mcp'))
    .action(async (options) => (await import('./mcp.ts')).mcp({ ...options, env }))

  program
    .command('completion')
    .description('print a script that lets a shell complete commands and options')
    .addArgument(new Argument('<shell>', 'which shell').choices(SHELLS))
    .addHelpText('after', example('waybill completion bash >> ~/.bashrc'))
    .action((shell) => void process.stdout.write(completion(program, shell)))

  program
    .command('config')
    .description('check the configuration')
    .command('check')
    .description('check the configuration and name every problem with its line')
    .option(...config)
    .addHelpText('after', example('waybill config check --config waybill.yaml'))
    .action(async (options) => (await import('./config-check.ts')).configCheck({ ...options, env }))

  program
    .command('key')
    .description('keys of the gateway')
    .command('new')
    .description(
      'make a key, save it in a file that only you can read, and print its digest for the configuration',
    )
    .argument('<name>', 'name of the key in the records', keyName)
    .addOption(
      new Option('--role <role>', 'what the key may see').choices(['client', 'admin']).default('client'),
    )
    .option('--file <file>', 'where to save it; default: ~/.config/waybill/keys/NAME')
    .option('--print', 'also show the key; only on a terminal')
    .addHelpText('after', example('waybill key new laptop'))
    .action(async (name, options) =>
      (await import('./key-new.ts')).keyNew({ name, ...options, env, out: process.stdout }),
    )

  program
    .command('witness')
    .description('run a stand-in for the providers on a local port, with a ledger of what arrives')
    .option('-p, --port <number>', 'port to listen on; 0 picks a free one', portNumber, 4950)
    .option(
      '--control-port <number>',
      'port of the ledger and of scripts; 0 picks a free one',
      portNumber,
      4951,
    )
    .option('--host <address>', 'address to listen on; the control port stays on 127.0.0.1', '127.0.0.1')
    .option('--recordings <dir>', 'recordings to answer from; default: those of the package')
    .option('--invent', 'with --recordings: make up an answer if there is no recording; default: an error')
    .addOption(
      new Option('--pace <pace>', 'how fast answers come').choices(['recorded', 'none']).default('none'),
    )
    .option('--json', 'print addresses and keys as one line of JSON')
    .option('--list', 'print the scenarios and exit')
    .addHelpText('after', example('waybill witness --port 4950 --pace recorded'))
    .action(async (options) => (await import('./witness.ts')).witness(options))

  const fleet = program.command('fleet').description('the log that several gateways share')
  fleet
    .command('status')
    .description('list the gateways that share the log, which are alive, and what each has not sent yet')
    .option(...config)
    .addHelpText('after', example('waybill fleet status'))
    .action(async (options) => (await import('./fleet.ts')).fleetStatus({ ...options, env }))
  fleet
    .command('migrate')
    .description('create or update the tables of the shared log')
    .option(...config)
    .addHelpText('after', example('waybill fleet migrate'))
    .action(async (options) => (await import('./fleet.ts')).fleetMigrate({ ...options, env }))
  fleet
    .command('forget <instance>')
    .description(
      'end the open calls of a gateway that will not come back, and release its part of the budgets',
    )
    .option(...config)
    .addHelpText('after', example('waybill fleet forget gateway-2'))
    .action(async (instance, options) =>
      (await import('./fleet.ts')).fleetForget({ ...options, env }, instance),
    )

  program
    .command('doctor')
    .description(
      'find problems in the configuration, the data directory and the running gateway; changes nothing',
    )
    .option(...config)
    .option('--key-file <file>', 'file with a gateway key that only you can read (WAYBILL_KEY_FILE)')
    .addHelpText('after', example('waybill doctor --config waybill.yaml'))
    .action(async (options) => (await import('./doctor.ts')).doctor({ ...options, env }))

  const line = program
    .command('statusline [options...]')
    .description("draw a coding client's status line from its JSON on stdin")
    .allowUnknownOption()
    .addHelpText('after', example('waybill statusline install --url http://127.0.0.1:4949'))
    .action(async (_options, _known, { args }) => (await import('./statusline.ts')).draw(args, env))
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
    .description("add the status line to the client's settings; everything else there stays as it is")
    .option(...client)
    .option(...scope)
    .option(...subagents)
    .option(...url)
    .option(...keyFile)
    .option('--sh', 'the variant that needs only sh and curl')
    .option('--wrap', 'keep the existing line and put ours after it')
    .option('--segments <list>', 'what to show, in this order')
    .option('--theme <name>', 'colours')
    .addHelpText('after', example('waybill statusline install --sh --key-file ~/.config/waybill/key'))
    .action(async (options) => (await import('./statusline.ts')).installLine({ ...options, env }))
  line
    .command('uninstall')
    .description('remove our line from the settings, unless you have changed it')
    .option(...client)
    .option(...scope)
    .option(...subagents)
    .addHelpText('after', example('waybill statusline uninstall --scope project'))
    .action(async (options) => (await import('./statusline.ts')).uninstallLine({ ...options, env }))
  line
    .command('doctor')
    .description('find out why the line is blank')
    .option(...client)
    .option(...url)
    .option(...keyFile)
    .option('--session <id>', 'the session whose line is blank')
    .addHelpText('after', example('waybill statusline doctor --session 5f0c…'))
    .action(async (options) => (await import('./statusline.ts')).doctor({ ...options, env }))

  const suite = program
    .command('conform [target]')
    .description('test a gateway against the contract; the target is a target file, its name, or an address')
    .option('--list', 'print every requirement with its level and scope, and exit')
    .option('--profile <name>', 'core, observable or waybill', 'core')
    .option('--only <id...>', 'only these requirements')
    .option('--quick', 'watch idle time for seconds instead of a minute; the result is partial')
    .option('--report <dir>', 'write evidence and reports there')
    .option('--baseline <file>', 'file with known failures')
    .option('--compare <dir>', 'report of an earlier run; print what got better and what got worse')
    .option('--model <id>', 'with an address: a model that the gateway sends to the witness')
    .option('--key-env <name>', 'with an address: environment variable with its key')
    .option('--witness-port <port>', 'with an address: port of the witness')
    .option('--witness-host <address>', 'address of this machine that the witness listens on (127.0.0.1)')
    .option('--witness-name <name>', 'name by which the gateway reaches the witness')
    .option('--witness-tls', 'the witness speaks TLS; {{witness.ca}} is the certificate to trust')
    .addHelpText('after', example('waybill conform my-gateway.yaml --profile core --report report'))
    .addHelpText(
      'after',
      '\nExit codes: 0 conformant, 1 not conformant, 2 wrong usage, 3 the target or the suite failed, 4 the baseline is stale.',
    )
    .action(async (target, { list, ...options }, command) => {
      if (list) return (await import('./explain.ts')).list()
      if (target === undefined) command.error("error: missing required argument 'target'")
      finish(await (await import('./conform.ts')).conform({ target, ...options }))
    })
  suite
    .command('explain <id...>')
    .description('why a requirement matters, how it is tested, and what usually causes a failure')
    .addHelpText('after', example('waybill conform explain FLOW-06'))
    .action(async (ids) => finish((await import('./explain.ts')).explain(ids)))
  const target = program
    .command('target')
    .description('write and check target files, which describe a gateway to the conformance suite')
  target
    .command('check <file>')
    .description(
      'check a target file; if it has no mistake, start the gateway, make one call, and print what was seen and which requirements apply',
    )
    .option('--profile <name>', 'core, observable or waybill', 'observable')
    .option('--witness-host <address>', 'address of this machine that the witness listens on (127.0.0.1)')
    .option('--witness-name <name>', 'name by which the gateway reaches the witness')
    .option('--witness-tls', 'the witness speaks TLS; {{witness.ca}} is the certificate to trust')
    .addHelpText('after', example('waybill target check my-gateway.yaml'))
    .addHelpText(
      'after',
      '\nExit codes: 0 the gateway matches the file, 1 it does not, 2 the file is wrong, 3 the gateway cannot be started or reached.',
    )
    .action(async (file, options) => finish(await (await import('./target-check.ts')).check(file, options)))
  target
    .command('init [file]')
    .description('ask how a gateway is started and what it reports, try it, and write a target file')
    .option('--start <command>', 'a command, with {{port}} and {{witness.openai.base_url}}, or an address')
    .option('--call <model>', 'the model to call')
    .option('--key-env <name>', 'environment variable that holds its key')
    .option('--headers <list>', 'NAME=HEADER,… for provider, model, request_id, session')
    .option('--log <path>', 'path of its log of calls')
    .option(
      '--read <paths>',
      'other paths that cost nothing, separated by commas; the first one shows when the gateway is ready',
    )
    .addHelpText(
      'after',
      example('waybill target init my-gateway.yaml --start http://127.0.0.1:8080 --call gpt-5-mini'),
    )
    .addHelpText(
      'after',
      '\nExit codes: 0 written, 2 wrong usage, 3 written, but the gateway could not be tried.',
    )
    .action(async (file = 'target.yaml', options) =>
      finish(await (await import('./target-init.ts')).init(file, options)),
    )
  program
    .command('judge <dir>')
    .description('compute the verdicts of a run again from its evidence')
    .option('--report <dir>', 'write new reports there')
    .option('--baseline <file>', 'file with known failures')
    .option('--compare <dir>', 'report of an earlier run; print what got better and what got worse')
    .addHelpText('after', example('waybill judge report'))
    .action(async (directory, options) => {
      finish((await import('./conform.ts')).judge(directory, options))
    })

  program.addHelpText('after', '\nExit codes: 0 success, 1 failure, 2 wrong usage or configuration.')

  return program
}

/** Runs a command line and returns its exit code; a user's mistake is one line on stderr per problem. */
export async function run(args: readonly string[], env: Env): Promise<number> {
  forgiveLeavingReaders()
  try {
    let exitCode = 0
    const finish = (code: number) => {
      exitCode = code
    }
    await commandLine(env, finish).parseAsync(args, { from: 'user' })
    return exitCode
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    for (const line of error instanceof ConfigError ? error.problems : [reasonOf(error as Error)])
      complain(line)
    return error instanceof ConfigError || error instanceof UsageError ? 2 : 1
  }
}

function keyName(text: string): string {
  const { data, error } = nameSchema.safeParse(text)
  if (data === undefined) throw new InvalidArgumentError(error!.issues[0]!.message)
  return data
}

function portNumber(text: string): number {
  const port = Number(text)
  if (!/^\d+$/.test(text) || port > 65_535)
    throw new InvalidArgumentError('A port is a number from 0 to 65535.')
  return port
}

const example = (line: string): string => `\nExample:\n  $ ${line}`
