// Helpers that the mock's tests share: a mock for one test, a chat request, and a client that shows raw
// bytes.
import { connect, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { createMockProviders, type MockOptions, type MockProviders } from './create.ts'

/** Starts a mock that is closed when the test ends and accepts invented model names. */
export async function mockFor(t: TestContext, options: MockOptions = {}): Promise<MockProviders> {
  const mock = await createMockProviders({ lenient: true, ...options })
  t.after(() => mock.close())
  return mock
}

/** A valid chat in OpenAI's dialect; the nonce, if any, is in the prompt. */
export const chatBody = (model: string, more: object = {}, prompt = 'Where to?') => ({
  model,
  messages: [{ role: 'user', content: prompt }],
  ...more,
})

export function ask(
  mock: MockProviders,
  body: unknown,
  { provider = 'openai', key = mock.key(provider), signal = null as AbortSignal | null } = {},
): Promise<Response> {
  return fetch(`${mock.baseUrl(provider)}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    signal,
  })
}

/** A connection on which a raw chat request was sent. */
export function askRaw(mock: MockProviders, body: object): Socket {
  const { port, pathname } = new URL(`${mock.baseUrl('openai')}/chat/completions`)
  const text = JSON.stringify(body)
  const socket = connect(Number(port), '127.0.0.1')
  socket.write(
    [
      `POST ${pathname} HTTP/1.1`,
      'host: mock',
      `authorization: Bearer ${mock.key('openai')}`,
      `content-length: ${Buffer.byteLength(text)}`,
      '',
      text,
    ].join('\r\n'),
  )
  return socket
}

/** Everything that arrives until the connection ends, and how it ended. */
export function drain(socket: Socket): Promise<{ bytes: Buffer; error: NodeJS.ErrnoException | null }> {
  const chunks: Buffer[] = []
  let error: NodeJS.ErrnoException | null = null
  socket.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', (each) => (error = each))
  return new Promise((done) => socket.on('close', () => done({ bytes: Buffer.concat(chunks), error })))
}
