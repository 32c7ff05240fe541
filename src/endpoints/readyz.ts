// Reports whether calls can be accepted, which requires a writable store. With an invalid configuration file, the
// gateway stays in service, because the previous configuration remains active. This answer reports the problem, and
// the process log has the errors. A temporarily unreadable record is handled in the same way, because calls do not
// read it.
import { z } from 'zod'
import { GatewayError } from '../core/errors.ts'
import type { ReadEndpoint } from '../http/endpoint.ts'
import type { ReadContext } from './context.ts'
import { noQuery } from './query.ts'

const response = z.strictObject({
  status: z.literal('ready'),
  configuration: z.strictObject({
    state: z
      .enum(['current', 'rejected'])
      .describe('rejected: the file is invalid, an earlier configuration is in force'),
    since: z.iso.datetime(),
  }),
  replay: z
    .boolean()
    .describe('Providers answer from recordings: calls cost nothing and count in no budget.'),
  keep_days: z
    .number()
    .nullable()
    .describe('Days for which calls are kept where it is asked for; null if the gateway cannot keep calls.'),
  reads: z
    .enum(['ready', 'restarting'])
    .describe('restarting: reads get 503, because the thread that answers them died and is being restarted'),
  fleet: z
    .strictObject({
      instance: z.string(),
      instances: z.int().nonnegative().describe('that are alive; 0 while the shared log is unavailable'),
      backlog: z.int().nonnegative().describe('calls that the shared log has not received yet'),
      shared_log: z
        .enum(['ready', 'unavailable'])
        .describe('unavailable: reads get 503, except those with scope=instance'),
    })
    .optional()
    .describe('One of several gateways that share a log.'),
})

export const readyz = {
  path: '/readyz',
  summary:
    'shows that calls can be recorded; also reports the state of the configuration, of replay and of reads',
  open: true,
  query: noQuery,
  response,
  answer(_query, _admitted, { storeFailure, readFailure, configuration, config, kept, replay, fleet }) {
    const failure = storeFailure()
    if (failure !== null)
      throw new GatewayError('log_unavailable', `The request log cannot be written: ${failure}.`)
    const { state, since } = configuration()
    const standing = fleet?.()
    return {
      status: 'ready',
      replay,
      configuration: { state, since: new Date(since).toISOString() },
      keep_days: kept && config.keep.days,
      reads: readFailure() === null ? 'ready' : 'restarting',
      ...(standing && {
        fleet: {
          instance: standing.instance,
          instances: standing.instances,
          backlog: standing.backlog,
          shared_log: standing.failure === null ? 'ready' : 'unavailable',
        },
      }),
    }
  },
} satisfies ReadEndpoint<ReadContext, typeof noQuery, typeof response>
