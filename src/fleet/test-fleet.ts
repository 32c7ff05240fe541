import { after, before, type TestContext } from 'node:test'
import { type Link, openLink } from '../store/postgres/link.ts'
import { openSharedLog } from '../store/postgres/shared-log.ts'
import { type Setup, type TestGateway, testGateway } from '../test/test-gateway.ts'
import { NO_POSTGRES, startPostgres, type TestPostgres } from '../test/test-postgres.ts'

export const skip = NO_POSTGRES

interface FleetTests {
  readonly postgres: TestPostgres
  /** Creates a database and returns its address. The database has the tables, or no tables with `empty`. */
  freshDatabase(empty?: 'empty'): Promise<string>
}

/** Prepares a test file. Call it once, outside of any test. */
export function fleetTests(settings: Readonly<Record<string, string>> = {}): FleetTests {
  let postgres: TestPostgres
  let databases = 0
  if (!skip) {
    before(async () => {
      postgres = await startPostgres(settings)
      const log = openSharedLog({ url: await postgres.database('with_tables'), tls: 'verify' })
      await log.migrate()
      await log.makeDays()
      await log.close()
    })
    after(() => postgres.end())
  }
  return {
    get postgres() {
      return postgres
    },
    freshDatabase: (empty) => postgres.database(`fleet${++databases}`, empty ? undefined : 'with_tables'),
  }
}

export interface Instance
  extends Pick<Setup, 'data' | 'config' | 'providers' | 'options' | 'dialects' | 'env'> {
  readonly name?: string
  readonly durability?: string
  /** Additional members of `fleet`, as YAML. */
  readonly fleet?: string
}

export const AUTO = 'routes: { auto: { targets: [ { model: alpha/model-a, tier: balanced } ] } }'

export const instance = (
  t: TestContext,
  url: string,
  { name = 'one', durability = 'process', fleet = '', config = AUTO, ...setup }: Instance = {},
): Promise<TestGateway> =>
  testGateway(t, {
    ...setup,
    env: { FLEET_URL: url, ...setup.env },
    config: `durability: ${durability}\nfleet: { url: $FLEET_URL, instance: ${name}, ${fleet} }\n${config}`,
    options: { log: undefined!, ...setup.options, fleetUrl: url },
  })

export function openShared(t: TestContext, url: string): Link {
  const link = openLink({ url, tls: 'verify' }, 'look')
  t.after(() => link.close())
  return link
}

export const listed = async ({ get }: TestGateway, query = ''): Promise<string[]> =>
  (await get(`/api/usage/request-logs?limit=200${query}`)).json.data.map(({ id }: { id: string }) => id)
