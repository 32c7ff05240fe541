// The command line: names, options, help. Each command's work is in a file of its own, loaded when it runs.
import { Command, CommanderError } from 'commander'
import manifest from '../../package.json' with { type: 'json' }
import { ConfigError } from '../config.ts'
import { GatewayError } from '../errors.ts'

type Env = Readonly<Record<string, string | undefined>>

/** Runs a command line and returns its exit code; a user's mistake is one line on stderr per problem. */
export async function run(args: readonly string[], env: Env): Promise<number> {
  const program = new Command('waybill')
    .description('A local gateway for language models that keeps a record of where each call went.')
    .version(manifest.version)
    .exitOverride()
    .configureHelp({ showGlobalOptions: true })
    .showSuggestionAfterError()
  const config = ['-c, --config <file>', 'configuration file', env.WAYBILL_CONFIG ?? 'waybill.yaml'] as const

  program
    .command('serve')
    .description('run the gateway')
    .option(...config)
    .option('-p, --port <number>', 'port to listen on, instead of the one in the configuration')
    .option('--replay [dir]', 'answer from recordings: no key, no network, no cost')
    .addHelpText('after', example('waybill serve --replay --config examples/waybill.yaml'))
    .action(async (options) => (await import('./serve.ts')).serve({ ...options, env }))

  program
    .command('routes [model]')
    .description('show where a call for each route, or for one model, would go; reaches nobody')
    .option(...config)
    .option('--json', 'print JSON instead of a table')
    .addHelpText('after', example('waybill routes auto/cheap'))
    .action(async (model, options) => (await import('./routes.ts')).routes({ model, ...options, env }))

  program
    .command('config')
    .description('look at the configuration')
    .command('check')
    .description('check the configuration and name every problem with its line')
    .option(...config)
    .addHelpText('after', example('waybill config check --config waybill.yaml'))
    .action(async (options) => (await import('./config-check.ts')).configCheck({ ...options, env }))

  program.addHelpText('after', '\nExit codes: 0 done, 1 it failed, 2 the call or the configuration is wrong.')

  try {
    await program.parseAsync(args, { from: 'user' })
    return 0
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    const lines = error instanceof ConfigError ? error.problems : [(error as Error).message]
    for (const line of lines) process.stderr.write(`waybill: ${line}\n`)
    return error instanceof ConfigError || error instanceof GatewayError ? 2 : 1
  }
}

const example = (line: string): string => `\nExample:\n  $ ${line}`
