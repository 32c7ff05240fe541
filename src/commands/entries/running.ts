// Entries for running, preparing and checking a gateway.
import { Argument, Option } from 'commander'
import { PREFERENCES } from '../../config/presets.ts'
import { completion, SHELLS } from '../completion.ts'
import { configOrExample } from '../find-config.ts'
import { type CommandEntry, example, GATEWAY_KEY, GATEWAY_URL, portText } from './entry.ts'

export const addServe: CommandEntry = (program, { env, config }) => {
  program
    .command('serve')
    .description('run the gateway')
    .option(...config)
    .option('-p, --port <number>', 'port to listen on; default: from the configuration', portText)
    .option('--replay [dir]', 'answer from recordings: no key, no network, no cost')
    .option('--invent', 'with --replay: invent an answer if there is no recording; default: an error')
    .option('--similar', 'with --replay: answer from the nearest recording if its last message is the same')
    .option('--lenient', 'with --replay: accept requests that the requested model would refuse')
    .option('--log-level <level>', 'silent, error, warn, info or debug (WAYBILL_LOG_LEVEL; info by default)')
    .addHelpText('after', example('waybill serve --replay --config examples/waybill.yaml'))
    .action(async (options, command) => {
      const asked = command.getOptionValueSource('config') === 'cli'
      const { note, ...found } = configOrExample({ ...options, asked }, env)
      if (note) process.stderr.write(note)
      await (await import('../serve.ts')).serve({ ...options, ...found })
    })
}

export const addInit: CommandEntry = (program, { env }) => {
  program
    .command('init [file]')
    .description('write a configuration; asks for your providers and your preference')
    .option('--from <file>', 'convert the configuration of LiteLLM, Claude Code Router or one-api')
    .option(
      '--provider <names>',
      'providers, separated by commas, the preferred one first: openai, ollama, ollama/MODEL, an address, NAME=ADDRESS and so on',
    )
    .addOption(new Option('--prefer <what>', 'preference for everyday calls').choices(PREFERENCES))
    .option(
      '--check',
      'request the lists of models from the providers; this tests the keys and costs nothing',
    )
    .option('--no-check', 'send nothing')
    .option('--keep', 'keep the keys that are set in the environment in keys.env next to the file')
    .addHelpText('after', example('waybill init --provider openai,groq --prefer price'))
    .action(async (file = 'waybill.yaml', options) =>
      (await import('../init.ts')).init({ file, ...options, env }),
    )
}

export const addRoutes: CommandEntry = (program, { env, config }) => {
  program
    .command('routes [model]')
    .description(
      'show where calls would go, for each route or for one model; reads from the running gateway, and calls no provider',
    )
    .option(...config)
    .option('--json', 'print JSON instead of a table')
    .option('--names', 'only print the ids of the configured routes and models; asks no gateway')
    .option('--url <url>', 'address of the running gateway (WAYBILL_URL); default: from the configuration')
    .option(...GATEWAY_KEY)
    .addHelpText('after', example('waybill routes auto/cheap'))
    .action(async (model, options) => (await import('../routes.ts')).printRoutes({ model, ...options, env }))
}

export const addUi: CommandEntry = (program, { env, config }) => {
  program
    .command('ui')
    .description('open the page of the running gateway in the browser, signed in if the gateway has keys')
    .option(...config)
    .option(...GATEWAY_URL)
    .option(...GATEWAY_KEY)
    .option('--print', 'print the address instead; it works once, within a minute')
    .addHelpText('after', example('waybill ui'))
    .action(async (options) => (await import('../ui.ts')).ui({ ...options, env }))
}

export const addConfig: CommandEntry = (program, { env, config }) => {
  program
    .command('config')
    .description('check the configuration')
    .command('check')
    .description('check the configuration and name every problem with its line')
    .option(...config)
    .option('--json', 'print JSON instead of lines')
    .addHelpText('after', example('waybill config check --config waybill.yaml'))
    .action(async (options) => (await import('../config-file.ts')).configCheck({ ...options, env }))
}

export const addKey: CommandEntry = (program, { env, config }) => {
  const key = program.command('key').description('keys of the gateway, and kept keys')
  key
    .command('list')
    .description('list the keys in force, with their limits and spending; a client key sees only itself')
    .option('--json', 'print JSON instead of a table')
    .option(...config)
    .option(...GATEWAY_URL)
    .option(...GATEWAY_KEY)
    .addHelpText('after', example('waybill key list'))
    .action(async (options) => (await import('../lists.ts')).printKeys({ ...options, env }))
  key
    .command('new')
    .description(
      'make a key, save it in a file that only you can read, and print its digest for the configuration',
    )
    .argument('<name>', 'name of the key in the records')
    .addOption(
      new Option('--role <role>', 'what the key may see').choices(['client', 'admin']).default('client'),
    )
    .option('--file <file>', 'where to save it; default: ~/.config/waybill/keys/NAME')
    .option('--print', 'also show the key; only on a terminal')
    .option('--add', 'add its digest to the configuration')
    .option('--own', 'your own key: role admin, kept in keys.env next to the configuration, and added to it')
    .option(...config)
    .addHelpText('after', example('waybill key new laptop --add'))
    .action(async (name, options) =>
      (await import('../gateway-keys.ts')).keyNew({ name, ...options, env, out: process.stdout }),
    )
  key
    .command('set')
    .description(
      'keep a key in keys.env next to the configuration, from stdin or from a question whose answer is not shown',
    )
    .argument('<variable>', 'its name, such as OPENAI_API_KEY; WAYBILL_KEY is your own key of the gateway')
    .option(...config)
    .addHelpText('after', example('pass show openai | waybill key set OPENAI_API_KEY'))
    .action(async (variable, options) =>
      (await import('../gateway-keys.ts')).keySet({ variable, ...options }),
    )
}

export const addDoctor: CommandEntry = (program, { env, config }) => {
  program
    .command('doctor')
    .description(
      'find problems in the configuration, the data directory and the running gateway; changes nothing',
    )
    .option(...config)
    .option(...GATEWAY_KEY)
    .option('--json', 'print JSON instead of lines')
    .addHelpText('after', example('waybill doctor --config waybill.yaml'))
    .action(async (options) => (await import('../doctor.ts')).doctor({ ...options, env }))
}

export const addSelfTest: CommandEntry = (program) => {
  program
    .command('self-test')
    .description(
      'test this installation: a gateway of its own is killed during a call to a mock, and its record is read',
    )
    .addHelpText('after', example('waybill self-test'))
    .action(async () => (await import('../self-test.ts')).selfTest())
}

export const addCompletion: CommandEntry = (program) => {
  program
    .command('completion')
    .description('print a script that lets a shell complete commands and options')
    .addArgument(new Argument('<shell>', 'which shell').choices(SHELLS))
    .addHelpText('after', example('waybill completion bash >> ~/.bashrc'))
    .action((shell) => void process.stdout.write(completion(program, shell)))
}
