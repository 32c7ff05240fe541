// Reference gateway, tested like a gateway that a user runs: it is started before the run, and only its
// address and one key are known.

import { valuesOf } from '../launch/mock-control.ts'
import { reservePort } from '../launch/port.ts'
import { type Started, start } from '../launch/start.ts'
import { type Conformed, type ConformOptions, conform } from '../run.ts'

/** Environment variable that passes the key. */
const KEY = 'WAYBILL_CONFORM_KEY'

/** Runs `conform` on a target that is started here; passes only its address. */
export async function conformByUrl({ target, ...options }: ConformOptions): Promise<Conformed> {
  const { port, release } = await reservePort()
  const fixed = JSON.parse(JSON.stringify(target).replaceAll('{{port}}', String(port)))
  // The reference's short time-outs belong to a variant.
  const { time_outs: _, ...capabilities } = target.capabilities
  let gateway: Started | null = null
  try {
    return await conform({
      ...options,
      target: {
        ...target,
        start: { url: `http://127.0.0.1:${port}` },
        instances: 1,
        key_env: KEY,
        env: {},
        files: {},
        capabilities,
        variants: {},
      },
      async onMock(mock) {
        gateway = await start(fixed, { values: valuesOf(mock), variant: null })
        process.env[KEY] = gateway.running.keys.client!
      },
    })
  } finally {
    await (gateway as Started | null)?.dispose()
    await release()
  }
}
