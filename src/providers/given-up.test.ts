// Only the provider's behaviour may cool a target down. A client that left or a gateway without room for the
// answer must not.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Dispatcher } from 'undici'
import type { AnswerTrace } from '../core/artifact.ts'
import { singleKey } from '../credentials/registry.ts'
import { upstream } from '../dialects/chat/upstream.ts'
import { NOTHING_LEARNED } from '../models/learned.ts'
import { MEMORY, memoryLimits } from '../shared/memory.ts'
import type { UpstreamExchange } from './exchange.ts'
import { type Provider, type SendResult, sendToProvider } from './send.ts'

const TRACE = { responseStarted() {}, chunk() {}, end() {} } as unknown as AnswerTrace
const REQUEST = { model: 'alpha/m', stream: false, text: '{}', wantsUsage: true, forwarded: [], query: '' }
const TARGET = { provider: 'alpha', model: 'm', tier: null }

/** Sends a call to one provider, and runs `act` on its exchange once part of the answer has arrived. */
async function cooledBy(act: (exchange: UpstreamExchange, fail: (reason: Error) => void) => void) {
  const dispatch: Dispatcher['dispatch'] = (_, handler) => {
    const exchange = handler as unknown as UpstreamExchange
    const fail = (reason: Error) => exchange.onResponseError(controller, reason)
    const controller = { abort: fail, pause() {}, resume() {} } as unknown as Dispatcher.DispatchController
    exchange.onRequestStart(controller)
    exchange.onResponseStart(controller, 200, { 'content-type': 'application/json' })
    exchange.onResponseData(controller, Buffer.from('{"choices":['))
    act(exchange, fail)
    return true
  }
  const provider = {
    dialects: new Map([['chat', upstream]]),
    dispatcher: { dispatch } as unknown as Dispatcher,
    sockets: null,
    origin: 'http://127.0.0.1:9',
    basePath: '',
    credentials: singleKey(null),
    platform: null,
    factsOf: () => ({}),
    windowOf: () => null,
    trace: false,
  } satisfies Provider
  const cooled: number[] = []
  const { promise, resolve, reject } = Promise.withResolvers<SendResult>()
  sendToProvider(
    REQUEST,
    { name: 'auto', candidates: [TARGET] } as unknown as Parameters<typeof sendToProvider>[1],
    {
      dialect: 'chat',
      providers: new Map([['alpha', provider]]),
      limits: { responseStart: 60_000, idle: 60_000 },
      retries: 0,
      cooldown: 30_000,
      adjusting: { onRefused: undefined, learned: NOTHING_LEARNED },
      keyName: null,
      caller: null,
      session: null,
      showsRefusals: false,
      listener: {
        trace: () => TRACE,
        traceHeaders: () => [],
        sending: () => true,
        failed: (_, ms) => void cooled.push(ms),
        next: async () => true,
        sent: resolve,
        fault: reject,
      },
    },
  )
  const { answer } = await promise
  assert.ok(answer.kind === 'failure')
  return { code: answer.code, cooled }
}

test("an answer abandoned by the client, or too large for the gateway's memory, does not cool its target down", async () => {
  const left = await cooledBy((exchange) => exchange.abort())
  assert.deepEqual(left, { code: 'client_closed', cooled: [] })
  MEMORY.configure({ all: 1, perKey: 1 })
  const controller = {} as Dispatcher.DispatchController
  const letGo = await cooledBy((exchange) => exchange.onResponseData(controller, Buffer.alloc(2 ** 20)))
  MEMORY.configure(memoryLimits(2 ** 20, false))
  assert.deepEqual(letGo, { code: 'upstream_invalid', cooled: [] })
})

test('an answer that is cut off by the provider or is invalid cools its target down', async () => {
  const reset = Object.assign(new Error('reset'), { code: 'ECONNRESET' })
  const cut = await cooledBy((_, fail) => fail(reset))
  assert.deepEqual(cut, { code: 'upstream_unreachable', cooled: [30_000] })
  const garbage = await cooledBy((exchange) => exchange.complete())
  assert.deepEqual(garbage, { code: 'upstream_invalid', cooled: [30_000] })
})
