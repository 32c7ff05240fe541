// Two gateways from the Waybill image and a PostgreSQL from its own image, on one network. The mock is their
// provider.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  docker,
  eventually,
  type GatewayContainer,
  networkAndVolume,
  noEngine,
  startGateway,
  startMock,
} from '../test/test-image.ts'

/**
 * Name of the PostgreSQL image. `scripts/release/postgres-image.sh` prints the name, and builds the image if
 * it cannot be pulled.
 */
const postgresImage = process.env.WAYBILL_POSTGRES_IMAGE
const skip =
  noEngine ||
  (postgresImage || process.env.WAYBILL_CONTAINERS === 'required'
    ? false
    : 'WAYBILL_POSTGRES_IMAGE names no image of PostgreSQL; scripts/release/postgres-image.sh prints the name of one')

const CONFIG = `
durability: full
fleet: { url: $WAYBILL_FLEET_URL, tls: off }
providers: { openai: { dialect: openai, base_url: "http://mock:4950/openai/v1", key: $OPENAI_API_KEY } }
routes: { auto: { targets: [ { model: openai/gpt-5-mini } ] } }
`

test('two containers in a fleet share one record, even through an outage and the loss of a gateway (FLEET-01, FLEET-03, FLEET-06)', {
  skip,
}, async (t) => {
  assert.ok(postgresImage, 'WAYBILL_POSTGRES_IMAGE is not set')
  const place = await networkAndVolume(t)
  const password = 'pass-word-of-the-test'
  const variables = ['POSTGRES_USER=waybill', `POSTGRES_PASSWORD=${password}`].flatMap((each) => [
    '--env',
    each,
  ])
  const postgres = await docker(
    ...[
      'run',
      '--detach',
      '--stop-signal',
      'SIGINT',
      '--network',
      place,
      '--network-alias',
      'postgres',
      ...variables,
      postgresImage,
    ],
  )
  const mock = await startMock(place)
  const start = async (name: string) => {
    const volume = `${place}-${name}`
    t.after(() => docker('volume', 'rm', volume))
    await docker('volume', 'create', volume)
    const env = {
      WAYBILL_FLEET_URL: `postgresql://waybill:${password}@postgres/waybill`,
      WAYBILL_INSTANCE: name,
    }
    return startGateway(t, { place, volume, config: CONFIG, env })
  }
  const [one, two] = [await start('one'), await start('two')]
  let made = 0
  const ask = async (gateway: GatewayContainer) => {
    const response = await gateway.ask((++made).toString(16).padStart(16, '0'))
    await response.text()
    assert.equal(response.status, 200)
  }
  const allThere = (gateway: GatewayContainer) =>
    eventually(async () => {
      const records = await gateway.records()
      assert.deepEqual(
        records.map(({ state, session_id }) => [state, Number.parseInt(session_id, 16)]),
        Array.from({ length: made }, (_, n) => ['completed', made - n]),
      )
    })

  for (const gateway of [one, two, one]) await ask(gateway)
  for (const gateway of [one, two]) await allThere(gateway)

  await docker('stop', postgres)
  for (const gateway of [one, two]) await ask(gateway)
  assert.equal(await one.status('/api/usage/request-logs'), 503)
  assert.equal(await one.status('/api/usage/request-logs?scope=instance'), 200)
  await docker('start', postgres)
  for (const gateway of [one, two]) await allThere(gateway)

  await docker('rm', '--force', two.id)
  await allThere(one)
  const { entries } = await mock.ledger()
  assert.equal(entries.filter(({ kind }) => kind === 'inference').length, made)
  assert.doesNotMatch(await docker('logs', one.id), new RegExp(password))
})
