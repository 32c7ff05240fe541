// `waybill mock`: runs mock providers on one port, until it is stopped.

import { DeviationError, type Deviations, listDeviations } from '../../mocks/scenarios/deviations.ts'
import { scenarios } from '../../mocks/scenarios/registry.ts'
import type { Chaos } from '../../mocks/server/chaos.ts'
import { createMockProviders, type MockProviders } from '../../mocks/server/create.ts'
import { ScriptError } from '../../mocks/server/script.ts'
import { table } from '../terminal/table.ts'
import { UsageError } from './output.ts'

interface MockCommand {
  readonly port: number
  readonly controlPort: number
  readonly host: string
  readonly pace: 'recorded' | 'none'
  readonly recordings?: string
  /** True to invent answers that the user's own recordings lack. */
  readonly invent?: boolean
  /** True to also answer from a recording if only the end of its request matches. */
  readonly similar?: boolean
  /** True to accept requests that the requested model would refuse. */
  readonly lenient?: boolean
  /** Errors, cut streams, delays and speed. */
  readonly chaos?: Chaos
  /** Names of deviations, or a seed. */
  readonly deviations?: Deviations
  readonly json?: boolean
  /** True to print only the scenarios. */
  readonly list?: boolean
}

/** Runs the mock providers. Resolves when they have stopped. Rejects if they cannot start. */
export async function mock({ json = false, list = false, ...options }: MockCommand): Promise<void> {
  if (list) {
    process.stdout.write(
      json ? `${JSON.stringify([...listed(), ...listedDeviations()], null, 2)}\n` : listTable(),
    )
    return
  }
  const running = await createMockProviders(options).catch((error: unknown) => {
    if (error instanceof DeviationError) throw new UsageError(`--deviations: ${error.message}`)
    throw error instanceof ScriptError ? new UsageError(`--chaos: ${error.message}`) : error
  })
  process.stdout.write(json ? `${JSON.stringify(told(running))}\n` : greeting(running))
  await new Promise<void>((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => resolve())
  })
  await running.close()
}

/** Returns the line that `--json` prints. */
const told = (running: MockProviders) => ({
  url: running.url,
  control_url: running.controlUrl,
  providers: Object.fromEntries(
    running.providers.map((name) => [name, { base_url: running.baseUrl(name), key: running.key(name) }]),
  ),
})

function greeting(running: MockProviders): string {
  const { url, controlUrl, providers } = running
  const width = Math.max(...providers.map((name) => running.baseUrl(name).length))
  return [
    `The mock listens on ${url}: no network, no cost; the keys are for tests only.`,
    '',
    ...providers.map((name) => `  ${running.baseUrl(name).padEnd(width)}  ${running.key(name)}`),
    '',
    'Ask for a scenario by the model id, for example scenario-tools (`waybill mock --list` lists them all).',
    'See what arrived:',
    `  curl -s ${controlUrl}/ledger`,
    '',
    '',
  ].join('\n')
}

const listed = () =>
  Object.entries(scenarios)
    .map(([name, { description, shape }]) => ({ name, origin: 'synthetic', description, shape }))
    .sort((a, b) => a.name.localeCompare(b.name))

const listedDeviations = () =>
  listDeviations().map(({ name, what, by }) => ({
    name: `deviation:${name}`,
    origin: 'synthetic',
    description: what,
    shape: `as sent by ${by.join(', ')}`,
  }))

const listTable = (): string =>
  table(
    [
      ...listed().map(({ name, description, shape }) => [name, `${description} (shape: ${shape})`]),
      [
        'deviation:NAME',
        `one of ${listDeviations().length} answers of real providers; --list --json lists them`,
      ],
    ],
    { columns: null, header: false },
  )
