// The provider of the container tests, run in a container of its own: the stand-in on port 8080, and on 8081 the
// bodies of everything that it received. A stream takes two seconds, so that something can happen meanwhile.
import { createServer } from 'node:http'
import { answer, chunk, DONE, startStandIn, stream, usageChunk } from '../mocks/stand-in.ts'

const words = Array.from({ length: 20 }, (_, n) => [chunk({ content: `${n} ` }), 100]).flat()
const slowly = stream(...words, chunk({}, { finish_reason: 'stop' }), usageChunk(), DONE)
const atOnce = answer()

const { ledger } = await startStandIn(
  (response, received) => (received.json.stream ? slowly : atOnce)(response, received),
  { host: '0.0.0.0', port: 8080 },
)
createServer((_, response) => response.end(JSON.stringify(ledger.map(({ json }) => json)))).listen(8081)
