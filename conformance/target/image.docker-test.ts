// Tests targets that are images on a real container engine: they are tested against the contract, isolated,
// and always removed afterwards.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { docker, eventually, image, noEngine } from '../../src/test/test-image.ts'
import { conform } from '../runner/run.ts'
import { openContainers } from './containers.ts'
import { StartError } from './instance.ts'
import { ownTargets, readTarget } from './read.ts'
import type { Target } from './schema.ts'

const reference = readTarget(join(ownTargets, 'waybill.image.yaml'))
const skip = { skip: noEngine }

/** Returns the networks of the suite's runs on this engine. */
const networks = async (): Promise<string[]> =>
  (await docker('network', 'ls', '--filter', 'label=waybill.conform', '--format', '{{.Name}}'))
    .split('\n')
    .filter(Boolean)

/** Returns the containers on these networks. */
const containersOf = async (runs: readonly string[]): Promise<string[]> => {
  const ids = runs.map((run) => docker('ps', '--all', '--quiet', '--filter', `label=waybill.conform=${run}`))
  return (await Promise.all(ids)).flatMap((lines) => lines.split('\n')).filter(Boolean)
}

test(
  'an image can be tested like a command, including kills, restarts, configuration changes and reads of its files (SUITE-02)',
  skip,
  async () => {
    const only = ['ROUTE-01', 'PURE-05', 'KEEP-06', 'LOG-08', 'LIFE-01', 'LIFE-05', 'LIFE-07']
    const before = await networks()
    const { results, evidence } = await conform({ target: reference, profile: 'waybill', only })
    const tried = results.verdicts.filter(({ id }) => only.includes(id))
    assert.deepEqual(
      tried.map(({ id, outcome, reason }) => [id, outcome, reason]),
      tried.map(({ id, reason }) => [id, 'pass', reason]),
    )
    assert.equal(tried.length, only.length)
    assert.equal(results.target.sealed, true)
    assert.ok(evidence.get('LIFE-01')!.ledger.length >= 18, 'the ledger came out of the container')
    assert.deepEqual(await networks(), before)
  },
)

test('an image without a sealed network is reached at a published port', skip, async () => {
  const only = ['ROUTE-01', 'FLOW-01', 'LIFE-02']
  const { results } = await conform({ target: { ...reference, sealed: false }, profile: 'waybill', only })
  assert.equal(results.counts.pass, only.length, JSON.stringify(results.verdicts))
})

test(
  'a sealed network is internal and publishes no port, but an ordinary network publishes one',
  skip,
  async () => {
    for (const sealed of [true, false]) {
      const before = await networks()
      const containers = await openContainers(sealed)
      const container = await containers.create({ image, command: ['mock'], port: 4950 })
      try {
        const network = (await networks()).find((name) => !before.includes(name))!
        const { origin } = await container.start(() => {})
        assert.match(origin!, sealed ? /^http:\/\/\d+\.\d+\.\d+\.\d+:4950$/ : /^http:\/\/[\w.]+:\d+$/)
        const internal = await docker('network', 'inspect', '--format', '{{.Internal}}', network)
        assert.equal(internal, String(sealed))
        const shown = ['--filter', `label=waybill.conform=${network}`, '--format', '{{.Ports}}']
        assert.match(await docker('ps', ...shown), sealed ? /^(4949\/tcp)?$/ : /:\d+->4950\/tcp/)
      } finally {
        await container.remove()
        await containers.close()
      }
      assert.deepEqual(await networks(), before)
    }
  },
)

const CASES: readonly [what: string, start: Target['start'], says: RegExp][] = [
  [
    'an image that is missing',
    { image: 'localhost:1/nothing:1', port: 4000 },
    /^cannot create a container of localhost:1\/nothing:1: [^\n]+; build it or pull it first$/,
  ],
  [
    'a program that is not in the image',
    { image, port: 4949, command: ['no-such-command'] },
    /^waybill ended before it was ready\. It printed: .*no-such-command/,
  ],
  [
    'a port without a listener',
    { image, port: 4000, command: ['mock'] },
    /^waybill is not ready after 1500 ms: GET http:\/\/[\d.]+:4000\/readyz: .*ECONNREFUSED/,
  ],
]
for (const [what, start, says] of CASES)
  test(`a failed start (${what}) is reported in one sentence and leaves nothing behind`, skip, async () => {
    const before = await networks()
    const target = { ...reference, start, ready: { ...reference.ready, timeout_ms: 1_500 } }
    await assert.rejects(conform({ target }), (thrown: Error) => {
      assert.ok(thrown instanceof StartError, thrown.stack)
      assert.match(thrown.message, says)
      return true
    })
    assert.deepEqual(await networks(), before)
  })

for (const signal of ['SIGINT', 'SIGKILL'] as const)
  test(`a run that ends with ${signal} leaves no container or network behind`, skip, async (t) => {
    const before = await networks()
    const child = run(t, 'conform', 'waybill.image')
    const began = await eventually(async () => {
      const ours = (await networks()).filter((name) => !before.includes(name))
      assert.ok((await containersOf(ours)).length >= 2, 'a mock and a target')
      return ours
    })
    child.kill(signal)
    await once(child, 'exit')
    await eventually(async () => {
      assert.deepEqual(await containersOf(began), [])
      assert.deepEqual(await networks(), before)
    })
  })

function run(t: TestContext, ...args: string[]) {
  const cli = fileURLToPath(new URL('../../src/cli.ts', import.meta.url))
  const child = spawn(process.execPath, ['--import', 'tsx', cli, ...args], { stdio: 'ignore' })
  t.after(() => child.kill('SIGKILL'))
  return child
}
