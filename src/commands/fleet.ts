// `waybill fleet`: lists and manages the gateways that share the log. Connects only to the database, never to
// a running instance.
import { type Config, loadConfig } from '../config/load.ts'
import type { Finding } from '../core/findings.ts'
import { openSharedLog } from '../store/postgres/shared-log.ts'
import type { SharedLog } from '../store/shared-log.ts'
import { cleanLabel } from '../terminal/clean.ts'
import { print, UsageError } from './output.ts'

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

/** Returns the findings of `waybill doctor` about the log that several gateways share. Changes nothing. */
export async function fleetFindings(
  { url, tls, ca, days }: NonNullable<Config['fleet']>,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Finding[]> {
  const address = env[url.slice(1)]?.trim()
  if (!address) return [] // the missing variable has been reported already
  const log = openSharedLog({ url: address, tls, ca }, 'doctor')
  try {
    const { version, problem } = await log.schema()
    if (problem !== null)
      return [
        {
          verdict: version === 0 ? 'note' : 'BAD',
          text: `${problem}; \`waybill fleet migrate\` or the first start creates what is missing`,
        },
      ]
    const missing = await log.missingDays()
    // A day is dropped within two hours of its end.
    const old = await log.oldDays(days + 1)
    const instances = await log.instances()
    const gone = instances.filter(({ alive, open, backlog }) => !alive && open + backlog > 0)
    const configs = new Set(instances.filter(({ alive }) => alive).map(({ config }) => config))
    return [
      {
        verdict: 'ok',
        text: `the shared log answers (schema ${version}); ${instances.filter(({ alive }) => alive).length} of ${instances.length} gateways are alive`,
      },
      ...(missing.length > 0
        ? [
            {
              verdict: 'BAD' as const,
              text: `the shared log has no partition for calls of ${missing.join(', ')}; start a gateway whose database user owns the tables, or run \`waybill fleet migrate\``,
            },
          ]
        : []),
      ...(old.length > 0
        ? [
            {
              verdict: 'BAD' as const,
              text: `the shared log still has ${old.length} days older than ${days} days (from ${old[0]}); start a gateway whose database user owns the tables, and look at its Health`,
            },
          ]
        : []),
      ...(configs.size > 1
        ? [
            {
              verdict: 'note' as const,
              text: `the gateways that are alive have ${configs.size} different configurations`,
            },
          ]
        : []),
      ...gone.map(
        ({ name, seen_at, open }): Finding => ({
          verdict: 'note',
          text: `${cleanLabel(name)} was last seen ${seen_at} with ${open} open calls; start it again, or \`waybill fleet forget ${cleanLabel(name)}\` if it will not come back`,
        }),
      ),
    ]
  } catch (error) {
    return [{ verdict: 'BAD', text: `the shared log does not answer: ${(error as Error).message}` }]
  } finally {
    await log.close()
  }
}
