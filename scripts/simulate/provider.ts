// Providers of a simulation. Each writes every request that reaches it into the ledger, and answers as the history says,
// also wrongly, late or never.
import {
  answerText,
  type DeviatingDialect,
  type Deviation,
  readDeviations,
  streamParts,
} from '../../mocks/deviations/read.ts'
import { clock } from '../../src/shared/clock.ts'
import type { Dice } from './machine.ts'
import { type FarEnd, type FarListener, HttpReader, type Message } from './network.ts'

export const SPOKEN = ['chat', 'messages', 'responses', 'gemini'] as const
export type SimulatedDialect = (typeof SPOKEN)[number] & DeviatingDialect

/** Ways to answer. `n` of a `Deed` says more. */
export const DEEDS = [
  'answers',
  'answers late',
  'drips',
  'refuses',
  'refuses with an answer',
  'ends at once',
  'breaks off',
  'ends early',
  'never answers',
  'stops in the middle',
  'deviates',
  'breaks an event',
  'sends garbage',
  'tells its key',
] as const
export interface Deed {
  readonly how: (typeof DEEDS)[number]
  readonly n: number
}

/** Tokens that every right answer reports. */
export const TOKENS = { input: 11, output: 7 }
const STATUSES = [500, 503, 429, 400, 401, 404, 529, 422]

/** Deviations of a dialect that have this form. Reading the files takes longer than many a history. */
const deviationsOf = (wanted: SimulatedDialect, isStream: boolean): readonly Deviation[] =>
  (deviations[`${wanted} ${isStream}`] ??= readDeviations().filter(
    (each) =>
      each.dialect === wanted &&
      each.answer_raw === undefined &&
      each.stream_base64 === undefined &&
      deviating(each, isStream) !== null,
  ))
const deviations: Record<string, readonly Deviation[]> = {}

/** One inference. */
export interface Inference {
  /** Names the client's request; null for a request that no client made. */
  readonly nonce: string | null
  readonly provider: string
  readonly model: string
  readonly deed: Deed
  /** Key with which it was asked for. */
  readonly key: string
  readonly deviation: Deviation | null
  /** True once all bytes of a right answer, or of a deviation, were sent. */
  isSent: boolean
}

export interface SimulatedProvider {
  readonly name: string
  readonly dialect: SimulatedDialect
  readonly origin: string
}

/** Name of a client's request, with its key, as it is in prompts, answers and sessions. */
export const NONCE = /n\d+-(?:ann|bob|eve|root)\b/

/** Names the request that a prompt belongs to; a conversation has several. */
const ASKED = /ask (n\d+-(?:ann|bob|eve|root)\b)/g

/** Id of the response to a request. */
export const responseIdOf = (nonce: string): string => `resp_${nonce.replace('-', '_')}`

/** What a request asks for. */
export interface ProviderAsk {
  /** Endpoint besides those of the dialect; null if it is the dialect's. */
  readonly other: string | null
  readonly model: string
  readonly isStream: boolean
  readonly nonce: string | null
}

/** Serves one connection. `arrived` notes an inference, and says how to answer it. */
export function serveProvider(
  provider: SimulatedProvider,
  far: FarEnd,
  dice: Dice,
  arrived: (request: Message, asked: ProviderAsk) => Inference,
): void {
  const answer = (request: Message) => {
    // The gateway asks for a kept response, which causes no inference.
    if (/^(GET|DELETE) \/v1\/responses\//.test(request.start)) {
      far.send('HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}')
      return
    }
    const isJson = request.headers['content-type']?.includes('json')
    const json: { model?: string; stream?: boolean } = isJson ? JSON.parse(request.body) : {}
    const asked = [...request.body.matchAll(ASKED)]
    const nonce = asked.at(-1)?.[1] ?? NONCE.exec(request.start)?.[0] ?? null
    const other = /\/v1\/(completions|moderations|files|embeddings)/.exec(request.start)?.[1] ?? null
    const inPath = /\/models\/([^:]+):(\w+)/.exec(request.start)
    const isStream = inPath ? inPath[2] === 'streamGenerateContent' : json.stream === true
    const model = inPath ? decodeURIComponent(inPath[1]!) : (json.model ?? '')
    const inference = arrived(request, { model, isStream, nonce, other })
    const answer = other && otherAnswer(other, asked.length, inference)
    const isRelayed = answer !== null && other !== 'embeddings'
    perform(provider, far, inference, { isStream, answer, isRelayed }, dice)
  }
  const reader = new HttpReader(() => {}, answer)
  far.listener = {
    data: (bytes) => reader.feed(bytes),
    end: () => far.cut(false),
    gone() {},
  } satisfies FarListener
}

function perform(
  provider: SimulatedProvider,
  far: FarEnd,
  inference: Inference,
  { isStream, answer: other, isRelayed }: { isStream: boolean; answer: string | null; isRelayed: boolean },
  dice: Dice,
): void {
  const { deed, deviation, nonce, model } = inference
  const { how, n } = deed
  const text = wordsOf(inference)
  const answer = other ?? whole(provider.dialect, model, text.join(''), nonce)
  const plain = isStream && other === null ? events(provider.dialect, model, text, nonce, n) : [answer]
  const pieces = (deviation && deviating(deviation, isStream)) ?? plain
  const status = how.startsWith('refuses') ? STATUSES[n % STATUSES.length]! : (deviation?.status ?? 200)
  const type = isStream && !how.startsWith('refuses') ? 'text/event-stream' : 'application/json'
  const headers = { 'content-type': type, ...deviation?.headers }
  const send = (bytes: Buffer | string) => far.send(bytes)
  const head = (length: number | null) =>
    `HTTP/1.1 ${status} Said\r\n${Object.entries(headers)
      .flatMap(([name, value]) => (value === null ? [] : `${name}: ${value}\r\n`))
      .join('')}${length === null ? 'transfer-encoding: chunked' : `content-length: ${length}`}\r\n\r\n`
  const chunk = (piece: string) => `${Buffer.byteLength(piece).toString(16)}\r\n${piece}\r\n`
  const all = () => {
    if (isStream) send(`${head(null)}${pieces.map(chunk).join('')}${deviation?.cut ? '' : '0\r\n\r\n'}`)
    else send(head(Buffer.byteLength(pieces.join(''))) + pieces.join(''))
    inference.isSent = true
    if (deviation?.cut) far.cut(false)
  }
  const part = () => {
    const some = pieces.slice(0, 1 + (n % Math.max(1, pieces.length - 4)))
    if (isStream) send(head(null) + some.map(chunk).join(''))
    else send(head(Buffer.byteLength(pieces[0]!)) + pieces[0]!.slice(0, pieces[0]!.length >> 1))
  }
  const drip = () => {
    const bytes = isStream
      ? [head(null), ...pieces.map(chunk), '0\r\n\r\n']
      : [head(Buffer.byteLength(pieces[0]!)), ...halves(pieces[0]!)]
    const next = () => {
      send(bytes.shift()!)
      if (bytes.length === 0) inference.isSent = true
      else if (dice.int(4) === 0) setImmediate(next)
      else clock.after(n + 1, next)
    }
    next()
  }
  const refuse = () => {
    const error = { type: 'some_error', message: `refused ${nonce}`, code: `e${status}` }
    const body = how === 'refuses' ? JSON.stringify({ type: 'error', error }) : answer
    const retry = status === 429 && n % 2 === 1 ? 'retry-after: 1\r\n' : ''
    send(head(Buffer.byteLength(body)).replace('\r\n\r\n', `\r\n${retry}\r\n`) + body)
  }
  const deeds: Readonly<Record<Deed['how'], () => unknown>> = {
    answers: all,
    deviates: all,
    'breaks an event': () => {
      if (isStream) pieces[n % pieces.length] = `${pieces[n % pieces.length]!.slice(0, -3 - (n % 30))}\n\n`
      all()
    },
    'tells its key': all,
    'answers late': () => clock.after(50 * (n + 1), all),
    drips: drip,
    refuses: refuse,
    'refuses with an answer': refuse,
    'ends at once': () => far.cut(n % 2 === 0),
    'breaks off': () => {
      part()
      clock.after(n + 1, () => far.cut(n % 2 === 0))
    },
    'ends early': () => {
      part()
      if (isStream) send('0\r\n\r\n')
      else far.cut(false)
    },
    'never answers': () => {},
    'stops in the middle': part,
    'sends garbage': () => {
      send(GARBAGE[n % GARBAGE.length]!)
      inference.isSent = isRelayed && n % GARBAGE.length > 0 // such an answer is relayed as it is
    },
  }
  deeds[how]()
}

/** Returns the words of an answer, the first and the last with the name of its request. */
const wordsOf = ({ key, nonce, deed: { how, n } }: Inference): string[] => [
  `said-${nonce}`,
  ...Array.from({ length: n % 12 }, () => (n % 20 === 19 ? LONG : ' word ')),
  how === 'tells its key' ? key : '',
  ` end-${nonce}`,
]

const GARBAGE = [
  'nonsense\r\n\r\n',
  'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 3\r\n\r\n{"a',
  'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 0\r\n\r\n',
]

/** `n` of a deed with an answer that is longer than what a connection holds for a reader that stalls. */
export const LONG_ANSWER = 59
const LONG = ' long'.repeat(4_000)

/** Picks the deviation of a deed; null if it is another deed. */
export function deviationOf(
  dialect: SimulatedDialect,
  { how, n }: Deed,
  isStream: boolean,
): Deviation | null {
  if (how !== 'deviates') return null
  const some = deviationsOf(dialect, isStream)
  return some[n % some.length]!
}

/** Returns the pieces of a deviation; null if it has none of this form. */
const deviating = (deviation: Deviation, isStream: boolean): string[] | null => {
  if (isStream) return streamParts(deviation)?.map(String) ?? null
  const text = answerText(deviation)
  return text === null ? null : [text]
}

const halves = (text: string): string[] => [text.slice(0, text.length >> 1), text.slice(text.length >> 1)]

/** Returns the answer of an endpoint besides those of the dialect, to a request with some prompts. */
function otherAnswer(what: string, prompts: number, { nonce, deed, model, key }: Inference): string {
  const text = `said-${nonce} ${deed.how === 'tells its key' ? key : ''} end-${nonce}`
  const input = prompts * TOKENS.input
  const output = prompts * TOKENS.output
  if (what === 'embeddings')
    return JSON.stringify({
      ...{ object: 'list', model, data: [{ object: 'embedding', index: 0, embedding: [0.5] }], note: text },
      usage: { prompt_tokens: TOKENS.input, total_tokens: TOKENS.input },
    })
  if (what === 'moderations') return JSON.stringify({ id: text, model, results: [{ flagged: false }] })
  if (what === 'completions')
    return JSON.stringify({
      ...{ id: 'cmpl-1', object: 'text_completion', created: 1, model },
      choices: Array.from({ length: prompts }, (_, index) => ({ text, index, finish_reason: 'stop' })),
      usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
    })
  if (prompts === 0) return JSON.stringify({ object: 'list', data: [], has_more: false, note: text })
  const id = `file-${nonce!.replace('-', '')}`
  return JSON.stringify({ id, object: 'file', bytes: 9, filename: text, purpose: 'assistants' })
}

function whole(dialect: SimulatedDialect, model: string, text: string, nonce: string | null): string {
  const { input, output } = TOKENS
  const usage = { input_tokens: input, output_tokens: output }
  return JSON.stringify(
    {
      chat: {
        id: 'chatcmpl-1',
        object: 'chat.completion',
        created: 1,
        model,
        choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
        usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
      },
      messages: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model,
        content: [{ type: 'text', text }],
        stop_reason: 'end_turn',
        stop_sequence: null,
        usage,
      },
      responses: {
        id: responseIdOf(nonce ?? ''),
        object: 'response',
        created_at: 1,
        status: 'completed',
        model,
        output: [
          {
            type: 'message',
            id: 'msg_1',
            role: 'assistant',
            status: 'completed',
            content: [{ type: 'output_text', text, annotations: [] }],
          },
        ],
        usage: { ...usage, total_tokens: input + output },
      },
      gemini: {
        candidates: [{ index: 0, content: { role: 'model', parts: [{ text }] }, finishReason: 'STOP' }],
        usageMetadata: {
          promptTokenCount: input,
          candidatesTokenCount: output,
          totalTokenCount: input + output,
        },
        modelVersion: model,
        responseId: 'r1',
      },
    }[dialect],
  )
}

/** Returns the events of a right answer, one for each word and some more. `n`: oddities. */
function events(
  dialect: SimulatedDialect,
  model: string,
  words: readonly string[],
  nonce: string | null,
  n: number,
): string[] {
  const answer = JSON.parse(whole(dialect, model, words.join(''), nonce))
  const all = {
    chat: chatEvents,
    messages: messagesEvents,
    responses: responsesEvents,
    gemini: geminiEvents,
  }[dialect]
  const named = ({ type }: { type?: string }) => (type ? `event: ${type}\n` : '')
  const texts = all(answer, words, n).map((data) => `${named(data)}data: ${JSON.stringify(data)}\n\n`)
  return dialect === 'chat' ? [...texts, 'data: [DONE]\n\n'] : texts
}

/** A whole answer of some dialect. */
interface WholeAnswer {
  readonly choices?: unknown
  readonly usage?: unknown
  readonly candidates?: unknown
  readonly usageMetadata?: unknown
  readonly output?: readonly { readonly content: readonly unknown[] }[]
}

type Events = (answer: WholeAnswer, words: readonly string[], n: number) => object[]

/** Some servers send a second usage, without counts. */
const ZEROS = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }

const chatEvents: Events = ({ choices: _, usage, ...same }, words, n) => {
  const chunk = (delta: object, finish_reason: string | null = n % 5 === 0 ? '' : null) => ({
    ...same,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason }],
  })
  return [
    ...words.map((content, n) => chunk({ ...(n === 0 && { role: 'assistant' }), content })),
    chunk({}, 'stop'),
    { ...chunk({}), choices: [], usage },
    ...(n % 7 === 0 ? [{ ...chunk({}), choices: [], usage: ZEROS }] : []),
  ]
}

const messagesEvents: Events = (answer, words, n) => [
  { type: 'message_start', message: { ...answer, content: [], stop_reason: null } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  ...words.map((text) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })),
  { type: 'content_block_stop', index: 0 },
  {
    type: 'message_delta',
    delta: { stop_reason: 'end_turn', stop_sequence: null },
    usage: { output_tokens: TOKENS.output, ...(n % 7 === 0 && { input_tokens: 0 }) },
  },
  { type: 'message_stop' },
]

const responsesEvents: Events = (answer, words) => {
  const item = answer.output![0]!
  const at = { item_id: 'msg_1', output_index: 0, content_index: 0 }
  return [
    { type: 'response.created', response: { ...answer, status: 'in_progress', output: [], usage: null } },
    {
      type: 'response.output_item.added',
      output_index: 0,
      item: { ...item, status: 'in_progress', content: [] },
    },
    { type: 'response.content_part.added', ...at, part: { type: 'output_text', text: '', annotations: [] } },
    ...words.map((delta) => ({ type: 'response.output_text.delta', ...at, delta })),
    { type: 'response.output_text.done', ...at, text: words.join('') },
    { type: 'response.content_part.done', ...at, part: item.content[0] },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: answer },
  ].map((event, sequence_number) => ({ ...event, sequence_number }))
}

const geminiEvents: Events = ({ usageMetadata, candidates: _, ...same }, words) =>
  words.map((text, n) => {
    const isLast = n === words.length - 1
    const end = isLast ? { finishReason: 'STOP' } : {}
    const candidate = { index: 0, content: { role: 'model', parts: [{ text }] }, ...end }
    return { ...same, candidates: [candidate], ...(isLast && { usageMetadata }) }
  })
