// The command line: the table of commands, and their common parts. An entry lists the options of a command;
// its code is in a separate file, loaded when the command runs.
import { Command, CommanderError } from 'commander'
import manifest from '../../package.json' with { type: 'json' }
import { ConfigError } from '../core/errors.ts'
import { nearest } from '../yaml/nearest.ts'
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
import { addConform, addJudge, addTarget } from './entries/conformance.ts'
import type { CommandEntry, Env } from './entries/entry.ts'
import { addMock, addRecord, addRecordings, addReplay } from './entries/recordings.ts'
import {
  addCompletion,
  addConfig,
  addDoctor,
  addInit,
  addKey,
  addRoutes,
  addSelfTest,
  addServe,
  addUi,
} from './entries/running.ts'
import { addFleet, addModels, addProvider, addService } from './entries/setup.ts'
import { EXIT_CODES, exitCodesOf } from './exit-codes.ts'
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
