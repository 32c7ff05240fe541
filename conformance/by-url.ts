// The reference gateway as a user who already runs it has it: started beforehand, known by its address and one key.
import { reservePort } from './port.ts'
import { type Conformed, type ConformOptions, conform } from './run.ts'
import { type Started, start } from './start.ts'
import { valuesOf } from './witness-control.ts'

/** The environment variable that hands the key over. */
const KEY = 'WAYBILL_CONFORM_KEY'

/** Like `conform`, but the target is started here and only its address is handed on. */
export async function conformByUrl({ target, ...options }: ConformOptions): Promise<Conformed> {
  const { port, release } = await reservePort()
  const fixed = JSON.parse(JSON.stringify(target).replaceAll('{{port}}', String(port)))
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
        variants: {},
      },
      async onWitness(witness) {
        gateway = await start(fixed, { values: valuesOf(witness), variant: null })
        process.env[KEY] = gateway.running.keys.client!
      },
    })
  } finally {
    await (gateway as Started | null)?.dispose()
    await release()
  }
}
