// A trace collector for tests. Accepts OTLP over a real socket and reads it with its own protobuf decoder.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { until } from '../test/test-until.ts'

/** Fields of a protobuf message by field number. Each value is bytes or a number. */
type Fields = Map<number, (Buffer | bigint)[]>

/** Decodes the protobuf wire format only. */
function decode(bytes: Buffer): Fields {
  const fields: Fields = new Map()
  let at = 0
  const varint = (): bigint => {
    for (let value = 0n, shift = 0n; ; shift += 7n) {
      const byte = bytes[at++]!
      value |= BigInt(byte & 127) << shift
      if (byte < 128) return value
    }
  }
  while (at < bytes.length) {
    const tag = Number(varint())
    const wire = tag & 7
    const size = wire === 2 ? Number(varint()) : wire === 1 ? 8 : wire === 5 ? 4 : 0
    const value = wire === 0 ? varint() : bytes.subarray(at, at + size)
    at += size
    fields.set(tag >> 3, [...(fields.get(tag >> 3) ?? []), value])
  }
  return fields
}
const messages = (fields: Fields, n: number): Fields[] =>
  (fields.get(n) ?? []).map((each) => decode(each as Buffer))
const text = (fields: Fields, n: number): string => String(fields.get(n)?.[0] ?? '')
const hex = (fields: Fields, n: number): string =>
  ((fields.get(n)?.[0] ?? Buffer.alloc(0)) as Buffer).toString('hex')

function attributes(fields: Fields, n: number): Record<string, unknown> {
  return Object.fromEntries(
    messages(fields, n).map((pair) => {
      const value = decode(pair.get(2)![0] as Buffer)
      const read = value.has(1)
        ? text(value, 1)
        : value.has(2)
          ? value.get(2)![0] === 1n
          : value.has(3)
            ? Number(value.get(3)![0])
            : (value.get(4)![0] as Buffer).readDoubleLE()
      return [text(pair, 1), read]
    }),
  )
}

export interface SeenSpan {
  trace: string
  id: string
  parent: string
  name: string
  /** Kind of the span: 2 for server, 3 for client. */
  kind: number
  error: boolean
  ms: number
  attributes: Record<string, unknown>
  /** Trace and span of each link. */
  links: readonly string[]
}

/** Reads spans by the field numbers in opentelemetry/proto/trace/v1/trace.proto. */
const spansIn = (body: Buffer): SeenSpan[] =>
  messages(decode(body), 1).flatMap((resource) =>
    messages(resource, 2).flatMap((scope) =>
      messages(scope, 2).map((span) => {
        const time = (n: number) => Number((span.get(n)![0] as Buffer).readBigUInt64LE() / 1_000_000n)
        const [status] = messages(span, 15)
        return {
          trace: hex(span, 1),
          id: hex(span, 2),
          parent: hex(span, 4),
          name: text(span, 5),
          kind: Number(span.get(6)![0]),
          error: status?.get(3)?.[0] === 2n,
          ms: time(8) - time(7),
          attributes: attributes(span, 9),
          links: messages(span, 13).map((link) => `${hex(link, 1)} ${hex(link, 2)}`),
        }
      }),
    ),
  )

/** Starts a collector that answers each post with `status`. With 0 it never answers. */
export async function collector(t: TestContext, status = 200) {
  const bodies: Buffer[] = []
  const headers: Record<string, unknown>[] = []
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part) => parts.push(part))
    request.on('end', () => {
      headers.push({ path: request.url, ...request.headers })
      bodies.push(Buffer.concat(parts))
      if (status > 0) response.writeHead(status).end()
    })
  }).listen(0, '127.0.0.1')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  await new Promise((done) => server.once('listening', done))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bodies,
    headers,
    spans: () => bodies.flatMap(spansIn),
    resource: () => attributes(messages(messages(decode(bodies[0]!), 1)[0]!, 1)[0]!, 1),
  }
}

/** Waits for `count` spans with a timeout. Returns the received spans. */
export async function seen(spans: () => SeenSpan[], count: number): Promise<SeenSpan[]> {
  await until(`${count} spans`, () => spans().length >= count)
  return spans()
}
