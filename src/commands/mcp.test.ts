// `waybill mcp` as an agent meets it: the protocol's own client, a child process, a gateway beside it.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { CLI, ENVIRONMENT } from '../test-cli.ts'
import { ask, testGateway } from '../test-gateway.ts'

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

test('every tool reads, none of them spends, and each says so', async (t) => {
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

test('a wrong argument, a model nobody knows, a gateway that is gone: an error in words, and it goes on', async (t) => {
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
