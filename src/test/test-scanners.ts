// All functions that search text from outside, with the errors that they may end with, for tests with any text.
import { renameAnswer, renameEvent } from '../call/answer.ts'
import { EMPTY_EVENT } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import { chat } from '../dialects/chat/chat.ts'
import { gemini } from '../dialects/gemini/gemini.ts'
import { images } from '../dialects/images/images.ts'
import { messages } from '../dialects/messages/messages.ts'
import { DIALECTS } from '../dialects/registry.ts'
import { responses } from '../dialects/responses/responses.ts'
import { canonical } from '../json/canonical.ts'
import { objectIn } from '../json/object-in.ts'
import { plainNames } from '../json/plain-names.ts'
import * as splice from '../json/splice.ts'
import { AnswerReader, StringShortener } from '../passthrough/answer-facts.ts'
import { readHead } from '../passthrough/head.ts'
import { bedrockPlatform } from '../platforms/bedrock.ts'
import { EventReader } from '../providers/event-reader.ts'
import { holdsMoreValues } from '../shared/bounded.ts'
import { parseExact, parseExactIntegers, parseWithDigits } from '../shared/exact-json.ts'
import { createKeySearch, createMask } from '../shared/redact.ts'
import { inputItems, OutputCollector } from '../websocket/continuation.ts'
import { errorMessage, eventOf, eventReader, inLane, typeOf } from '../websocket/frames.ts'

const NAMES = ['a', 'model', 'item', '__proto__'] as const

/** Functions of src/json that may end with `JsonStructureError`. */
const SPLICERS: Readonly<Record<string, (text: string) => unknown>> = {
  spliceMembers: (text) => splice.spliceMembers(text, { a: '1', model: (before) => before ?? '2' }),
  omitMembers: (text) => splice.omitMembers(text, [['a'], ['item', 'a'], ['model', 'item', 'a']]),
  renameMember: (text) => splice.renameMember(text, 'a', 'b'),
  memberText: (text) => NAMES.map((name) => splice.memberText(text, name)),
  elementsOf: (text) => splice.elementsOf(text),
  mapElements: (text) => splice.mapElements(text, (element) => element),
  keepElements: (text) => splice.keepElements(text, (at) => at % 2 === 0),
  inObject: (text) => (splice.inObject({ a: '1' }) as (before?: string) => string)(text),
  nameIn: (text) => splice.nameIn(text),
  endOfString: (text) => splice.endOfString(text, 0),
  plainNames: (text) => plainNames(text),
  inputItems: (text) => inputItems(text),
}

/** Functions that end with a result. */
const READERS: Readonly<Record<string, (text: string) => unknown>> = {
  skipSpace: (text) => splice.skipSpace(text, 0),
  canonical: (text) => canonical(text, ['model']),
  objectIn: (text) => objectIn(text),
  typeOf: (text) => typeOf(text),
  eventOf: (text) => eventOf(text),
  inLane: (text) => inLane(text, 'a'),
  errorMessage: (text) => errorMessage(500, {}, text),
  eventReader(text) {
    const read = eventReader(() => {})
    read(text)
    read('\n\n')
  },
  OutputCollector(text) {
    for (const type of ['created', 'output_item.done', 'completed']) {
      const output = new OutputCollector()
      output.add(`response.${type}`, text)
      void [output.items, output.isComplete]
    }
  },
  collector(text) {
    const collector = responses.client.storing.openCollector()
    collector.add(Buffer.from(`data: ${text}\n\n`))
    void collector.answer
    collector.whole(Buffer.from(text))
    void collector.answer
  },
  holdsMoreValues: (text) => holdsMoreValues(Buffer.from(text), 1_000),
  StringShortener: (text) => new StringShortener().shorten(Buffer.from(text)),
  AnswerReader(text) {
    for (const type of ['application/json', 'text/event-stream']) {
      const reader = new AnswerReader(type)
      reader.add(Buffer.from(text))
      reader.facts()
    }
  },
  mask: (text) => createMask(['sk-a\\b/c"d'])(text),
  keySearch: (text) => createKeySearch('sk-a\\b/c"d')(Buffer.from(text)),
  ...Object.fromEntries(
    Object.entries({ chat, messages, responses, gemini, images }).map(([name, { upstream }]) => [
      `events of ${name}`,
      (text: string) => {
        const reader = new EventReader(upstream.openStream())
        reader.push(Buffer.from(`data: ${text}\n\n`))
        reader.push(Buffer.from(text))
        reader.rest()
        upstream.readError(text)
      },
    ]),
  ),
}

/** Functions that end with the gateway's error for text that servers read in different ways. */
const FORMS: Readonly<Record<string, (text: string) => unknown>> = {
  readHead(text) {
    readHead(Buffer.from(text), 'multipart/form-data; boundary=a')
    readHead(Buffer.from(`--a\r\n${text}`), 'multipart/form-data; boundary=a')
    readHead(Buffer.from('x'), `multipart/form-data; ${text.slice(0, 2 ** 14)}`)
    readHead(Buffer.from(text), 'application/json')
  },
}

/** Functions that end with a SyntaxError for text that is not JSON. */
const PARSERS: Readonly<Record<string, (text: string) => unknown>> = {
  parseExact: (text) => parseExact(text),
  parseExactIntegers: (text) => parseExactIntegers(text),
  parseWithDigits: (text) => parseWithDigits(text),
  eventStream: (text) =>
    bedrockPlatform
      .openStream({ 'content-type': 'application/vnd.amazon.eventstream' })!
      .push(Buffer.from(text, 'latin1')),
  ...Object.fromEntries(
    Object.entries(DIALECTS).flatMap(([name, { client }]) => {
      const parsed = { ...EMPTY_EVENT, model: 'm' }
      return [
        [`answers of ${name}`, (text: string) => DIALECTS[name as 'chat'].upstream.readAnswer(text)],
        [
          `renamed answers of ${name}`,
          (text: string) => renameAnswer(client, 'a')(Buffer.from(text), parsed),
        ],
        [
          `renamed events of ${name}`,
          (text: string) => renameEvent(client, 'a')(Buffer.from(`data: ${text}\n\n`), parsed),
        ],
      ] as const
    }),
  ),
}

const mayThrow =
  (...errors: readonly (new (...args: never[]) => Error)[]) =>
  (run: (text: string) => unknown) =>
  (text: string): void => {
    try {
      run(text)
    } catch (error) {
      if (!errors.some((each) => error instanceof each)) throw error
    }
  }

/** Each function ends for any text. Throws any error that it may not end with. */
export const SCANNERS: readonly (readonly [name: string, run: (text: string) => void])[] = [
  ...Object.entries(SPLICERS).map(([name, run]) => [name, mayThrow(splice.JsonStructureError)(run)] as const),
  ...Object.entries(READERS).map(([name, run]) => [name, mayThrow()(run)] as const),
  ...Object.entries(FORMS).map(([name, run]) => [name, mayThrow(GatewayError)(run)] as const),
  ...Object.entries(PARSERS).map(([name, run]) => [name, mayThrow(Error)(run)] as const),
]

/** Texts that a quadratic search would take minutes for, and their beginnings. */
export const REPEATED = [
  ...[
    '[',
    '{',
    '"',
    '\\',
    '\\"',
    '"\\',
    '\\\\"',
    '[[],',
    '"a",',
    '{"a":',
    '{"a":[',
    '"a":1,',
    ',',
    ':',
    ' ',
    '}',
    ']',
  ],
  ...[
    '\n',
    '\r',
    '\n\r',
    'data\n',
    'data: x\n',
    'd\r',
    ': \n',
    'event: a\n',
    'data: {}\n\n',
    '0',
    '1.0',
    '-1e',
    '\\u005c',
    '\\u0061',
  ],
  ...[
    '"\\u0061":1,',
    '1,',
    'é',
    '\ud800',
    '; ',
    'content-disposition: a;',
    '\r\n--a',
    ';name=',
    'sk-a',
    '%5C',
    ' \t',
  ],
] as const
