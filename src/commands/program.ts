// The command line: the table of commands, and their common parts. An entry lists the options of a command;
// its code is in a separate file, loaded when the command runs.
import { Command, CommanderError } from 'commander'
import manifest from '../../package.json' with { type: 'json' }
import { ConfigError } from '../core/errors.ts'
import { addMcp, addRun, addStatusline } from './entries/agents.ts'
import { addCostSums, addExport, addLogs, addReconcile, addSessions, addWhatIf } from './entries/calls.ts'
import { addConform, addJudge, addTarget } from './entries/conformance.ts'
import type { CommandEntry, Env } from './entries/entry.ts'
import { addFleet } from './entries/fleet.ts'
import { addModels } from './entries/models.ts'
import { addMock, addRecord, addRecordings, addReplay } from './entries/recordings.ts'
import {
  addCompletion,
  addConfig,
  addDoctor,
  addInit,
  addKey,
  addRoutes,
  addServe,
  addUi,
} from './entries/running.ts'
import { EXIT_CODES, exitCodesOf } from './exit-codes.ts'
import { complain, forgiveLeavingReaders, reasonOf } from './output.ts'
import { UsageError } from './usage-error.ts'

/** All commands in the order of `waybill --help`. */
const COMMANDS: readonly CommandEntry[] = [
  addServe,
  addInit,
  addRoutes,
  addModels,
  addRecord,
  addReplay,
  addRecordings,
  addLogs,
  addSessions,
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
    .configureOutput({ outputError: (text) => complain(text.trim().replace(/^error: /, '')) })
    .addHelpText('after', '\nExit codes: 0 success, 1 failure, 2 wrong usage or configuration.')
  const config = ['-c, --config <file>', 'configuration file', env.WAYBILL_CONFIG ?? 'waybill.yaml'] as const
  for (const add of COMMANDS) add(program, { env, config, finish })
  for (const name of Object.keys(EXIT_CODES))
    commandOf(program, name).addHelpText('after', `\nExit codes: ${exitCodesOf(name).replaceAll('`', '')}.`)
  return program
}

const commandOf = (program: Command, name: string): Command =>
  name.split(' ').reduce((above, word) => above.commands.find((each) => each.name() === word)!, program)

/**
 * Runs a command line and returns its exit code. For a usage error, prints one line on stderr for each
 * problem.
 */
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
