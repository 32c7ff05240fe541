// Tests the package as a stranger receives it: packs and lints it, installs it in an empty directory, starts
// it with only `npx waybill serve --replay`, calls it and stops it. Then repeats this with other versions of
// Node. Usage: `npm run release -- package [--nodes 20,22,24,latest] [--keep FILE]`, which leaves the tarball
// there. Needs a build.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

const { values } = parseArgs({
  options: { nodes: { type: 'string', default: '' }, keep: { type: 'string' } },
})
const root = join(import.meta.dirname, '../..')
const place = mkdtempSync(join(tmpdir(), 'waybill-package-'))
/** Environment of a stranger's shell, without the variables that the surrounding `npm run` added. */
const environment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(npm_|WAYBILL_|INIT_CWD|NODE_OPTIONS)/.test(name)),
)
const kB = (bytes: number) => `${(bytes / 1000).toFixed(0)} kB`
const told = (times: number[]): string => {
  const sorted = times.toSorted((a, b) => a - b).map(Math.round)
  return `median ${sorted[sorted.length >> 1]} ms, ${sorted[0]} to ${sorted.at(-1)} ms`
}
const say = (line: string) => process.stdout.write(`${line}\n`)

/** Runs a program of this project or of npm to its end; throws with its output if it fails. */
function run(cwd: string, command: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, env: environment, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}:\n${stdout}${stderr}`)
  return stdout
}

/** Returns the bytes of a directory. */
const sizeOf = (directory: string): number =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)

function pack(): string {
  const [packed] = JSON.parse(
    run(root, 'npm', 'pack', '--json', '--ignore-scripts', '--pack-destination', place),
  )
  const files: { path: string; size: number }[] = packed.files
  const parts = Map.groupBy(files, ({ path }) => /^dist\/types|^[^/]+/.exec(path)![0])
  const sizes = [...parts].map(([part, all]) => ({
    part,
    size: all.reduce((sum, { size }) => sum + size, 0),
  }))
  sizes.sort((a, b) => b.size - a.size)
  say(
    `${packed.filename}: ${kB(packed.size)} packed, ${kB(packed.unpackedSize)} unpacked, ${files.length} files`,
  )
  say(
    `  ${sizes
      .slice(0, 5)
      .map(({ part, size }) => `${part} ${kB(size)}`)
      .join(', ')}`,
  )
  const unwanted = files.filter(
    ({ path }) =>
      /\.test\.|-test\.|\.map$|^(src|mocks|scripts)\/.*\.tsx?$/.test(path) && !path.startsWith('examples/'),
  )
  assert.deepEqual(unwanted, [], 'no sources, tests or maps in the package')
  // Target files that work only in a clone of the repository.
  const lone = files.filter(({ path }) => /targets\/waybill\.(inproc|source)\.yaml$/.test(path))
  assert.deepEqual(lone, [], 'no target file that needs the repository')
  const naming = files.filter(({ path }) =>
    /waybill\.(inproc|source)\b/.test(readFileSync(join(root, path), 'utf8')),
  )
  assert.deepEqual(naming, [], 'nothing that names such a target file')
  return join(place, packed.filename)
}

/** Starts a gateway; resolves with its address and the time until it printed the address, ms. */
async function boot(cwd: string, command: string, ...args: string[]) {
  const start = performance.now()
  const child = spawn(command, [...args, 'serve', '--replay', '--port', '0'], {
    cwd,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true, // a separate group, because npx does not forward signals
  })
  let output = ''
  child.stderr.setEncoding('utf8').on('data', (text) => (output += text))
  for await (const text of child.stdout.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    output += text
    const url = /listens on (http:[^\s",]+)/.exec(output)?.[1]
    if (url) return { child, url, ms: performance.now() - start, output }
  }
  throw new Error(`it ended before it listened:\n${output}`)
}

/** Stops the gateway; resolves with its exit code. */
async function stop(child: ChildProcess): Promise<number | null> {
  const exit = once(child, 'exit')
  process.kill(-child.pid!, 'SIGTERM')
  const [code] = await exit
  return code
}

/** Makes a call, reads its record, and stops the gateway. */
async function smoke(cwd: string): Promise<number> {
  const { child, url, ms } = await boot(cwd, join(cwd, 'node_modules/.bin/waybill'))
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'auto', messages: [{ role: 'user', content: 'Where do you go?' }] }),
  })
  assert.equal(((await answer.json()) as { object: string }).object, 'chat.completion')
  const id = answer.headers.get('x-gateway-request-id')
  const record = (await (await fetch(`${url}/api/usage/request-logs/${id}`)).json()) as Record<
    string,
    unknown
  >
  assert.equal(record.resolved_provider, 'openai')
  assert.equal(await stop(child), 0, 'SIGTERM ends it with exit code 0')
  return ms
}

/** Installs the package into a directory, with a separate Node if a version is given. */
function install(tarball: string, node?: string): string {
  const cwd = join(place, `node-${node ?? 'here'}`)
  mkdirSync(cwd)
  const packages = node === undefined ? [tarball] : [tarball, `node@${node}`]
  run(cwd, 'npm', 'install', '--no-audit', '--no-fund', '--loglevel=error', ...packages)
  return cwd
}

try {
  const tarball = pack()
  run(root, 'publint', 'run', tarball, '--strict')
  run(root, 'attw', tarball, '--profile', 'esm-only')
  say('publint and attw: clean')

  const here = install(tarball)
  say(`installed: ${kB(sizeOf(join(here, 'node_modules')))}`)
  const { child, output, ms } = await boot(here, 'npx', '--no-install', 'waybill')
  await stop(child)
  assert.match(output, /^waybill: there is no waybill\.yaml, so this runs on the example configuration/m)
  const starts: number[] = []
  const empty: number[] = []
  for (let n = 0; n < 15; n++) {
    starts.push(await smoke(here)) // in turns, so that a busy machine slows down both
    const start = performance.now()
    run(here, 'node', '--eval', '0')
    empty.push(performance.now() - start)
  }
  say(`start to ready, 15 times: ${told(starts)}; an empty program: ${told(empty)}`)
  say(`start to ready through npx, once: ${ms.toFixed(0)} ms`)
  for (const entry of ['waybill', 'waybill/mocks'])
    run(here, 'node', '--input-type=module', '--eval', `await import('${entry}')`)

  for (const node of values.nodes.split(',').filter(Boolean)) {
    const cwd = install(tarball, node)
    const version = run(cwd, join(cwd, 'node_modules/.bin/node'), '--version').trim()
    if (Number.parseInt(version.slice(1), 10) < 22) {
      const { status, stderr } = spawnSync('npx', ['--no-install', 'waybill', 'serve', '--replay'], {
        cwd,
        env: environment,
        encoding: 'utf8',
      })
      assert.equal(status, 1)
      assert.match(stderr, /^waybill: Node \S+ is too old; [^\n]+$/m)
      say(`Node ${version}: refused in one line`)
    } else say(`Node ${version}: ready after ${(await smoke(cwd)).toFixed(0)} ms, answers, records, stops`)
    rmSync(cwd, { recursive: true }) // a Node takes more than 100 MB
  }
  if (values.keep !== undefined) copyFileSync(tarball, values.keep)
} finally {
  rmSync(place, { recursive: true, force: true })
}
