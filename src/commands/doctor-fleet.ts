// Findings of `waybill doctor` about the log that several gateways share. Changes nothing.
import type { Config } from '../config/load.ts'
import type { Finding } from '../core/findings.ts'
import { openSharedLog } from '../store/postgres/shared-log.ts'
import { cleanLabel } from '../terminal/clean.ts'

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
