// Scenarios by name: faults, refusals, speeches and ways to cut a stream into chunks. Knows no provider.
import { gzipSync } from 'node:zlib'
import { bytesOf, framed, type Part, wholeAnswer } from '../answer.ts'
import type { ProviderRefusal, ToolCall } from '../provider.ts'
import { findDeviation } from './deviations.ts'
import { sampleOf } from './offered-tools.ts'
import {
  DIALECT,
  PLAIN_USAGE,
  type Played,
  refuseLike,
  type Scenario,
  type Scene,
  say,
  speak,
  streamOf,
} from './scenario.ts'

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

const faults: Readonly<Record<string, Scenario>> = {
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

const refused = (
  status: number,
  kind: ProviderRefusal,
  description: string,
  message: string,
  headers: Record<string, string> = {},
): Scenario => ({
  description,
  shape: "the provider's own error object",
  play: (scene: Scene) => refuseLike(scene, kind, message, { status, headers }),
})

const busy = 'Too many requests for now. This is a synthetic refusal.'

const refusals: Readonly<Record<string, Scenario>> = {
  '400': refused(
    400,
    'invalid_request',
    'an invalid request',
    'The request is not valid. This is synthetic.',
  ),
  '401': refused(401, 'bad_key', 'a bad key', 'The API key is not valid. This is synthetic.'),
  '404': refused(404, 'unknown_model', 'an unknown model', 'There is no such model. This is synthetic.'),
  '429': refused(429, 'rate_limited', 'too many requests; try again in 2 s', busy, { 'retry-after': '2' }),
  '429-retry-after': refused(429, 'rate_limited', 'too many requests; try again in 1 s', busy, {
    'retry-after': '1',
  }),
  '429-no-retry-after': refused(429, 'rate_limited', 'too many requests, without `retry-after`', busy),
  '500': refused(500, 'server_error', 'a failure inside', 'The server failed. This is synthetic.'),
  '502': refused(502, 'server_error', 'a failure behind the provider', 'Bad gateway. This is synthetic.'),
  '503': refused(503, 'overloaded', 'not available for now', 'Not available for now. This is synthetic.'),
  '529': refused(529, 'overloaded', 'overloaded', 'Overloaded. This is synthetic.'),
}

const weather = (id: string, city: string): ToolCall => ({
  id,
  name: 'get_weather',
  arguments: ['{"ci', 'ty":"', city, '"}'],
})

/**
 * Calls the weather tool for these cities; if the request offers only other tools, calls these with made-up
 * arguments.
 */
const callsFor = ({ offered }: Scene, cities: readonly string[]): ToolCall[] =>
  cities.map((city, index) => {
    const id = `call_${index + 1}`
    const tool = offered[index % offered.length]
    if (!tool || offered.some(({ name }) => name === 'get_weather')) return weather(id, city)
    const json = JSON.stringify(sampleOf(tool.schema))
    const cut = Math.ceil(json.length / 2)
    return { id, name: tool.name, arguments: [json.slice(0, cut), json.slice(cut)] }
  })

const calling = (description: string, cities: readonly string[], text?: readonly string[]): Scenario => ({
  description,
  shape: DIALECT,
  callsTools: true,
  play: (scene) =>
    speak(scene, say(scene, { ...(text && { text }), calls: callsFor(scene, cities), finish: 'tool_calls' })),
})

const spoken = (description: string, more: Parameters<typeof say>[1] = {}): Scenario => ({
  description,
  shape: DIALECT,
  play: (scene) => speak(scene, say(scene, more)),
})

const counted = (words: number): string[] => Array.from({ length: words }, (_, index) => `${index} `)

const MEBIBYTE = 1024 * 1024

const speeches: Readonly<Record<string, Scenario>> = {
  plain: spoken('a short text'),
  strict: {
    ...spoken('a short text; a top-level field that the provider does not know is refused as it would'),
    strict: true,
  },
  long: spoken('a text of 400 pieces, numbered', {
    text: counted(400),
    usage: { ...PLAIN_USAGE, output: 400 },
  }),
  tools: calling('one tool call, its arguments in pieces', ['Vienna'], []),
  'tools-parallel': calling('three tool calls in one turn', ['Vienna', 'São Paulo', '東京'], []),
  'tools-long-numbers': {
    description: 'one tool call with integers that a double cannot hold',
    shape: DIALECT,
    callsTools: true,
    play(scene) {
      const pieces = ['{"order":90071992', '54740993,"lines":[18446744073709551615]}']
      const calls = [{ id: 'call_1', name: 'find_order', arguments: pieces }]
      return speak(scene, say(scene, { text: [], calls, finish: 'tool_calls' }))
    },
  },
  reasoning: spoken('thoughts before the text, where the provider shows them, and their tokens', {
    reasoning: ['Somebody', ' greets.', ' Greet', ' back.'],
    usage: { ...PLAIN_USAGE, output: 19, reasoning: 12 },
  }),
  'usage-cached': spoken('most of the prompt came from the cache', {
    usage: { input: 2048, output: 7, cached: 1920, reasoning: 0 },
  }),
  'usage-zero': spoken('a usage in which every count is 0', {
    usage: { input: 0, output: 0, cached: 0, reasoning: 0 },
  }),
  'usage-missing': spoken('no usage, although it was asked for', { usage: null }),
  'finish-length': spoken('cut off by the limit of tokens', { finish: 'length' }),
  'finish-content-filter': spoken('stopped by the filter', { text: ['The'], finish: 'content_filter' }),
  'finish-tool-calls': calling('a text and then a tool call', ['Vienna']),
  'huge-event': spoken('one event of 1 MiB', { text: ['huge '.repeat(MEBIBYTE / 5)] }),
  'many-events': spoken('10 000 events, numbered', {
    text: counted(10_000),
    usage: { ...PLAIN_USAGE, output: 10_000 },
  }),
  flood: {
    description: 'a stream of 64 MiB in events of 16 KiB, for readers that are slow',
    shape: DIALECT,
    play(scene) {
      const said = speak(scene, say(scene, { text: ['x'.repeat(16 * 1024), '.'] }))
      if (!said || !scene.wants.stream) return said
      const large = said.parts.findIndex((part) => part instanceof Uint8Array && part.length > 16 * 1024)
      const flood = Array<Part>(4096).fill(said.parts[large] ?? bytesOf(''))
      return { ...said, parts: said.parts.toSpliced(large, 1, ...flood) }
    },
  },
}

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

const chunkings: Readonly<Record<string, Scenario>> = {
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

export const scenarios: Readonly<Record<string, Scenario>> = {
  ...speeches,
  ...refusals,
  ...faults,
  ...chunkings,
}

/** Returns the scenario of that name, with the number that replaces `N`: `cut-after-3`. */
export function findScenario(name: string): { scenario: Scenario; number: number } | null {
  const exact = Object.hasOwn(scenarios, name) ? scenarios[name] : undefined
  const whole = exact ?? findDeviation(name)
  if (whole) return { scenario: whole, number: 0 }
  const [, stem, digits] = /^(.+-)(\d+)$/.exec(name) ?? []
  const numbered = stem === undefined ? undefined : scenarios[`${stem}N`]
  return numbered ? { scenario: numbered, number: Number(digits) } : null
}
