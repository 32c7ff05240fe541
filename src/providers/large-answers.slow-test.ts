// Answers held for their clients. Many large ones at the same time must not use all memory (FAIL-06).
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { Agent } from 'undici'
import type { AnswerTrace } from '../core/artifact.ts'
import { upstream } from '../dialects/chat/upstream.ts'
import { MemoryAccount } from '../shared/memory.ts'
import { pause } from '../test/test-until.ts'
import type { AttemptResult } from './attempt-result.ts'
import { UpstreamExchange } from './exchange.ts'

const MIB = 2 ** 20

const TRACE = { responseStarted() {}, chunk() {}, end() {} } as unknown as AnswerTrace

for (const [what, type, before] of [
  ['whole answers', 'application/json', '{"choices":[],"pad":"'],
  ['first events', 'text/event-stream', 'data: {"pad":"'],
  ['error bodies', 'text/plain', ''],
] as const)
  test(`${what}: of twelve simultaneous answers of 25 MiB each, those that do not fit are dropped`, async (t) => {
    const piece = Buffer.alloc(MIB, 'x')
    const [sent, ended] = [Promise.withResolvers<void>(), new Set<unknown>()]
    const end = (response: unknown) => void (ended.add(response).size === 12 && sent.resolve())
    const provider = createServer(async (request, response) => {
      request.resume()
      response.on('close', () => end(response))
      response.writeHead(type === 'text/plain' ? 500 : 200, { 'content-type': type })
      response.write(before)
      for (let mib = 0; mib < 25 && !response.destroyed; mib++)
        await new Promise((taken) => response.write(piece, taken))
      // The answer never ends, so its bytes stay held.
      end(response)
    })
    provider.listen(0, '127.0.0.1')
    await once(provider, 'listening')
    const agent = new Agent()
    t.after(async () => {
      await agent.destroy()
      provider.closeAllConnections()
      provider.close()
    })
    const origin = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`
    const memory = new MemoryAccount({ all: 128 * MIB, perKey: 128 * MIB })
    const limits = { responseStart: 300_000, idle: 300_000 }
    const exchanges: UpstreamExchange[] = []
    const results = Array.from({ length: 12 }, () => {
      const { promise, resolve } = Promise.withResolvers<AttemptResult>()
      const exchange = new UpstreamExchange(upstream, limits, true, TRACE, null, resolve, undefined, memory)
      exchanges.push(exchange)
      agent.dispatch({ origin, path: '/', method: 'POST', body: '{}' }, exchange)
      return promise
    })
    await sent.promise // or the answer was dropped
    await pause(500) // the last bytes arrive
    for (const exchange of exchanges) exchange.abort()
    const codes = (await Promise.all(results)).map((result) =>
      result.kind === 'failure' ? result.code : result.kind,
    )
    // Two answers of 25 MiB fit and are waited for; a third does not fit.
    const refused = codes.filter((code) => code === 'upstream_invalid').length
    assert.ok(refused >= 9 && refused <= 11, codes.join(', '))
    assert.ok(
      codes.every((code) => code === 'upstream_invalid' || code === 'client_closed'),
      codes.join(', '),
    )
  })
