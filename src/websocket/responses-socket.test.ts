// Clients that stop reading, with sockets that a test fills and empties.
import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { ClientRequest } from 'node:http'
import { PassThrough } from 'node:stream'
import { type TestContext, test } from 'node:test'
import type { WebSocket } from 'ws'
import { useClock } from '../shared/clock.ts'
import { type ManualClock, manualClock } from '../shared/test-clock.ts'
import { ResponsesSocket } from './responses-socket.ts'

/** A client's socket. What is sent waits in it until the client reads. */
class UnreadSocket extends EventEmitter {
  readonly OPEN = 1
  readyState = 1
  bufferedAmount = 0
  pings = 0
  #sent: { bytes: number; done: () => void }[] = []

  send(text: string, done: () => void): void {
    this.bufferedAmount += text.length
    this.#sent.push({ bytes: text.length, done })
  }
  /** The client reads the first message that waits. */
  readOne(): void {
    const { bytes, done } = this.#sent.shift()!
    this.bufferedAmount -= bytes
    done()
  }
  ping = () => void this.pings++
  pause() {}
  resume() {}
  terminate() {
    this.readyState = 3
    this.emit('close')
  }
}

/** A socket whose client asked for a response of a hundred messages, and has read none of them. */
async function stalled(t: TestContext): Promise<{ clock: ManualClock; socket: UnreadSocket }> {
  const clock = manualClock()
  t.after(useClock(clock))
  const socket = new UnreadSocket()
  const answer = Object.assign(new PassThrough(), {
    statusCode: 200,
    headers: { 'content-type': 'text/event-stream' },
  })
  const request = Object.assign(new EventEmitter(), { destroy: () => answer.destroy() })
  const HOUR = 3_600_000
  new ResponsesSocket(socket as unknown as WebSocket, new PassThrough(), {
    ...{ post: () => request as unknown as ClientRequest, idle: HOUR, life: HOUR, keyName: 'ann' },
    ...{ holdsTooMuch: () => false, hasState: false, breaksWithResponse: false, onClose() {} },
  })
  t.after(() => socket.terminate())
  socket.emit('message', Buffer.from('{"type":"response.create","input":"hi"}'), false)
  request.emit('response', answer)
  const delta = 'x'.repeat(1_000)
  const event = `data: {"type":"response.output_text.delta","output_index":0,"delta":"${delta}"}\n\n`
  for (let n = 0; n < 100; n++) answer.write(event)
  await clock.advance(0)
  assert.ok(answer.isPaused(), 'the answer waits for the client')
  return { clock, socket }
}

test('a client that reads nothing of a waiting answer is cut after two minutes and a half, from the ping that it does not answer', async (t) => {
  const { clock, socket } = await stalled(t)
  await clock.advance(179_999)
  assert.deepEqual([socket.readyState, socket.pings], [1, 1])
  await clock.advance(1)
  assert.equal(socket.readyState, 3)
})

test('a client that reads a waiting answer slowly keeps its socket', async (t) => {
  const { clock, socket } = await stalled(t)
  for (let message = 0; message < 12; message++) {
    await clock.advance(100_000)
    assert.equal(socket.readyState, 1)
    socket.readOne()
  }
})

test('a client to which nothing waits is cut if it does not answer a ping', async (t) => {
  const { clock, socket } = await stalled(t)
  while (socket.bufferedAmount > 0) {
    socket.readOne()
    await clock.advance(0)
  }
  await clock.advance(59_999)
  assert.equal(socket.readyState, 1)
  await clock.advance(1)
  assert.equal(socket.readyState, 3)
})
