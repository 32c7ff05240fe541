// `waybill fleet`: lists and manages the gateways that share the log. Connects only to the database, never to
// a running instance.
import { loadConfig } from '../config/load.ts'
import { openSharedLog } from '../store/postgres/shared-log.ts'
import type { SharedLog } from '../store/shared-log.ts'
import { cleanLabel } from '../terminal/clean.ts'
import { print } from './output.ts'
import { UsageError } from './usage-error.ts'

interface FleetCommand {
  readonly config: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Runs `work` with the shared log of a configuration. */
async function withLog(options: FleetCommand, work: (log: SharedLog) => Promise<void>): Promise<void> {
  const { config, fleetUrl } = loadConfig(options.config, { env: options.env })
  if (!config.fleet || !fleetUrl)
    throw new UsageError(`${options.config} has no \`fleet\`, so there is no shared log`)
  const log = openSharedLog({ url: fleetUrl, tls: config.fleet.tls, ca: config.fleet.ca }, 'command')
  try {
    await work(log)
  } catch (error) {
    throw error instanceof UsageError ? error : new Error(`the shared log: ${(error as Error).message}`)
  } finally {
    await log.close()
  }
}

export const fleetStatus = (options: FleetCommand): Promise<void> =>
  withLog(options, async (log) => {
    const { version, problem } = await log.schema()
    if (problem !== null) throw new Error(`${problem}; \`waybill fleet migrate\` fixes that`)
    print(`shared log: schema ${version}`)
    const instances = await log.instances()
    const configs = new Set(instances.filter(({ alive }) => alive).map(({ config }) => config))
    for (const { id, name, alive, seen_at, version, backlog, open } of instances)
      print(
        `${alive ? 'alive' : 'gone '} ${cleanLabel(name)} (${id})  seen ${seen_at}  Waybill ${cleanLabel(version)}  ${backlog} calls not shipped, ${open} open`,
      )
    if (instances.length === 0) print('no gateway has joined yet')
    if (configs.size > 1) print(`the instances that are alive have ${configs.size} different configurations`)
  })

export const fleetMigrate = (options: FleetCommand): Promise<void> =>
  withLog(options, async (log) => {
    const before = await log.schema()
    const { version, problem } = await log.migrate()
    if (problem !== null) throw new Error(problem)
    await log.makeDays()
    print(
      before.problem === null
        ? `schema ${version}, as before`
        : `schema ${before.version} is now schema ${version}`,
    )
  })

/** Finds an instance. `who`: its id or name. */
export const fleetForget = (options: FleetCommand, who: string): Promise<void> =>
  withLog(options, async (log) => {
    const instances = await log.instances()
    const named = instances.filter(({ id, name }) => id === who || name === who)
    const gone = named.filter(({ alive }) => !alive)
    if (named.length === 0)
      throw new UsageError(
        `no instance is called ${JSON.stringify(who)}; \`waybill fleet status\` lists them`,
      )
    if (gone.length === 0)
      throw new UsageError(
        `${JSON.stringify(who)} is alive; stop it first, or name one that is gone by its id`,
      )
    for (const instance of gone) {
      const ended = await log.forget(instance)
      print(
        `forgot ${cleanLabel(instance.name)} (${instance.id}): ${ended} open calls are interrupted, its leases were released`,
      )
    }
  })
