// The command line: the table of commands, their common parts, and their exit codes. An entry lists the options of a
// command; its code is in a separate file, loaded when the command runs.
import { Command, CommanderError } from 'commander'
import manifest from '../../package.json' with { type: 'json' }
import { ConfigError } from '../core/errors.ts'
import { nearest } from '../yaml/wording.ts'
import { addMcp, addRun, addStatusline } from './entries/agents.ts'
import {
  addCostSums,
  addDiff,
  addExport,
  addFork,
  addLogs,
  addReconcile,
  addSessions,
  addSteps,
  addWhatIf,
} from './entries/calls.ts'
import type { CommandEntry, Env } from './entries/entry.ts'
import {
  addCompletion,
  addConfig,
  addDoctor,
  addFleet,
  addInit,
  addKey,
  addModels,
  addProvider,
  addRoutes,
  addSelfTest,
  addServe,
  addService,
  addUi,
} from './entries/gateway.ts'
import {
  addConform,
  addJudge,
  addMock,
  addRecord,
  addRecordings,
  addReplay,
  addTarget,
} from './entries/testing.ts'
import { ownersKeyFile, usualConfig } from './find-config.ts'
import { complain, reasonOf, UsageError } from './output.ts'

/** All commands in the order of `waybill --help`. */
const COMMANDS: readonly CommandEntry[] = [
  addServe,
  addInit,
  addProvider,
  addService,
  addRoutes,
  addModels,
  addRecord,
  addReplay,
  addRecordings,
  addLogs,
  addSessions,
  addSteps,
  addFork,
  addDiff,
  addCostSums,
  addExport,
  addReconcile,
  addWhatIf,
  addRun,
  addUi,
  addMcp,
  addCompletion,
  addConfig,
  addKey,
  addMock,
  addFleet,
  addDoctor,
  addSelfTest,
  addStatusline,
  addConform,
  addTarget,
  addJudge,
]

/** Builds all commands without running any. `finish` receives an exit code that is neither 0 nor an error. */
export function commandLine(env: Env, finish: (exitCode: number) => void = () => {}): Command {
  const program = new Command('waybill')
    .description('A local gateway for language models that records where each call went.')
    .version(manifest.version)
    .exitOverride()
    .enablePositionalOptions()
    .configureHelp({ showGlobalOptions: true })
    .showSuggestionAfterError()
    .configureOutput({ outputError: (text) => complain(withSuggestion(text.trim().replace(/^error: /, ''))) })
    .addHelpText('after', '\nExit codes: 0 success, 1 failure, 2 wrong usage or configuration.')
  const config = ['-c, --config <file>', 'configuration file', usualConfig(env)] as const
  for (const add of COMMANDS) add(program, { env, config, finish })
  program.hook('preAction', async (_, command) => {
    const { config: file, url, keyFile } = command.opts()
    const options = command.options.map(({ long }) => long)
    if (!options.includes('--key-file') || !options.includes('--config')) return
    if (keyFile !== undefined || env.WAYBILL_KEY || env.WAYBILL_KEY_FILE) return
    command.setOptionValueWithSource('keyFile', await ownersKeyFile(file, url, env), 'implied')
  })
  for (const name of Object.keys(EXIT_CODES))
    commandOf(program, name).addHelpText('after', `\nExit codes: ${exitCodesOf(name).replaceAll('`', '')}.`)
  return program
}

/** Commands of other programs, and ours for the same purpose. */
const MEANT: Readonly<Record<string, string>> = {
  start: 'serve',
  stop: 'service stop',
  status: 'service status',
  login: 'key set',
  add: 'provider add',
  setup: 'init',
  version: '--version',
}

/** Returns the message with a suggestion that is near the given word, or with none. */
const withSuggestion = (message: string): string =>
  message.replace(
    /^(unknown (?:command|option) '([^']+)')(?:\s*\(Did you mean (?:one of )?([^?]+)\?\))?$/s,
    (_, what: string, word: string, near = '') => {
      const meant = what.startsWith('unknown command') ? MEANT[word] : undefined
      const found = meant ?? nearest(word, near.split(', '))
      return found === null ? `${what}; see \`waybill --help\`` : `${what}; did you mean ${found}?`
    },
  )

const commandOf = (program: Command, name: string): Command =>
  name.split(' ').reduce((above, word) => above.commands.find((each) => each.name() === word)!, program)

/**
 * Runs a command line and returns its exit code. For a usage error, prints one line on stderr for each
 * problem.
 */
export async function run(args: readonly string[], env: Env): Promise<number> {
  try {
    let exitCode = 0
    const finish = (code: number) => {
      exitCode = code
    }
    await commandLine(env, finish).parseAsync(args.length === 0 ? ['--help'] : args, { from: 'user' })
    return exitCode
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    for (const line of error instanceof ConfigError ? error.problems : [reasonOf(error as Error)])
      complain(line)
    return error instanceof ConfigError || error instanceof UsageError ? 2 : 1
  }
}

/** Meanings of the exit codes 0, 1, 2 …; null for an unused code. */
type Meanings = readonly (string | null)[]

const USAGE = 'wrong usage'
const CONFIG = 'wrong usage or configuration'
const NO_SERVICE = 'there is no systemd or launchd, or it refused'
const NOT_INSTALLED = 'wrong usage, or the service is not installed'
const SILENT = 'the gateway does not answer, or refuses'

/** Exit codes of each command, by its full name. */
export const EXIT_CODES: Readonly<Record<string, Meanings>> = {
  serve: [
    'stopped on request (SIGTERM, Ctrl-C)',
    'the gateway could not start, or stopped after a fault that left the state of the record unknown',
    CONFIG,
  ],
  routes: ['shown', 'the gateway that `--url` names does not answer', CONFIG],
  record: [
    'stopped on request; with a program, its own exit code',
    'the gateway could not start, or an exchange was not recorded',
    CONFIG,
  ],
  replay: ["the program's own exit code", 'the gateway could not start, or a call has no recording', CONFIG],
  'models list': ['shown', null, CONFIG],
  'models prices': ['shown', null, CONFIG],
  'models sync': ['the file was written', 'the file could not be written', CONFIG],
  'models forget': ['deleted, or there were no refusals', 'the file cannot be written', CONFIG],
  'recordings list': ['shown', 'the recordings cannot be read', USAGE],
  'recordings verify': ['all recordings are valid', 'some recordings are invalid or cannot be read', USAGE],
  'recordings import': ['everything was imported or already there', 'something was refused', USAGE],
  'recordings drift': [
    'no changes; without `--live`, the cost was printed',
    'there are changes, a call failed, or no request can be repeated',
    CONFIG,
  ],
  'recordings refresh': ['replaced', 'there are no newer answers, or a recording was not replaced', USAGE],
  logs: ['shown; with `--follow`, ended with Ctrl-C', SILENT, CONFIG],
  sessions: ['shown', SILENT, CONFIG],
  steps: [
    'shown; with `--forget`, deleted',
    'there is no such session; the gateway does not answer, or refuses',
    CONFIG,
  ],
  fork: [
    'the cost was printed; with `--live`, every call was sent, and a failed one is a line',
    'there is no such call, or it is not kept; the gateway does not answer, or refuses',
    CONFIG,
  ],
  diff: ['shown', 'there is no such session; the gateway does not answer, or refuses', CONFIG],
  costs: ['shown', SILENT, CONFIG],
  export: ['written', SILENT, CONFIG],
  reconcile: ['every line is equal', 'something differs, or a report cannot be fetched or read', CONFIG],
  whatif: ['estimated', 'the record cannot be read', CONFIG],
  run: [
    "the program's own exit code; 128 plus the number of the signal that ended it",
    'the program cannot be run, or the gateway does not answer',
    CONFIG,
  ],
  ui: ['opened, or the address was printed', SILENT, CONFIG],
  mcp: ['stdin ended', 'the program could not start, or a message on stdin is longer than 10 MiB', CONFIG],
  completion: ['printed', 'the output could not be written', USAGE],
  'config check': [
    'the configuration is valid',
    'the configuration cannot be checked',
    'the configuration is invalid; one line for each problem',
  ],
  'fleet status': ['printed', 'the shared log does not answer, or has no tables', CONFIG],
  'fleet migrate': ['the tables exist', 'the shared log does not answer, or refuses', CONFIG],
  'fleet forget': [
    'forgotten',
    'the shared log does not answer',
    'no such gateway, or it is alive; wrong usage or configuration',
  ],
  init: [
    'the file was written',
    'the file could not be written, or the gateway refuses it',
    'wrong usage, or the file already exists',
  ],
  'provider add': ['added', 'the file could not be written', CONFIG],
  'provider list': ['shown', null, CONFIG],
  'provider test': ['all is well', 'a provider failed', CONFIG],
  'service install': ['written', 'there is no systemd or launchd, or it refused', CONFIG],
  'service uninstall': ['removed, or was not installed', NO_SERVICE, USAGE],
  'service start': ['started', NO_SERVICE, NOT_INSTALLED],
  'service stop': ['stopped', NO_SERVICE, NOT_INSTALLED],
  'service status': ['it runs', NO_SERVICE, NOT_INSTALLED, 'it does not run (systemd)'],
  'service logs': ['shown', NO_SERVICE, NOT_INSTALLED],
  'key list': ['shown', SILENT, CONFIG],
  'key new': ['the key was written', 'the key could not be written', CONFIG],
  'key set': ['kept', 'the file could not be written, or others may read it', USAGE],
  mock: ['stopped on request; with `--list`, shown', 'the mock could not start', USAGE],
  doctor: ['all is well', 'something is BAD', USAGE],
  'self-test': ['all is well', 'something is BAD', USAGE],
  statusline: [
    'always for a client, because it would otherwise blank the row',
    null,
    'a word that is neither an option nor a command',
  ],
  'statusline install': [
    'installed',
    "the settings cannot be read or written, or contain another program's line",
    USAGE,
  ],
  'statusline uninstall': ['removed, or was not installed', 'the settings cannot be read or written', USAGE],
  'statusline doctor': ['all is well', 'something is BAD', USAGE],
  conform: [
    'conformant, or every failure is in the baseline',
    'a requirement failed',
    'the command line, the target file or the baseline is wrong',
    'the gateway cannot be installed, started or reached, or `--install` or `--live` is missing; its calls do not arrive at the mock, or the suite failed',
    'the baseline is stale (a run that a signal ended: 128 plus its number)',
  ],
  'conform explain': ['explained', null, 'there is no such requirement'],
  'target check': [
    'the gateway matches the file',
    'the gateway does not match the file',
    'the file is wrong',
    'the gateway cannot be started or reached',
  ],
  'target init': ['written', null, USAGE, 'written, but the gateway could not be tried'],
  judge: [
    'conformant',
    'not conformant',
    'wrong usage, or there is no evidence',
    'the evidence cannot be judged',
    'the baseline is stale',
  ],
}

/** Returns the exit codes of a command in one line. */
const exitCodesOf = (name: string): string =>
  EXIT_CODES[name]!.flatMap((meaning, code) => (meaning === null ? [] : [`${code} ${meaning}`])).join('; ')
