// Entries for a gateway: running, preparing and checking it, its providers, the service, facts about models, and gateways
// that share a log.
import { Argument, Option } from 'commander'
import { PREFERENCES } from '../../config/presets.ts'
import { completion, SHELLS } from '../completion.ts'
import { configOrExample } from '../find-config.ts'
import { type CommandEntry, commaList, example, GATEWAY_KEY, GATEWAY_URL, portText } from './entry.ts'

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

export const addProvider: CommandEntry = (program, { env, config }) => {
  const provider = program.command('provider').description('add, list and test providers')
  provider
    .command('add')
    .description('add a provider to the configuration; the rest of the file stays as it is')
    .argument(
      '<provider>',
      'a preset such as openai, a local server such as ollama, an address, or NAME=ADDRESS',
    )
    .option(...config)
    .option(
      '--dialect <names>',
      'its dialects, such as openai or anthropic; default: from its list of models',
      commaList,
    )
    .option('--key-env <name>', 'variable of its key; default: NAME_API_KEY')
    .option('--stdin', 'read its key from stdin, and keep it in keys.env next to the configuration')
    .option('--command <words>', 'command that prints its key, such as "pass show openai"')
    .option('--model <ids>', 'models to begin with; default: from its list of models', commaList)
    .option('--route <id>', 'route that gets its first model as the last target; made if it does not exist')
    .option('--no-check', 'send nothing')
    .addHelpText('after', example('waybill provider add company=https://llm.example.org/v1 --route auto'))
    .action(async (word, options) =>
      (await import('../provider.ts')).addToConfig({ provider: word, ...options, env }),
    )
  provider
    .command('list')
    .description('list the providers of the configuration, and where their keys are; sends nothing')
    .option(...config)
    .option('--json', 'print JSON instead of a table')
    .addHelpText('after', example('waybill provider list'))
    .action(async (options) => (await import('../provider.ts')).listProviders({ ...options, env }))
  provider
    .command('test [providers...]')
    .description('request the lists of models, which tests address and key and costs nothing')
    .option(...config)
    .option('--live', 'make one short call to each provider instead, which is on record; prints its cost')
    .option('--model <id>', 'model of the call; default: the first that a route has')
    .option(...GATEWAY_KEY)
    .addHelpText('after', example('waybill provider test openai --live'))
    .action(async (providers, options) =>
      (await import('../provider.ts')).testProviders({ providers, ...options, env }),
    )
}

export const addService: CommandEntry = (program, { env, config, finish }) => {
  const service = program
    .command('service')
    .description('run the gateway as a service of this user (systemd or launchd)')
  service
    .command('install')
    .description('write the service and print it; it starts with your next login')
    .option(...config)
    .option('--print', 'only print it')
    .addHelpText('after', example('waybill service install'))
    .action(async (options) => (await import('../service.ts')).installService({ ...options, env }))
  service
    .command('uninstall')
    .description('stop the service and remove it')
    .addHelpText('after', example('waybill service uninstall'))
    .action(async () => (await import('../service.ts')).uninstallService({ config: config[2], env }))
  for (const [what, about] of [
    ['start', 'start the service'],
    ['stop', 'stop the service; open calls end first'],
    ['status', 'show if the service runs'],
    ['logs', 'show its newest log lines'],
  ] as const) {
    const command = service.command(what).description(about)
    if (what === 'logs') command.option('-f, --follow', 'print new lines as they come')
    command
      .addHelpText('after', example(`waybill service ${what}`))
      .action(async (options) =>
        finish(
          await (await import('../service.ts')).controlService(what, { ...options, config: config[2], env }),
        ),
      )
  }
}

export const addFleet: CommandEntry = (program, { env, config }) => {
  const fleet = program.command('fleet').description('the log that several gateways share')
  fleet
    .command('status')
    .description('list the gateways that share the log, with their state and their unsent records')
    .option(...config)
    .addHelpText('after', example('waybill fleet status'))
    .action(async (options) => (await import('../fleet.ts')).fleetStatus({ ...options, env }))
  fleet
    .command('migrate')
    .description('create or update the tables of the shared log')
    .option(...config)
    .addHelpText('after', example('waybill fleet migrate'))
    .action(async (options) => (await import('../fleet.ts')).fleetMigrate({ ...options, env }))
  fleet
    .command('forget <instance>')
    .description(
      'end the open calls of a gateway that will not come back, and release its part of the budgets',
    )
    .option(...config)
    .addHelpText('after', example('waybill fleet forget gateway-2'))
    .action(async (instance, options) =>
      (await import('../fleet.ts')).fleetForget({ ...options, env }, instance),
    )
}

export const addModels: CommandEntry = (program, { env, config }) => {
  const models = program.command('models').description('what is known of the configured models')
  models
    .command('list', { isDefault: true })
    .description('show the known facts about the configured models and their sources; calls no provider')
    .argument('[model]', 'provider/model; default: every model that the configuration names')
    .option('--json', 'print JSON instead of a table')
    .option(...config)
    .addHelpText('after', example('waybill models list openai/gpt-6-sol'))
    .action(async (model, options) => (await import('../models.ts')).printModels({ model, ...options, env }))
  models
    .command('prices')
    .description(
      'show the prices of the configured models, or of all models with FILTER in their name, with their sources and dates; calls no provider',
    )
    .argument('[filter]', 'part of provider/model, for all models of the configured providers')
    .option('--json', 'print JSON instead of a table')
    .option(...config)
    .addHelpText('after', example('waybill models prices gpt-6'))
    .action(async (filter, options) =>
      (await import('../models.ts')).printPrices({ filter, ...options, env }),
    )
  models
    .command('sync')
    .description(
      'request the lists of models from the providers, and write their facts into a file next to the configuration; causes no inference',
    )
    .argument('[provider...]', 'only these')
    .option(...config)
    .addHelpText('after', example('waybill models sync anthropic'))
    .action(async (providers, options) =>
      (await import('../models.ts')).syncModels({ providers, ...options, env }),
    )
  models
    .command('forget')
    .description('delete remembered refusals; a running gateway notices this within a second')
    .argument('[model]', 'a provider, or provider/model; default: everything')
    .option(...config)
    .addHelpText('after', example('waybill models forget openai/gpt-6-sol'))
    .action(async (model, options) => (await import('../models.ts')).forgetModels({ model, ...options, env }))
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
