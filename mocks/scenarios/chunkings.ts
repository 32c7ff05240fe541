// Scenarios in which a plain answer arrives in unusual pieces. The text is the same in all of these
// scenarios; the boundaries, the line ends and the data between the events differ. All of these scenarios are
// synthetic.
import { bytesOf, framed } from '../answer.ts'
import { DIALECT, type Scenario, type Scene, say, speak } from './scenario.ts'

/** Plays the plain answer with its bytes split differently. */
const recut = (description: string, cut: (bytes: Buffer) => readonly Uint8Array[]): Scenario => ({
  description,
  shape: DIALECT,
  play(scene) {
    const plain = speak(scene, say(scene))
    if (!plain) return null
    const bytes = Buffer.concat(plain.parts.filter((part) => part instanceof Uint8Array))
    return { ...plain, headers: framed({ from: '', ...plain }), parts: cut(bytes) }
  },
})

/** Plays the plain answer with changed events; a whole answer is not changed. */
const respaced = (
  description: string,
  shape: string,
  change: (event: string, scene: Scene) => readonly string[],
): Scenario => ({
  description,
  shape,
  play(scene) {
    const plain = speak(scene, say(scene))
    if (!plain || !scene.wants.stream) return plain
    const events = plain.parts.map((part) => Buffer.from(part as Uint8Array).toString('utf8'))
    return { ...plain, parts: events.flatMap((event) => change(event, scene)).map(bytesOf) }
  },
})

const splitAt = (bytes: Buffer, cuts: readonly number[]): Buffer[] =>
  [0, ...cuts].map((from, index) => bytes.subarray(from, cuts[index] ?? bytes.length))

/** Returns the offsets of every occurrence of `found`, plus `further` bytes. */
const places = (bytes: Buffer, found: string, further: number): number[] =>
  [...bytes.toString('latin1').matchAll(new RegExp(found, 'g'))].map(({ index }) => index + further)

export const chunkings: Readonly<Record<string, Scenario>> = {
  'per-byte': recut('every byte on its own', (bytes) => splitAt(bytes, [...bytes.keys()].slice(1))),
  'split-utf8': recut('boundaries inside every character of more than one byte', (bytes) =>
    splitAt(
      bytes,
      [...bytes.keys()].filter((at) => bytes[at]! >> 6 === 0b10),
    ),
  ),
  'split-data': recut('boundaries inside the word `data:`', (bytes) =>
    splitAt(bytes, places(bytes, 'data:', 2)),
  ),
  crlf: respaced('lines end in CR LF, with a boundary between the two', "Gemini's streams", (event) =>
    event
      .replace(/\r?\n/g, '\r\n')
      .split(/(?<=\r)(?=\n)/)
      .filter((piece) => piece !== ''),
  ),
  comments: respaced('a comment before every event', "OpenRouter's streams", (event) => [
    ': a comment\n\n',
    event,
  ]),
  pings: respaced(
    'before every event what this provider sends to keep a stream open',
    "Anthropic's and OpenRouter's streams",
    (event, { speech }) => [speech!.keepAlive, event],
  ),
}
