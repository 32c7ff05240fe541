// Where the witness of a run listens, as options of a command: they take precedence over the target file.
import { isLoopback, type Target, targetSchema } from '../../conformance/target.ts'
import { complain } from './output.ts'
import { UsageError } from './usage-error.ts'

export interface WitnessOptions {
  readonly witnessHost?: string
  readonly witnessName?: string
  readonly witnessTls?: boolean
}

/** The target with these options. Says what it means where others than this machine reach the witness. */
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

/** The options again, as they were written. */
export const written = ({ witnessHost, witnessName, witnessTls }: WitnessOptions): string[] => [
  ...(witnessHost === undefined ? [] : [`--witness-host ${witnessHost}`]),
  ...(witnessName === undefined ? [] : [`--witness-name ${witnessName}`]),
  ...(witnessTls ? ['--witness-tls'] : []),
]
