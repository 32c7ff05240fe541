// Entries for gateways that share a log.
import { type CommandEntry, example } from './entry.ts'

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
