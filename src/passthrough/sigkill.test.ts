// A gateway is killed after the provider's answer about a new object is on record, and before the client has read it.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { startServer } from '../test/test-cli.ts'
import { temporaryDirectory } from '../test/test-gateway.ts'
import { until } from '../test/test-until.ts'

/** Requests that make an object: path, more headers, and the answer's object. */
const MAKING = [
  ['POST', '/v1/files', '', { id: 'file-abcdef1' }],
  ['POST', '/v1/files', 'anthropic-version: 2023-06-01\r\n', { id: 'file_abcdef2' }],
  ['POST', '/upload/v1beta/files?uploadType=multipart', '', { file: { name: 'files/abcdef3' } }],
  ['POST', '/upload/v1beta/files?uploadType=resumable', '', {}],
  ['POST', '/v1/batches', '', { id: 'batch_abcdef4', status: 'validating' }],
  ['POST', '/v1/messages/batches', '', { id: 'msgbatch_abcdef5', processing_status: 'in_progress' }],
] as const

/** More than the buffers of a connection hold. */
const UNREAD = ' '.repeat(7 * 2 ** 20)

async function startProvider(t: TestContext): Promise<string> {
  const server = createServer(async (request, response) => {
    request.resume()
    await once(request, 'end')
    if (request.method === 'GET') return response.end('{}')
    const isAnthropics = request.url === '/v1/files' && 'anthropic-version' in request.headers
    const [, , , made] = MAKING.find(
      ([, path, headers]) => request.url === path && (headers !== '') === isAnthropics,
    )!
    const address = request.url!.includes('resumable') && {
      'x-goog-upload-url': 'http://provider/upload/v1beta/files?upload_id=abcdef6',
    }
    response.writeHead(200, { 'content-type': 'application/json', ...address })
    response.end(JSON.stringify(made) + UNREAD)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('after SIGKILL, the next start closes the calls that made a file, and a batch stays an open call (PASS-01, PASS-04)', async (t) => {
  const directory = temporaryDirectory(t)
  const origin = await startProvider(t)
  const file = join(directory, 'waybill.yaml')
  writeFileSync(
    file,
    `server: { port: 0 }
data: ${join(directory, 'data')}
providers:
  one: { dialect: openai, base_url: "${origin}/v1", key: $KEY }
  two: { dialect: messages, base_url: "${origin}", key: $KEY }
  three: { dialect: gemini, base_url: "${origin}", key: $KEY }
passthrough: [files, batches]`,
  )
  const options = { env: { KEY: 'sk-of-the-operator' } }
  const { url, child } = await startServer(t, ['serve', '--config', file], options)
  for (const [method, path, headers] of MAKING) {
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.on('error', () => {}).pause()
    const body = '{"input_file_id":"file-abcdef1"}'
    socket.write(
      `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}Content-Length: ${body.length}\r\n\r\n${body}`,
    )
    t.after(() => socket.destroy())
  }
  const calls = async (at: string): Promise<any[]> =>
    ((await (await fetch(`${at}/api/usage/request-logs?limit=50`)).json()) as any).data
  await until('every object is on record', async () => {
    const all = await calls(url)
    const made = all.filter(({ objects }) => objects?.length > 0)
    return made.length === MAKING.length
  })
  child.kill('SIGKILL')
  await once(child, 'close')
  const again = await startServer(t, ['serve', '--config', file], options)
  const ends = (await calls(again.url)).map(({ endpoint, state, completed_at }) => [
    endpoint,
    completed_at === null ? 'open' : state,
  ])
  assert.deepEqual(ends.toSorted(), [
    ['/upload/v1beta/files', 'interrupted'],
    ['/upload/v1beta/files', 'interrupted'],
    ['/v1/batches', 'open'],
    ['/v1/files', 'interrupted'],
    ['/v1/files', 'interrupted'],
    ['/v1/messages/batches', 'open'],
  ])
  const kept = await fetch(`${again.url}/v1/files/file-abcdef1`)
  assert.equal(kept.headers.get('x-gateway-provider'), 'one', 'the object still belongs to its call')
})
