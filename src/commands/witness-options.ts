// Address of a run's mock providers, as options of a command: they take precedence over the target file.
import { isLoopback, type Target, targetSchema } from '../../conformance/target/schema.ts'
import { complain } from './output.ts'
import { UsageError } from './usage-error.ts'

export interface WitnessOptions {
  readonly witnessHost?: string
  readonly witnessName?: string
  readonly witnessTls?: boolean
}

/** Returns the target with these options. Warns if other machines can reach the mock providers. */
export function withWitness(
  target: Target,
  { witnessHost, witnessName, witnessTls }: WitnessOptions,
): Target {
  const { data, error } = targetSchema.safeParse({
    ...target,
    ...(witnessHost !== undefined && { witness_host: witnessHost }),
    ...(witnessName !== undefined && { witness_name: witnessName }),
    ...(witnessTls && { witness_tls: true }),
  })
  if (data === undefined) {
    const { path, message } = error.issues[0]!
    const isOption = String(path[0]).startsWith('witness_')
    throw new UsageError(`${isOption ? '--' : ''}${path.join('.').replace('_', '-')}: ${message}`)
  }
  if (!isLoopback(data.witness_host))
    complain(
      `warning: the witness listens on ${data.witness_host}, so other machines may reach it: they can make calls, which cost nothing and reach no provider, but which a run attributes to the gateway; its ledger stays on 127.0.0.1`,
    )
  return data
}

/** Returns the options as they were written. */
export const written = ({ witnessHost, witnessName, witnessTls }: WitnessOptions): string[] => [
  ...(witnessHost === undefined ? [] : [`--witness-host ${witnessHost}`]),
  ...(witnessName === undefined ? [] : [`--witness-name ${witnessName}`]),
  ...(witnessTls ? ['--witness-tls'] : []),
]
