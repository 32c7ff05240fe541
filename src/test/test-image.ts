// The image under test and the engine to run it on, for the container tests; all through the docker command, as a
// user would, but for the mock. Gateways run as tightly as the documentation advises. Knows no test.
import { execFile, spawnSync } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { writeNonce } from '../../mocks/ledger.ts'
import manifest from '../../package.json' with { type: 'json' }
import { MockContainer, type StartedMockContainer } from '../testcontainers/mock-container.ts'
import { temporaryDirectory } from './test-gateway.ts'

/** WAYBILL_IMAGE, or the one that `npm run release -- image` makes. */
export const image = process.env.WAYBILL_IMAGE ?? `waybill:${manifest.version}`

/** Why container tests are skipped here, false where they are not. With WAYBILL_CONTAINERS=required they never are. */
export const noEngine = process.env.WAYBILL_CONTAINERS === 'required' ? false : reasonToSkip()

function reasonToSkip(): string | false {
  const { status, stderr, error } = spawnSync('docker', ['image', 'inspect', image], { encoding: 'utf8' })
  if (status === 0) return false
  return `no engine, or no image on it (npm run release -- image makes it): ${error?.message ?? stderr.trim()}`
}

const run = promisify(execFile)

/** Runs a docker command and resolves with what it printed. Rejects with what it complained about. */
export async function docker(...args: string[]): Promise<string> {
  const { stdout } = await run('docker', args, { encoding: 'utf8' })
  return stdout.trim()
}

/** The key that gateways here take. */
export const key = 'the-key-of-the-test'
const digest = createHash('sha256').update(key).digest('hex')
const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }

/** No way to write outside the volume, no capability, no way to more rights. */
const TIGHT = ['--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges']

/** The name of a volume and of a network; both go when the test ends, with every container on that network. */
export async function networkAndVolume(t: TestContext): Promise<string> {
  const name = `waybill-test-${randomUUID().slice(0, 8)}`
  t.after(async () => {
    const left = await docker('ps', '--all', '--quiet', '--filter', `network=${name}`)
    if (left) await docker('rm', '--force', '--volumes', ...left.split('\n'))
    await docker('network', 'rm', name)
    await docker('volume', 'rm', name)
  })
  await docker('network', 'create', name)
  await docker('volume', 'create', name)
  return name
}

/** The mock there, under the name `mock`; as slow as providers are, so that something can happen meanwhile. */
export function startMock(place: string): Promise<StartedMockContainer> {
  return new MockContainer(image).withRecordedPace().withNetworkMode(place).withNetworkAliases('mock').start()
}

/** A gateway in this place with this configuration, ready. */
export async function startGateway(
  t: TestContext,
  {
    place,
    config,
    volume = place,
    env = {},
  }: { place: string; config?: string; volume?: string; env?: Readonly<Record<string, string>> },
  ...command: string[]
): Promise<GatewayContainer> {
  const id = await docker(
    ...[
      'create',
      ...TIGHT,
      '--volume',
      `${volume}:/data`,
      '--network',
      place,
      '--publish',
      '127.0.0.1::4949',
    ],
    ...[
      '--env',
      `WAYBILL_KEY_DIGESTS=test:admin=sha256:${digest}`,
      '--env',
      'OPENAI_API_KEY=sk-mock-key-of-openai',
    ],
    ...Object.entries(env).flatMap(([name, value]) => ['--env', `${name}=${value}`]),
    ...[image, ...command],
  )
  if (config !== undefined) {
    const file = join(temporaryDirectory(t), 'waybill.yaml')
    writeFileSync(file, config)
    await docker('cp', file, `${id}:/data/waybill.yaml`)
  }
  const gateway = new GatewayContainer(id)
  await gateway.start()
  return gateway
}

export class GatewayContainer {
  readonly id: string
  #url = ''

  constructor(id: string) {
    this.id = id
  }

  /** Starts a container that stands still, and resolves when it is ready. */
  async start(): Promise<void> {
    await docker('start', this.id)
    await this.ready()
  }

  async ready(): Promise<void> {
    this.#url = `http://${await docker('port', this.id, '4949')}` // another one after each start
    await eventually(
      async () => (await fetch(`${this.#url}/readyz`)).ok || Promise.reject(new Error('not ready')),
    )
  }

  /** A call of this session, which the mock's ledger and scripts know by the same nonce, 16 hex digits. */
  ask(nonce: string, more: object = {}): Promise<Response> {
    return fetch(`${this.#url}/v1/chat/completions`, {
      method: 'POST',
      headers: { ...headers, 'x-gateway-session-id': nonce },
      body: JSON.stringify({
        model: 'auto',
        messages: [{ role: 'user', content: writeNonce(nonce) }],
        ...more,
      }),
    })
  }

  /** How a read is answered. */
  async status(path: string): Promise<number> {
    return (await fetch(this.#url + path, { headers })).status
  }

  /** All records, newest first. */
  async records(): Promise<any[]> {
    const records: any[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page = `limit=200${cursor && `&cursor=${cursor}`}`
      const list: any = await (await fetch(`${this.#url}/api/usage/request-logs?${page}`, { headers })).json()
      records.push(...list.data)
      cursor = list.next_cursor
    }
    return records
  }
}

/** Tries again until it succeeds, for at most a minute; a minute, because the machine may be busy. */
export async function eventually<T>(attempt: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + 60_000
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      if (Date.now() > deadline) throw error
      await sleep(50)
    }
  }
}
