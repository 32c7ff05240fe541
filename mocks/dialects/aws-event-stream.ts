// AWS's event stream: wraps a dialect's server-sent events in the messages of InvokeModelWithResponseStream.
// The format is AWS's "Event stream encoding": lengths, headers, body, and a CRC-32 of each part.
import { crc32 } from 'node:zlib'

export const EVENT_STREAM_TYPE = 'application/vnd.amazon.eventstream'

/** Type number of a header with a string value. */
const TEXT = 7

/** Returns one message. */
function eventStreamMessage(headers: Readonly<Record<string, string>>, body: string): Buffer {
  const named = Object.entries(headers).map(([name, value]) => {
    const size = Buffer.alloc(2)
    size.writeUInt16BE(Buffer.byteLength(value))
    return Buffer.concat([
      Buffer.from([Buffer.byteLength(name)]),
      Buffer.from(name),
      Buffer.from([TEXT]),
      size,
      Buffer.from(value),
    ])
  })
  const head = Buffer.concat(named)
  const payload = Buffer.from(body)
  const message = Buffer.alloc(16 + head.length + payload.length)
  message.writeUInt32BE(message.length, 0)
  message.writeUInt32BE(head.length, 4)
  message.writeUInt32BE(crc32(message.subarray(0, 8)), 8)
  head.copy(message, 12)
  payload.copy(message, 12 + head.length)
  message.writeUInt32BE(crc32(message.subarray(0, -4)), message.length - 4)
  return message
}

/** Returns the message for one part of an answer, as JSON in the model's own dialect. */
export const chunkMessage = (json: string): Buffer =>
  eventStreamMessage(
    { ':event-type': 'chunk', ':content-type': 'application/json', ':message-type': 'event' },
    JSON.stringify({ bytes: Buffer.from(json).toString('base64'), p: 'abcdefghijkl' }),
  )

/** Returns the message for an error within a stream. */
export const exceptionMessage = (type: string, message: string): Buffer =>
  eventStreamMessage(
    { ':exception-type': type, ':content-type': 'application/json', ':message-type': 'exception' },
    JSON.stringify({ message }),
  )

/**
 * Turns server-sent events, whole or in pieces, into messages. A ping is left out; an error becomes an
 * exception message.
 */
export function createEventStream(): (piece: Uint8Array) => Buffer {
  let begun = ''
  return (piece) => {
    const events = (begun + Buffer.from(piece).toString('utf8')).split('\n\n')
    begun = events.pop()!
    return Buffer.concat(events.map(messageOf))
  }
}

function messageOf(event: string): Buffer {
  const data = event
    .split('\n')
    .flatMap((line) => (line.startsWith('data:') ? [line.slice(5).trimStart()] : []))
    .join('\n')
  if (data === '') return Buffer.alloc(0)
  const json = JSON.parse(data)
  if (json.type === 'ping') return Buffer.alloc(0)
  return json.type === 'error'
    ? exceptionMessage('internalServerException', json.error.message)
    : chunkMessage(data)
}
