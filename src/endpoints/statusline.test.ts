import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { ask, testGateway } from '../test/test-gateway.ts'

test('the status-line endpoint returns, as plain text, where the session’s calls went, and reaches no provider (LINE-03, LINE-04, DIAL-10)', async (t) => {
  const gateway = await testGateway(t)
  const line = async (query: string) => {
    const { status, headers, text } = await gateway.get(`/api/statusline?theme=none&${query}`)
    assert.deepEqual([status, headers.get('content-type')], [200, 'text/plain; charset=utf-8'])
    return text
  }
  assert.equal(await line('session_id=s&model=auto'), 'auto → ~alpha/model-a · priority\n')
  const { headers } = await gateway.chat(ask('auto'), { 'x-session-id': 's' })
  await gateway.chat(ask('alpha/other'), { 'x-session-id': 's' })
  await gateway.chat(ask('auto'), { 'x-session-id': 's', 'x-claude-code-agent-id': 'a' })
  await gateway.chat(ask('auto'), { 'x-session-id': 's', 'x-claude-code-session-id': 's' }) // a title request, because it has no tools
  const { latency_ms } = await gateway.record(headers.get('x-gateway-request-id'))
  const went = `auto → alpha/model-a · priority · ${Math.round(latency_ms)} ms\n`
  assert.equal(await line('session_id=s&model=auto'), went)
  assert.equal(await line('session_id=s&model=auto%5B1m%5D'), went)
  assert.equal(await line('session_id=s&model=auto&columns=12'), 'alpha/model…\n')
  assert.equal(
    await line('session_id=s&model=auto&segments=strategy,route'),
    'priority · auto → alpha/model-a\n',
  )
  assert.match(await line('session_id=s&model=auto&aged=1'), /\n.+ · \{________age_________\}\n\d{10}\n$/)
  assert.equal(await line('session_id=s&model=nowhere'), 'nowhere · the gateway does not know this model\n')
  assert.equal(await line(''), 'waybill\n')
  assert.equal(gateway.received(), 4)
  for (const query of [
    'columns=many',
    'segments=nonsense',
    'theme=pink',
    'aged=2',
    'link=javascript:x',
    'x=1',
  ])
    assert.equal((await gateway.get(`/api/statusline?${query}`)).status, 400, query)
})

test('the status line has a forecast even for a model that only the default provider of its dialect serves (LINE-03)', async (t) => {
  const gateway = await testGateway(t, {
    config: 'defaults: { messages: auto }\nroutes: { auto: { targets: [ { model: alpha/model-a } ] } }',
  })
  const line = async (model: string) =>
    (await gateway.get(`/api/statusline?theme=none&session_id=s&model=${model}`)).text
  assert.equal(await line('claude-unknown'), 'claude-unknown → ~alpha/model-a · priority\n')
  assert.equal(await line('gpt-unknown'), 'gpt-unknown · the gateway does not know this model\n')

  const resolve = async (more: string) =>
    (await gateway.get(`/api/cloud/model/resolve?model=claude-unknown${more}`)).status
  assert.deepEqual(
    [await resolve(''), await resolve('&dialect=messages'), await resolve('&dialect=chat')],
    [404, 200, 404],
  )
})

test('a key sees only its own sessions (KEEP-04)', async (t) => {
  const digest = (key: string) => createHash('sha256').update(key).digest('hex')
  const keys = ['ann', 'bob'].map(
    (name) => `{ name: ${name}, role: client, digest: "sha256:${digest(name)}" }`,
  )
  const gateway = await testGateway(t, {
    config: `routes: { auto: { targets: [ { model: alpha/model-a } ] } }\nkeys: [ ${keys.join(', ')} ]`,
  })
  await gateway.chat(ask('auto'), { 'x-session-id': 's', authorization: 'Bearer ann' })
  const agent = { 'x-claude-code-session-id': 's', 'x-claude-code-agent-id': 'a' }
  await gateway.chat(ask('auto'), { ...agent, authorization: 'Bearer ann' })
  const seen = async (key: string, query: string) => {
    const init = { headers: { authorization: `Bearer ${key}` } }
    return (await gateway.get(`/api/statusline?session_id=s&theme=none&segments=route&${query}`, init)).text
  }
  assert.equal(await seen('ann', 'model=auto'), 'auto → alpha/model-a\n')
  assert.equal(await seen('bob', 'model=auto'), 'auto → ~alpha/model-a\n')
  assert.equal(await seen('ann', 'agent_id=a&label=Tests'), 'Tests → alpha/model-a\n')
  assert.equal(await seen('bob', 'agent_id=a&label=Tests'), '\n')
  assert.equal(await seen('bob', 'agent_id=a&aged=1'), '\n\n0\n')
  assert.equal((await gateway.get('/api/statusline?session_id=s')).status, 401)
})
