// Large answers that are not read or are read very slowly. One key requests far more than the memory can
// hold, in every dialect and form, over real sockets. The gateway must survive, hold a bounded part of the
// answers, and serve another key meanwhile.
import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { MIB } from './test-answers.ts'
import { IS_FULL, sample } from './test-size.ts'
import { ANSWER_MS, type LargeCall, requestOf, startSmallHeap } from './test-small-heap.ts'

/** Heap limit of the gateway, MB. */
const HEAP = 256
const SIZE = 8 * MIB
/** Maximum processor time of a turn of the event loop while another key waits for an answer, ms. */
const MOST_TURN_MS = 1_000
/** V8 adds the room for short-lived objects to the given heap size. */
const MOST_UNREAD = (HEAP / 4 + 32) * MIB
const DIALECTS = ['chat', 'messages', 'responses', 'gemini'] as const
type Gateway = Awaited<ReturnType<typeof startSmallHeap>>

/** Makes `count` calls that use the dialects in turn. */
const calls = (count: number, of: (from: (typeof DIALECTS)[number], n: number) => LargeCall): LargeCall[] =>
  Array.from({ length: IS_FULL ? count : count / 4 }, (_, n) => of(DIALECTS[n % 4]!, n))

const unread = (gateway: Gateway, all: readonly LargeCall[]): Socket[] =>
  all.map((call) => gateway.unread(requestOf(call)))

interface Flood {
  readonly name: string
  send(gateway: Gateway): Socket[]
}

const FLOODS: readonly Flood[] = [
  {
    name: 'whole answers in four dialects',
    send: (gateway) =>
      unread(
        gateway,
        calls(240, (from) => ({ from, to: from, size: SIZE })),
      ),
  },
  {
    name: 'translated answers',
    send: (gateway) =>
      unread(
        gateway,
        calls(240, (from, n) => ({ from, to: DIALECTS[(n + 1 + ((n >> 2) % 3)) % 4]!, size: SIZE })),
      ),
  },
  {
    name: 'embeddings and images',
    send: (gateway) =>
      unread(
        gateway,
        calls(160, (_, n) => ({ from: n % 2 ? 'embeddings' : 'images', to: 'chat', size: SIZE })),
      ),
  },
  {
    name: 'errors of a MiB',
    send: (gateway) =>
      unread(
        gateway,
        calls(400, (from) => ({ from, to: from, size: MIB - 1_000, status: 400 })),
      ),
  },
  {
    name: 'streams, of which some are translated',
    send: (gateway) =>
      unread(
        gateway,
        calls(200, (from, n) => ({ from, to: n % 2 ? 'chat' : 'messages', size: SIZE, stream: true })),
      ),
  },
  {
    name: 'streams of which the translation keeps the text',
    send: (gateway) =>
      unread(
        gateway,
        calls(320, () => ({ from: 'responses', to: 'chat', size: SIZE, stream: true })),
      ),
  },
  {
    name: 'whole answers for clients that close their side',
    send: (gateway) =>
      unread(
        gateway,
        calls(120, (from) => ({ from, to: from, size: SIZE })),
      ).map((socket) => socket.end()),
  },
  {
    name: 'whole answers, twelve asked for at once on each connection',
    send: (gateway) =>
      calls(40, (from) => ({ from, to: from, size: SIZE })).map((call) =>
        gateway.unread(requestOf(call).repeat(12)),
      ),
  },
  {
    name: 'whole answers that are read a byte at a time',
    send: (gateway) =>
      unread(
        gateway,
        calls(120, (from) => ({ from, to: from, size: SIZE })),
      ).map(trickle),
  },
  {
    name: 'answers, whole and streamed, of which every other one is read a byte at a time',
    send: (gateway) =>
      unread(
        gateway,
        calls(240, (from, n) => ({ from, to: from, size: SIZE, stream: n % 3 === 0 })),
      ).map((socket, n) => (n % 2 ? trickle(socket) : socket)),
  },
]

/** Reads a byte now and then, like a very slow client. */
function trickle(socket: Socket): Socket {
  const timer = setInterval(() => socket.read(1), 100)
  return socket.on('close', () => clearInterval(timer))
}

/** Returns the bytes of answers for which open calls of the flood may wait, after the excess is closed. */
async function settled(t: TestContext, gateway: Gateway, name: string): Promise<void> {
  const end = performance.now() + ANSWER_MS
  for (;;) {
    const { json } = await gateway.get('bob', '/api/usage/request-logs?limit=200&key_name=ann')
    // An open stream holds little of its answer.
    const open = json.data.filter(
      ({ completed_at, stream }: { completed_at: unknown; stream: boolean }) =>
        completed_at === null && !stream,
    )
    const size = name.startsWith('errors') ? MIB : SIZE
    if (open.length * size <= MOST_UNREAD) {
      t.diagnostic(`${open.length} whole answers are open, most resident memory ${gateway.mostMemory()} MiB`)
      return
    }
    assert.ok(
      performance.now() < end,
      `${open.length} answers of ${size} bytes wait for clients that do not read`,
    )
    await sleep(200)
  }
}

for (const { name, send } of sample(FLOODS, 3))
  test(`a gateway with a heap of ${HEAP} MB holds a bounded part of unread ${name} in memory (FAIL-06)`, async (t) => {
    const gateway = await startSmallHeap(t, HEAP)
    const sockets = send(gateway)
    let slowest = 0
    let busiest = 0
    for (let rounds = 0; rounds < 5; rounds++) {
      const { status, text, ms, longest } = await gateway.call('bob')
      assert.equal(gateway.exited(), null, gateway.said().slice(-500))
      assert.equal(status, 200, text)
      slowest = Math.max(slowest, ms)
      busiest = Math.max(busiest, longest)
      await sleep(300)
    }
    t.diagnostic(
      `the slowest answer of another key after ${Math.round(slowest)} ms, and the longest turn ${Math.round(busiest)} ms of processor time`,
    )
    assert.ok(busiest < MOST_TURN_MS, `another key waited for a turn of ${busiest} ms`)
    await settled(t, gateway, name)
    assert.equal(gateway.exited(), null, gateway.said().slice(-500))
    assert.ok(gateway.mostMemory() < 900, `${gateway.mostMemory()} MiB were resident`)
    for (const socket of sockets) socket.destroy()
  })

test('an answer for one key arrives whole while another key fills the memory with unread answers', async (t) => {
  const gateway = await startSmallHeap(t, HEAP)
  unread(
    gateway,
    calls(80, (from) => ({ from, to: from, size: SIZE })),
  )
  for (let rounds = 0; rounds < 5; rounds++) {
    const { status, text } = await gateway.call('bob', { size: 2 * MIB })
    assert.equal(status, 200, text.slice(0, 300))
    assert.ok(text.length > 2 * MIB)
  }
})
