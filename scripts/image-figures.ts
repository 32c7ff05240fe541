// What the image weighs and how soon it is ready, for docs/containers.md. Needs an engine and the image on it.
// Usage: image-figures [--starts 20]. Start and empty program take turns, because a busy machine slows both.
import { execFileSync } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import manifest from '../package.json' with { type: 'json' }

const { values } = parseArgs({ options: { starts: { type: 'string', default: '20' } } })
const image = process.env.WAYBILL_IMAGE ?? `waybill:${manifest.version}`
const docker = (...args: string[]) => execFileSync('docker', args, { encoding: 'utf8' }).trim()

/** Ms from `docker run` to the first good answer of /readyz. */
async function startToReady(): Promise<number> {
  const start = performance.now()
  const id = docker('run', '--detach', '--publish', '127.0.0.1::4949', image, 'serve', '--replay')
  try {
    const url = `http://${docker('port', id, '4949')}/readyz`
    while (!(await fetch(url).catch(() => null))?.ok) await sleep(5)
    return performance.now() - start
  } finally {
    docker('rm', '--force', '--volumes', id)
  }
}

/** Ms of `docker run` for a Node program that does nothing. */
function emptyProgram(): number {
  const start = performance.now()
  docker('run', '--rm', '--entrypoint', 'node', image, '--eval', '0')
  return performance.now() - start
}

const told = (times: number[]): string => {
  const sorted = times.toSorted((a, b) => a - b).map(Math.round)
  return `median ${sorted[sorted.length >> 1]} ms, ${sorted[0]} to ${sorted.at(-1)} ms`
}

const layers = docker(
  'history',
  '--no-trunc',
  '--human=false',
  '--format',
  '{{.Size}}\t{{.CreatedBy}}',
  image,
)
const [size] = layers
  .split('\n')
  .find((line) => /COPY \/out \//.test(line))!
  .split('\t')
process.stdout.write(`above the base: ${(Number(size) / 1e6).toFixed(1)} MB\n`)
const parts = `cd /app && du -sk recordings dist docs examples node_modules/* | sort -rn | head -n 8`
process.stdout.write(`${docker('run', '--rm', '--entrypoint', 'sh', image, '-c', parts)}  (kB)\n`)

const ready: number[] = []
const empty: number[] = []
for (let n = 0; n < Number(values.starts); n++) {
  ready.push(await startToReady())
  empty.push(emptyProgram())
}
process.stdout.write(`docker run to ready, ${ready.length} times: ${told(ready)}\n`)
process.stdout.write(`docker run of an empty program: ${told(empty)}\n`)
