// Helpers that the mock's tests share: a mock for one test, a chat request, and a client for raw bytes.
import { connect, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { createMockProviders, type MockOptions, type MockProviders } from './create.ts'

/** Starts a mock that accepts invented model names and is closed when the test ends. */
export async function mockFor(t: TestContext, options: MockOptions = {}): Promise<MockProviders> {
  const mock = await createMockProviders({ lenient: true, ...options })
  t.after(() => mock.close())
  return mock
}

/** Returns a valid chat request in OpenAI's dialect; the nonce, if any, is in the prompt. */
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

/** Opens a connection and sends a raw chat request. */
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

/** Reads everything until the connection ends; returns the bytes and the kind of end. */
export function drain(socket: Socket): Promise<{ bytes: Buffer; error: NodeJS.ErrnoException | null }> {
  const chunks: Buffer[] = []
  let error: NodeJS.ErrnoException | null = null
  socket.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', (each) => (error = each))
  return new Promise((done) => socket.on('close', () => done({ bytes: Buffer.concat(chunks), error })))
}
