// Both sides of the gateway in the soak test: providers that sometimes fail and keep the ledger, and clients
// that call, abandon calls and read. Independent of processes; judges nothing.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Agent, request } from 'undici'
import { answer, fail, type Received, type Script, streamed } from '../../../mocks/test-upstream.ts'

interface Providers {
  readonly origin: string
  /** Nonce of a call -> `provider/model` of each of its inferences. */
  readonly ledger: ReadonlyMap<string, readonly string[]>
  close(): void
}

/**
 * Starts two providers at one address: `/alpha/v1` fails one call in ten, in several ways; `/beta/v1` never.
 */
export async function startProviders(): Promise<Providers> {
  const ledger = new Map<string, string[]>()
  let count = 0
  const moods: Script[] = [
    fail(500),
    fail(429, { 'retry-after': '0' }),
    (response) => void response.destroy(),
  ]
  const whole = answer('a plain answer of a few words')
  const parts = streamed('a ', 'streamed ', 'answer ', 'of ', 'a ', 'few ', 'words')
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString('utf8')
    const received: Received = {
      path: incoming.url!,
      headers: incoming.headers,
      text,
      json: JSON.parse(text),
    }
    const {
      prompt_cache_key: nonce,
      model,
      stream,
    } = received.json as { prompt_cache_key: string; model: string; stream?: boolean }
    const provider = incoming.url!.split('/')[1]!
    ledger.set(nonce, [...(ledger.get(nonce) ?? []), `${provider}/${model}`])
    const ill = provider === 'alpha' && ++count % 10 === 0
    const script = ill ? moods[(count / 10) % moods.length]! : stream ? parts : whole
    script(response, received)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ledger,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

const READS = [
  '/api/usage/request-logs?limit=50',
  '/api/usage/request-logs?status=error&limit=20',
  '/api/usage/logs?limit=50',
  '/api/usage/history?window=24h&by=provider',
  '/api/sessions?limit=20',
  '/api/analytics/auto-routing?window=24h',
  '/api/cloud/model/resolve?model=auto',
  '/v1/models',
  '/metrics',
  '/api/statusline?session_id=soak&model=auto',
]

interface Clients {
  /** Calls begun, calls abandoned, and reads. */
  readonly counts: { calls: number; reads: number; left: number }
  /**
   * Status or error instead of an answer -> count. One provider always works, so every call could be
   * answered.
   */
  readonly bad: ReadonlyMap<string, number>
  /** Makes one step of a client: usually a call, sometimes an abandoned call or a read. Never rejects. */
  step(): Promise<void>
  close(): Promise<void>
}

export function createClients(url: string): Clients {
  const dispatcher = new Agent({ connections: 256 })
  const counts = { calls: 0, reads: 0, left: 0 }
  const bad = new Map<string, number>()
  const note = (what: string) => bad.set(what, (bad.get(what) ?? 0) + 1)
  let n = 0

  async function read(): Promise<void> {
    const path = READS[counts.reads++ % READS.length]!
    const { statusCode, body } = await request(url + path, { dispatcher })
    await body.dump()
    if (statusCode !== 200) note(`read: ${statusCode} ${path}`)
  }
  async function call(nonce: number): Promise<void> {
    counts.calls++
    const stream = nonce % 3 === 0
    const leave = nonce % 31 === 0
    const body = {
      model: nonce % 2 ? 'auto' : 'alpha/direct',
      stream,
      prompt_cache_key: `soak-${nonce}`,
      messages: [{ role: 'user', content: 'x'.repeat(500) }],
    }
    const { statusCode, body: answer } = await request(`${url}/v1/chat/completions`, {
      dispatcher,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (leave) {
      counts.left++
      answer.on('error', () => {}).destroy()
      return
    }
    await answer.dump()
    if (statusCode >= 500 && body.model === 'auto') note(`call: ${statusCode}`)
  }
  return {
    counts,
    bad,
    async step() {
      n++
      try {
        await (n % 20 === 0 ? read() : call(n))
      } catch (error) {
        note((error as NodeJS.ErrnoException).code ?? (error as Error).message)
      }
    },
    close: () => dispatcher.destroy(),
  }
}
