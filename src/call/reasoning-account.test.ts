// Sealed reasoning, which only the account that produced it can read. The conversation stays with this account while
// possible. Losses at another account are named.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startMockServer } from '../../mocks/test-upstream.ts'
import { parseConfig } from '../config/load.ts'
import { createGateway } from '../gateway/create-gateway.ts'
import { temporaryDirectory } from '../test/test-gateway.ts'

const THINKING = [
  { role: 'user', content: 'Where to?' },
  {
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: 'Hm.', signature: 'c2lnbmVk' },
      { type: 'text', text: 'North.' },
    ],
  },
  { role: 'user', content: 'And then?' },
]

const TOOLS = [{ name: 'weather', input_schema: { type: 'object' } }]

/** Starts two accounts at one address, used in turn. The accounts in `busy` answer 529. */
async function start(t: TestContext, model: string, family = '') {
  const busy = new Set<string>()
  const mock = await startMockServer((response, { headers }) => {
    const key = String(headers['x-api-key'])
    response.writeHead(busy.has(key) ? 529 : 200, { 'content-type': 'application/json' })
    const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }
    const message = {
      ...{ id: 'm', type: 'message', role: 'assistant', model, stop_reason: 'end_turn' },
      ...{ content: [{ type: 'text', text: key }], usage: { input_tokens: 5, output_tokens: 2 } },
    }
    response.end(JSON.stringify(busy.has(key) ? error : message))
  })
  const provider = (key: string) =>
    `{ dialect: messages, base_url: "${mock.baseUrl}", key: $${key}${family && `, family: ${family}`} }`
  const gateway = await createGateway(
    parseConfig(
      `server: { port: 0 }
data: ${temporaryDirectory(t)}
providers: { one: ${provider('ONE')}, two: ${provider('TWO')} }
routes: { auto: { strategy: round-robin, targets: [ { model: one/${model} }, { model: two/${model} } ] } }
resilience: { retries: 0, cooldown: 1m }`,
      'w.yaml',
      { env: { ONE: 'one', TWO: 'two' } },
    ),
  )
  t.after(async () => {
    await gateway.close(100)
    await mock.close()
  })
  const ask = async (session: string, messages: unknown) => {
    const response = await fetch(`${gateway.url}/v1/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-claude-code-session-id': session },
      // A call without tools would count as a background task.
      body: JSON.stringify({ model: 'auto', max_tokens: 50, messages, tools: TOOLS }),
    })
    const { content } = (await response.json()) as { content: { text: string }[] }
    return { account: content[0]!.text, lost: response.headers.get('x-gateway-lossy') }
  }
  return { ask, busy }
}

/** Returns the accounts that answer the turns of a conversation. */
async function accounts(ask: Awaited<ReturnType<typeof start>>['ask']): Promise<Set<string>> {
  const session = crypto.randomUUID()
  const used = [await ask(session, THINKING.slice(0, 1))]
  for (let n = 0; n < 4; n++) used.push(await ask(session, THINKING))
  assert.deepEqual(new Set(used.map(({ lost }) => lost)), new Set([null]), 'nothing is named as lost')
  return new Set(used.map(({ account }) => account))
}

test('a conversation with thinking from Sonnet 5.5 stays with its account, but thinking from older models works with any account', async (t) => {
  assert.equal((await accounts((await start(t, 'claude-sonnet-5-5')).ask)).size, 1)
  assert.equal((await accounts((await start(t, 'claude-sonnet-5')).ask)).size, 2)
  assert.equal(
    (await accounts((await start(t, 'claude-sonnet-5-5', 'linked')).ask)).size,
    2,
    'linked accounts',
  )
})

test('if a conversation’s account cannot answer, another account is used, and the thinking is reported as lost', async (t) => {
  const { ask, busy } = await start(t, 'claude-sonnet-5-5')
  const session = crypto.randomUUID()
  const { account } = await ask(session, THINKING.slice(0, 1))
  busy.add(account)
  const next = await ask(session, THINKING)
  assert.notEqual(next.account, account)
  assert.match(next.lost!, /key\.reasoning/)
})
