// `waybill mcp` as an agent uses it: the protocol's own client, a child process, and a running gateway.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { CLI, ENVIRONMENT, startCli } from '../test/test-cli.ts'
import { ask, testGateway } from '../test/test-gateway.ts'

async function connected(t: TestContext, url: string) {
  const client = new Client({ name: 'test', version: '1' })
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [CLI, 'mcp', '--url', url],
    env: ENVIRONMENT,
  })
  await client.connect(transport)
  t.after(() => client.close())
  return {
    client,
    async call(name: string, args: Record<string, unknown> = {}) {
      const { content, isError = false } = await client.callTool({ name, arguments: args })
      const [{ text }] = content as [{ text: string }]
      return { isError, text, json: isError ? null : JSON.parse(text) }
    },
  }
}

test('every MCP tool only reads, is marked as read-only, and spends nothing', async (t) => {
  const gateway = await testGateway(t)
  const id = (await gateway.chat(ask('auto'))).headers.get('x-gateway-request-id')
  const spent = gateway.received()
  const { client, call } = await connected(t, gateway.url)
  const { tools } = await client.listTools()
  assert.deepEqual(
    tools.map(({ name }) => name),
    ['spend', 'calls', 'call', 'routes', 'resolve'],
  )
  assert.ok(tools.every(({ annotations }) => annotations?.readOnlyHint))
  assert.equal((await call('spend', { by: 'model' })).json.totals.calls, 1)
  assert.equal((await call('calls')).json.data[0].id, id)
  assert.deepEqual((await call('calls', { session_id: 'none' })).json.data, [])
  assert.equal((await call('call', { id })).json.attempt_log.length, 1)
  assert.ok((await call('routes')).json.data.some((each: { id: string }) => each.id === 'auto'))
  assert.equal((await call('resolve', { model: 'auto' })).json.candidates[0].provider, 'alpha')
  assert.equal(gateway.received(), spent)
})

test('every request is answered even if stdin closes immediately after the last request', async (t) => {
  const { url } = await testGateway(t)
  const { child, ended } = startCli(['mcp', '--url', url])
  const ask = (id: number, method: string, params: object) =>
    `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`
  const client = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } }
  const tools = ['spend', 'calls', 'routes', 'spend', 'calls', 'routes']
  child.stdin.end(
    [
      ask(0, 'initialize', client),
      ...tools.map((name, n) => ask(n + 1, 'tools/call', { name, arguments: {} })),
      ask(7, 'tools/list', {}),
    ].join(''),
  )
  const { code, stdout } = await ended
  assert.equal(code, 0)
  const answers = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.deepEqual(answers.map(({ id }) => id).toSorted(), [0, 1, 2, 3, 4, 5, 6, 7])
  assert.ok(answers.every(({ result }) => result && !result.isError))
})

test('a wrong argument, an unknown model or a missing gateway causes a clear error, and the server keeps running', async (t) => {
  const gateway = await testGateway(t)
  const { call } = await connected(t, gateway.url)
  assert.match((await call('spend', { window: '1y' })).text, /window/)
  const unknown = await call('resolve', { model: 'nothing' })
  assert.equal(unknown.isError, true)
  assert.match(unknown.text, /^the gateway at \S+ answered 404: /)
  const gone = await connected(t, 'http://127.0.0.1:9')
  assert.match((await gone.call('routes')).text, /^no gateway answers at /)
  assert.equal((await call('routes')).isError, false)
})

test('an endless message is refused with a one-line error, and the server exits', async (t) => {
  const child = spawn(process.execPath, [CLI, 'mcp', '--url', 'http://127.0.0.1:9'], { env: ENVIRONMENT })
  t.after(() => child.kill('SIGKILL'))
  let said = ''
  child.stderr.on('data', (chunk) => {
    said += chunk
  })
  child.stdin.on('error', () => {}) // the server stops reading
  for (let sent = 0; sent < 20; sent++) child.stdin.write('x'.repeat(2 ** 20))
  const [code] = await once(child, 'close')
  assert.equal(code, 1)
  assert.match(said, /^waybill: a message on stdin is longer than 10 MiB; .*\n$/)
})
