// Entries for facts about models.
import { type CommandEntry, example } from './entry.ts'

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
      (await import('../model-prices.ts')).printPrices({ filter, ...options, env }),
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
