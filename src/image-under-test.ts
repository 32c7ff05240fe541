// The image under test and the engine to run it on, for the container tests; all through the docker command, as a
// user would. Knows no test.
import { spawnSync } from 'node:child_process'
import manifest from '../package.json' with { type: 'json' }

/** WAYBILL_IMAGE, or the one that `npm run image` makes. */
export const image = process.env.WAYBILL_IMAGE ?? `waybill:${manifest.version}`

/** Runs a docker command and returns what it printed. Throws with what it complained about. */
export function docker(...args: string[]): string {
  const { status, stdout, stderr, error } = spawnSync('docker', args, { encoding: 'utf8' })
  if (error || status !== 0) throw new Error(`docker ${args.join(' ')}: ${error?.message ?? stderr}`)
  return stdout.trim()
}

/** Why container tests are skipped here, false where they are not. With WAYBILL_CONTAINERS=required they never are. */
export const noEngine = process.env.WAYBILL_CONTAINERS === 'required' ? false : reasonToSkip()

function reasonToSkip(): string | false {
  try {
    docker('image', 'inspect', image)
    return false
  } catch (error) {
    return `no engine, or no image on it (npm run image makes it): ${(error as Error).message.trim()}`
  }
}
