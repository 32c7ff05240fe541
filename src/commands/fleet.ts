// `waybill fleet`: lists the gateways that share the log, and manages them. Talks only to the database, never
// to a running instance.
import { loadConfig } from '../config/load.ts'
import { forget, listInstances } from '../store/postgres/forget.ts'
import { type Link, openLink } from '../store/postgres/link.ts'
import {
  comingDays,
  createTables,
  lookAtSchema,
  makePartitions,
  SHARED_SCHEMA_VERSION,
} from '../store/postgres/schema.ts'
import { cleanLabel } from '../terminal/clean.ts'
import { print } from './output.ts'
import { UsageError } from './usage-error.ts'

export interface FleetCommand {
  readonly config: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Runs `work` with the shared log of a configuration. */
async function withLog(options: FleetCommand, work: (link: Link) => Promise<void>): Promise<void> {
  const { config, fleetUrl } = loadConfig(options.config, { env: options.env })
  if (!config.fleet || !fleetUrl)
    throw new UsageError(`${options.config} has no \`fleet\`, so there is no shared log`)
  const link = openLink({ url: fleetUrl, tls: config.fleet.tls, ca: config.fleet.ca }, 'command')
  try {
    await work(link)
  } catch (error) {
    throw error instanceof UsageError ? error : new Error(`the shared log: ${(error as Error).message}`)
  } finally {
    await link.close()
  }
}

export const fleetStatus = (options: FleetCommand): Promise<void> =>
  withLog(options, async (link) => {
    const { version, problem } = await lookAtSchema(link)
    if (problem !== null) throw new Error(`${problem}; \`waybill fleet migrate\` fixes that`)
    print(`shared log: schema ${version}`)
    const instances = await listInstances(link)
    const configs = new Set(instances.filter(({ alive }) => alive).map(({ config }) => config))
    for (const { id, name, alive, seen_at, version, backlog, open } of instances)
      print(
        `${alive ? 'alive' : 'gone '} ${cleanLabel(name)} (${id})  seen ${seen_at}  Waybill ${cleanLabel(version)}  ${backlog} calls not shipped, ${open} open`,
      )
    if (instances.length === 0) print('no gateway has joined yet')
    if (configs.size > 1) print(`the instances that are alive have ${configs.size} different configurations`)
  })

export const fleetMigrate = (options: FleetCommand): Promise<void> =>
  withLog(options, async (link) => {
    const before = await lookAtSchema(link)
    await createTables(link)
    await makePartitions(link, comingDays(Date.now()))
    const { version, problem } = await lookAtSchema(link)
    if (problem !== null) throw new Error(problem)
    print(
      before.problem === null
        ? `schema ${version}, as before`
        : `schema ${before.version} is now schema ${version} (this Waybill: ${SHARED_SCHEMA_VERSION})`,
    )
  })

/** `who`: id or name of an instance. */
export const fleetForget = (options: FleetCommand, who: string): Promise<void> =>
  withLog(options, async (link) => {
    const instances = await listInstances(link)
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
      const ended = await forget(link, instance, Date.now())
      print(
        `forgot ${cleanLabel(instance.name)} (${instance.id}): ${ended} open calls are interrupted, its leases were released`,
      )
    }
  })
