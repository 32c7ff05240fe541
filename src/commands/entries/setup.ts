// Entries for providers, the service, facts about models, and gateways that share a log.
import { type CommandEntry, commaList, example, GATEWAY_KEY } from './entry.ts'

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
