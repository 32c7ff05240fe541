// The image under test and its engine, for the container tests. Everything except the mock uses the docker
// command, as a user would. Gateways run with the restrictions that the documentation advises. Independent of
// the tests.
import { execFile, spawnSync } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { writeNonce } from '../../mocks/ledger.ts'
import manifest from '../../package.json' with { type: 'json' }
import { MockContainer, type StartedMockContainer } from '../testcontainers/library.ts'
import { temporaryDirectory } from './test-gateway.ts'

/** WAYBILL_IMAGE, or the image that `npm run release -- image` builds. */
export const image = process.env.WAYBILL_IMAGE ?? `waybill:${manifest.version}`

/**
 * Reason why container tests are skipped here, or false. With WAYBILL_CONTAINERS=required they are never
 * skipped.
 */
export const noEngine = process.env.WAYBILL_CONTAINERS === 'required' ? false : reasonToSkip()

function reasonToSkip(): string | false {
  const { status, stderr, error } = spawnSync('docker', ['image', 'inspect', image], { encoding: 'utf8' })
  if (status === 0) return false
  return `no engine, or no image on it (npm run release -- image makes it): ${error?.message ?? stderr.trim()}`
}

const run = promisify(execFile)

/** Runs a docker command. Resolves with its output; rejects with its error output. */
export async function docker(...args: string[]): Promise<string> {
  const { stdout } = await run('docker', args, { encoding: 'utf8' })
  return stdout.trim()
}

/** Key that the gateways here accept. */
export const key = 'the-key-of-the-test'
const digest = createHash('sha256').update(key).digest('hex')
const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }

/** Options that prevent writes outside the volume, capabilities and additional privileges. */
const TIGHT = ['--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges']

/**
 * Returns the name of a new volume and network. Both are removed when the test ends, with every container on
 * that network.
 */
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

/**
 * Starts the mock in this network under the name `mock`. The mock is as slow as real providers, so that
 * events can happen meanwhile.
 */
export function startMock(place: string): Promise<StartedMockContainer> {
  return new MockContainer(image).withRecordedPace().withNetworkMode(place).withNetworkAliases('mock').start()
}

/** Starts a gateway in this network with this configuration. Resolves when it is ready. */
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

  /** Starts an idle container. Resolves when it is ready. */
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

  /** Makes a call with this session. The mock's ledger and scripts use the same nonce, 16 hex digits. */
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

  /** Reads a path and returns the answer. */
  async status(path: string): Promise<number> {
    return (await fetch(this.#url + path, { headers })).status
  }

  /** Returns all records, newest first. */
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

/** Retries until it succeeds, for at most a minute, because the machine may be busy. */
export async function eventually<T>(attempt: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + 240_000
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      if (Date.now() > deadline) throw error
      await sleep(50)
    }
  }
}
