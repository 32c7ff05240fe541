// Memory of an open call while its provider works. An open call holds the text that may have to be sent
// again, and nothing twice.
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { testGateway } from '../test/test-gateway.ts'
import { IS_FULL } from '../test/test-size.ts'
import { until } from '../test/test-until.ts'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void

const OPEN = IS_FULL ? 16 : 4
/** A text of 3 MB with 30,000 different parts. */
const MESSAGES = Array.from({ length: 30_000 }, (_, n) => ({
  role: 'user',
  content: `${n} `.padEnd(80, 'x'),
}))
const BODY = JSON.stringify({ model: 'auto', messages: MESSAGES })

test('a parsed body is released once the call has been routed, and no copy of it stays in memory', async (t) => {
  const release = Promise.withResolvers<void>()
  t.after(() => release.resolve())
  const allWait = Promise.withResolvers<void>()
  let waiting = 0
  const gateway = await testGateway(t, {
    providers: {
      alpha: async (response, received) => {
        // The mock runs in the same process and stores the received requests.
        Object.assign(received, { text: '', json: {} })
        if (++waiting === OPEN) allWait.resolve()
        await release.promise
        response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":{"message":"enough"}}')
      },
    },
  })
  const held = () => {
    gc()
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    return (heapUsed + arrayBuffers) / OPEN / BODY.length
  }
  const before = held()
  const calls = Array.from({ length: OPEN }, () => gateway.chat(BODY))
  await allWait.promise
  // The limit covers the text, the bytes that its connection holds until the provider answers, and the bytes
  // of this test's client: 1.9 times the body. A parsed body that is kept makes it 3.2. What is still on its
  // way at first is released while the calls stay open.
  let each = Number.POSITIVE_INFINITY
  await until('each open call holds less than 2.5 times its body', () => {
    each = held() - before
    return each < 2.5
  }).finally(() => t.diagnostic(`each open call holds ${each.toFixed(1)} times its body`))
  release.resolve()
  await Promise.all(calls)
})
