// Address of a run's mock providers, as options of a command. These options take precedence over the target
// file.
import { isLoopback, type Target, targetSchema } from '../../conformance/target/schema.ts'
import { complain, UsageError } from './output.ts'

export interface MockAddress {
  readonly mockHost?: string
  readonly mockName?: string
  readonly mockTls?: boolean
}

/** Returns the target with these options. Warns if other machines can reach the mock providers. */
export function withMock(target: Target, { mockHost, mockName, mockTls }: MockAddress): Target {
  const { data, error } = targetSchema.safeParse({
    ...target,
    ...(mockHost !== undefined && { mock_host: mockHost }),
    ...(mockName !== undefined && { mock_name: mockName }),
    ...(mockTls && { mock_tls: true }),
  })
  if (data === undefined) {
    const { path, message } = error.issues[0]!
    const isOption = String(path[0]).startsWith('mock_')
    throw new UsageError(`${isOption ? '--' : ''}${path.join('.').replace('_', '-')}: ${message}`)
  }
  if (!isLoopback(data.mock_host))
    complain(
      `warning: the mock listens on ${data.mock_host}, so other machines may reach it: they can make calls, which cost nothing and reach no provider, but which a run attributes to the gateway; its ledger stays on 127.0.0.1`,
    )
  return data
}

/** Returns the options as the user wrote them. */
export const written = ({ mockHost, mockName, mockTls }: MockAddress): string[] => [
  ...(mockHost === undefined ? [] : [`--mock-host ${mockHost}`]),
  ...(mockName === undefined ? [] : [`--mock-name ${mockName}`]),
  ...(mockTls ? ['--mock-tls'] : []),
]
