// Starts the mock of a run where its target can reach it: in this process, or in a container on the target's
// network. A container's control port can be reached from its own machine only, so requests go through a small
// program in the container, as lines of JSON in both directions.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import type { LedgerEntry, LedgerPage } from '../../mocks/ledger.ts'
import { certify } from '../../mocks/server/certificate.ts'
import { createMockProviders, type MockProviders } from '../../mocks/server/create.ts'
import type { ScriptedAnswer } from '../../mocks/server/script.ts'
import { secondKeyOf } from '../../mocks/server/secrets.ts'
import { clock, sleep } from '../../src/shared/clock.ts'
import { type Container, type Containers, openContainers, ownImage } from './containers.ts'
import { StartError } from './instance.ts'
import { atExit } from './local.ts'
import type { Target, Values } from './schema.ts'

/** Interface of the mock, in this process or over its control port. */
export interface MockControl {
  entries(since: number): Promise<readonly LedgerEntry[]>
  /** Returns the entry of the first request with the nonce; null if none came within `ms`. */
  seen(nonce: string, ms: number): Promise<LedgerEntry | null>
  script(nonce: string, answers: readonly ScriptedAnswer[]): Promise<void>
  release(gate: string): Promise<void>
  /** Opens or closes its providers' ports. */
  setReachable(reachable: boolean): Promise<void>
  /** Searches requests for this secret from now on. */
  watchFor(name: string, secret: string): Promise<void>
}

interface RunMock {
  readonly control: MockControl
  readonly values: Values
  /** Mock object; null if the mock runs in a container. */
  readonly here: MockProviders | null
  /** Creates containers for targets on the mock's network; null if they need none. */
  readonly containers: Containers | null
  close(): Promise<void>
}

/** Starts a mock that the target can reach. Rejects with StartError. */
export async function startMock(target: Target): Promise<RunMock> {
  const { start, sealed, mock_port: port } = target
  if (!('image' in start)) return startHere(target)
  const containers = await openContainers(sealed)
  try {
    const mock = await startMockContainer(containers, ownImage(), port)
    const close = async () => {
      await mock.close()
      await containers.close()
    }
    return { ...mock, here: null, containers, close }
  } catch (cause) {
    await containers.close()
    throw cause
  }
}

/** Starts the mock in this process. While it runs, its authority's certificate is in a file. */
async function startHere({
  mock_host: host,
  mock_name: name,
  mock_port: port,
  mock_tls,
}: Target): Promise<RunMock> {
  const tls = mock_tls ? certify([...new Set([name ?? host, host, 'localhost', '127.0.0.1', '::1'])]) : null
  const here = await createMockProviders({
    host,
    port,
    lenient: true,
    ...(name && { name }),
    ...(tls && { tls }),
  }).catch((cause: Error) => {
    throw new StartError(`the mock cannot start: ${cause.message}`, { cause })
  })
  const run = { control: controlOf(here), values: valuesOf(here), here, containers: null, close: here.close }
  if (tls === null) return run
  const directory = mkdtempSync(join(tmpdir(), 'waybill-mock-'))
  const remove = () => rmSync(directory, { recursive: true, force: true })
  const forget = atExit(remove)
  const ca = join(directory, 'ca.pem')
  writeFileSync(ca, tls.ca)
  return {
    ...run,
    values: { ...run.values, 'mock.ca': ca },
    async close() {
      await here.close()
      remove()
      forget()
    },
  }
}

export const controlOf = (mock: MockProviders): MockControl => ({
  entries: async (since) => mock.entries(since),
  seen: (nonce, ms) => mock.seen(nonce, ms).catch(() => null),
  script: async (nonce, answers) => mock.script(nonce, answers),
  release: async (gate) => mock.release(gate),
  setReachable: (reachable) => mock.setReachable(reachable),
  watchFor: async (name, secret) => mock.watchFor(name, secret),
})

/**
 * Returns `mock.openai.base_url`, `.root` (the same without /v1), `.key` and `.second_key` for every
 * provider, `mock.url`, and `mock.host`, its host and port.
 */
export function valuesOf(mock: Pick<MockProviders, 'url' | 'providers' | 'baseUrl' | 'key'>): Values {
  const values: Record<string, string> = { 'mock.url': mock.url, 'mock.host': new URL(mock.url).host }
  for (const provider of mock.providers) {
    values[`mock.${provider}.base_url`] = mock.baseUrl(provider)
    values[`mock.${provider}.root`] = mock.baseUrl(provider).replace(/\/v1$/, '')
    values[`mock.${provider}.key`] = mock.key(provider)
    values[`mock.${provider}.second_key`] = secondKeyOf(mock.key(provider))
  }
  return values
}

/** Name on the network, and the default port. */
const NAME = 'mock'
const PORT = 4950
const CONTROL_PORT = 4951

/** Maximum time until the mock listens, ms. */
const START_TIMEOUT_MS = 30_000

/** Interval between two reads of the ledger while waiting for a call, ms. */
const POLL_MS = 10

/** Maximum time during which an interrupted answer is read again, ms; no check takes longer. */
const SETTLED_MS = 180_000

/**
 * Program that forwards each line to the control port and answers with a line, in base64 because it contains
 * no line breaks.
 */
const RELAY = `
  import { createInterface } from 'node:readline'
  for await (const line of createInterface({ input: process.stdin })) {
    const { method, path, body } = JSON.parse(Buffer.from(line, 'base64'))
    const response = await fetch('http://127.0.0.1:${CONTROL_PORT}' + path, { method, body })
    const answer = { ok: response.ok, text: await response.text() }
    console.log(Buffer.from(JSON.stringify(answer)).toString('base64'))
  }`

/** Line in which the mock prints its providers. */
const TOLD = /^\{"url".*\}$/m

interface MockInContainer {
  readonly control: MockControl
  /** Addresses for other containers on the network. */
  readonly values: Values
  close(): Promise<void>
}

/** Starts the mock. `port` 0 is the default port. Rejects with StartError. */
async function startMockContainer(
  containers: Containers,
  image: string,
  port: number,
): Promise<MockInContainer> {
  const url = `http://${NAME}:${port || PORT}`
  const command = ['mock', '--host', '0.0.0.0', '--port', `${port || PORT}`, '--lenient']
  const container = await containers.create({
    image,
    command: [...command, '--control-port', `${CONTROL_PORT}`, '--json'],
    alias: NAME,
  })
  try {
    const providers = await providersOf(container, image)
    const control = controlThrough(await container.talk(['node', '--input-type=module', '--eval', RELAY]))
    const values = valuesOf({
      url,
      providers: Object.keys(providers),
      baseUrl: (name) => url + new URL(providers[name]!.base_url).pathname,
      key: (name) => providers[name]!.key,
    })
    return { control, values, close: () => container.remove() }
  } catch (cause) {
    await container.remove()
    throw cause
  }
}

/** Starts the container and waits until the mock prints its providers. */
async function providersOf(
  container: Container,
  image: string,
): Promise<Record<string, { base_url: string; key: string }>> {
  let printed = ''
  const { alive } = await container.start((text) => (printed += text))
  for (let waited = 0; waited < START_TIMEOUT_MS; waited += POLL_MS) {
    const told = TOLD.exec(printed)?.[0]
    if (told) return JSON.parse(told).providers
    if (!alive()) break
    await sleep(POLL_MS)
  }
  throw new StartError(
    `the mock did not start in a container of ${image}; it printed: ${printed.trim() || 'nothing'}`,
  )
}

/** Sends control requests through the relay. */
function controlThrough({ say, heard }: { say(line: string): void; heard: Readable }): MockControl {
  const waiting: ((answer: { ok: boolean; text: string }) => void)[] = [] // answered in order
  let gone = false
  createInterface({ input: heard })
    .on('line', (line) => waiting.shift()?.(unpacked(line)))
    .on('close', () => {
      gone = true
      for (const tell of waiting.splice(0)) tell({ ok: false, text: 'it is gone' })
    })
  const ask = async (method: string, path: string, body?: string): Promise<string> => {
    if (gone) throw new Error('the mock is gone')
    const answer = new Promise<{ ok: boolean; text: string }>((done) => waiting.push(done))
    say(packed({ method, path, body }))
    const { ok, text } = await answer
    if (!ok) throw new Error(`the mock refused ${method} ${path}: ${text}`)
    return text
  }

  // Skips entries that were transferred before and no longer change.
  let known: LedgerEntry[] = []
  const ledger = async (): Promise<LedgerEntry[]> => {
    const before = known // another read may be in progress
    const { entries, now }: LedgerPage = JSON.parse(
      await ask('GET', `/ledger?since=${before.at(-1)?.n ?? 0}`),
    )
    const open = entries.findIndex(
      ({ at, answer, peer_left_at }) =>
        !answer.complete && answer.cut_at === null && peer_left_at === null && now - at < SETTLED_MS,
    )
    const all = [...before, ...entries]
    const settled = before.length + (open < 0 ? entries.length : open)
    if (settled > known.length) known = all.slice(0, settled)
    return all
  }
  return {
    entries: async (since) => (await ledger()).filter(({ n }) => n > since),
    async seen(nonce, ms) {
      const deadline = clock.monotonic() + ms
      for (;;) {
        const entry = (await ledger()).find((one) => one.nonce === nonce)
        if (entry || clock.monotonic() >= deadline) return entry ?? null
        await sleep(POLL_MS)
      }
    },
    script: async (nonce, answers) => void (await ask('PUT', `/script/${nonce}`, JSON.stringify(answers))),
    setReachable: async (reachable) => void (await ask('PUT', '/reachable', JSON.stringify(reachable))),
    release: async (gate) => void (await ask('POST', `/release/${encodeURIComponent(gate)}`)),
    watchFor: async (name, secret) => void (await ask('PUT', `/canary/${encodeURIComponent(name)}`, secret)),
  }
}

const packed = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64')
const unpacked = (line: string) => JSON.parse(Buffer.from(line, 'base64').toString('utf8'))
