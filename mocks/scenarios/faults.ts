// Scenarios in which a plain answer breaks or is slow: cut, silent, slow, or no answer at all. All are
// synthetic. A whole answer breaks in its middle, a stream after an event.
import { gzipSync } from 'node:zlib'
import { bytesOf, framed, type Part, wholeAnswer } from '../answer.ts'
import { DIALECT, type Played, refuseLike, type Scenario, say, speak, streamOf } from './scenario.ts'

const NEVER: Part = { wait: Number.POSITIVE_INFINITY }

/** Plays the plain answer with changed parts; the headers state the length of the unchanged answer. */
const broken = (
  description: string,
  change: (parts: readonly Uint8Array[], number: number) => readonly Part[],
): Scenario => ({
  description,
  shape: DIALECT,
  play(scene) {
    const plain = speak(scene, say(scene))
    if (!plain) return null
    const parts = plain.parts.filter((part) => part instanceof Uint8Array)
    const headers = framed({ from: '', ...plain })
    return { ...plain, headers, parts: change(parts.length > 1 ? parts : halves(parts[0]!), scene.number) }
  },
})

const halves = (bytes: Uint8Array): Uint8Array[] => {
  const middle = bytes.length >> 1
  return [bytes.subarray(0, middle), bytes.subarray(middle)]
}

/** Plays parts without HTTP headers, so that the connection carries only these parts. */
const bare = (description: string, parts: readonly Part[]): Scenario => ({
  description,
  shape: 'not HTTP at all',
  play: (): Played => ({ status: null, headers: {}, parts }),
})

/** Returns the index of the first byte that continues a character. */
const insideCharacter = (bytes: Uint8Array): number => bytes.findIndex((byte) => byte >> 6 === 0b10)

export const faults: Readonly<Record<string, Scenario>> = {
  'error-in-stream': {
    description: 'an error inside an answer that began with 200',
    shape: "OpenRouter's and OpenAI's streams",
    play(scene) {
      const message = 'The model failed in the middle. This is synthetic.'
      const { wants, speech } = scene
      if (!wants.stream || !speech) return refuseLike(scene, 'server_error', message, { status: 200 })
      const [first = '', second = '', third = ''] = speech.events(say(scene), wants)
      return streamOf(speech, [first, second, third, speech.failure(message)])
    },
  },
  'cut-after-N': broken('the connection ends after N events', (parts, number) => [
    ...parts.slice(0, Math.min(number, parts.length - 1)),
    { end: 'cut' },
  ]),
  'cut-in-utf8': broken('the connection ends inside a character', (parts) => {
    const all = Buffer.concat(parts)
    return [all.subarray(0, insideCharacter(all)), { end: 'cut' }]
  }),
  reset: broken('the connection is reset in mid-answer', (parts) => [
    ...parts.slice(0, parts.length >> 1),
    { end: 'reset' },
  ]),
  'reset-at-once': bare('the connection is reset before any answer', [{ end: 'reset' }]),
  silent: bare('no byte ever comes', [NEVER]),
  'silent-midway': broken('nothing more comes after half of the answer', (parts) => [
    ...parts.slice(0, parts.length >> 1),
    NEVER,
  ]),
  garbage: bare('bytes that are not HTTP', [
    bytesOf('\u0000\u0001 this is no HTTP \u00ff\r\n\r\n'),
    { end: 'cut' },
  ]),
  html: {
    description: 'a login page with status 200',
    shape: 'a proxy that requires a login first',
    play: () => wholeAnswer('', 200, HTML, { 'content-type': 'text/html; charset=utf-8' }),
  },
  gzip: {
    description: 'the plain answer, compressed although it was not asked for',
    shape: DIALECT,
    play(scene) {
      const plain = speak(scene, say(scene))
      if (!plain) return null
      const packed = gzipSync(Buffer.concat(plain.parts.filter((part) => part instanceof Uint8Array)))
      return { ...plain, headers: { ...plain.headers, 'content-encoding': 'gzip' }, parts: [packed] }
    },
  },
  'lasts-N': broken('the plain answer, spread evenly over N seconds', (parts, number) =>
    parts.flatMap((part): Part[] => [{ wait: (number * 1000) / parts.length }, part]),
  ),
  drip: broken('the plain answer in pieces of 32 bytes, 10 ms apart', (parts) => {
    const all = Buffer.concat(parts)
    return Array.from({ length: Math.ceil(all.length / 32) }, (_, index): Part[] => [
      { wait: 10 },
      all.subarray(index * 32, index * 32 + 32),
    ]).flat()
  }),
}

const HTML = '<!doctype html><title>Sign in</title><p>Please sign in to go on.</p>\n'
