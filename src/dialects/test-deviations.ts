// Reads answers as a client concludes from them, for tests with the entries of `deviations/`.
import { isDeepStrictEqual } from 'node:util'
import { answerText, type Deviation, streamBytes } from '../../mocks/deviations/read.ts'
import { EMPTY_EVENT, NO_TOKENS, type ParsedEvent, type ProviderError, type Tokens } from '../core/call.ts'
import { Losses } from '../core/losses.ts'
import { formOf, withoutEndMark } from '../providers/attempt-result.ts'
import { AnswerParts } from './answer-parts.ts'
import { crossed, dialectOf, partsOf, peer } from './test-crossing.ts'
import { argumentsOf } from './tools.ts'

export interface Concluded {
  readonly text: string
  readonly reasoning: string
  readonly calls: readonly object[]
  readonly end: string
  readonly sequence: string | null
  readonly tokens: Tokens
  readonly isDoubtful: boolean
  readonly error: ProviderError | null
}

const ENDS = {
  end: 'stop',
  calls: 'calls',
  length: 'length',
  context: 'length',
  sequence: 'stop_sequence',
  refusal: 'refusal',
  pause: 'pause',
}

/** Returns what a client of a dialect concludes from the bytes of an answer with a status below 400. */
export function concluded(dialect: string, bytes: Buffer, isCut = false, size?: number): Concluded {
  const { upstream } = dialectOf(dialect)
  const parts = new AnswerParts(peer(), new Losses())
  const isStream = formOf(bytes.toString('latin1', 0, 1_024)) === 'events'
  let events = []
  try {
    if (isStream)
      events = partsOf(upstream.openStream(parts), bytes, size).flatMap(({ parsed }) => parsed ?? [])
    else events = [upstream.readAnswer(withoutEndMark(bytes).toString('utf8'), parts)]
  } catch (thrown) {
    events = [{ tokens: null, error: { message: String(thrown), code: null, status: null } }]
  }
  const error = events.find((each) => each.error)?.error ?? null
  const tokens = events.findLast((each) => each.tokens)?.tokens ?? NO_TOKENS
  const { blocks, stop, sequence } = parts.answer()
  const isWhole = !isStream && stop === null && parts.unknownStop === null
  const end = stop ?? (isWhole ? (parts.hasCalls ? 'calls' : 'end') : null)
  const hasFailed = error !== null || end === null || (isCut && isStream)
  const texts = (type: 'text' | 'reasoning') =>
    blocks.flatMap((block) => (block.type === type ? [block.text] : [])).join('')
  return {
    text: texts('text'),
    reasoning: texts('reasoning'),
    calls: blocks.flatMap((block) =>
      block.type === 'call' ? [{ name: block.name, arguments: argumentsOf(block.args) }] : [],
    ),
    end: hasFailed ? 'failed' : ENDS[end],
    sequence,
    tokens,
    isDoubtful: (tokens.served?.doubts?.length ?? 0) > 0,
    error,
  }
}

/** The forms of a deviation, with the bytes that the provider sends. */
export const formsOf = (deviation: Deviation): [form: 'stream' | 'whole', bytes: Buffer][] => {
  const [stream, text] = [streamBytes(deviation), answerText(deviation)]
  return [
    ...(stream ? [['stream', stream] as ['stream', Buffer]] : []),
    ...(text === null ? [] : [['whole', Buffer.from(text)] as ['whole', Buffer]]),
  ]
}

/** Counts and words that a client's dialect does not have. */
const UNKNOWN: Readonly<Record<string, readonly string[]>> = {
  chat: ['sequence'],
  responses: ['sequence'],
  gemini: ['sequence', 'cache_write'],
  interactions: ['sequence', 'cache_write'],
}

/**
 * Returns the differences between what a deviation means and what was concluded: directly, or from an answer that the
 * gateway wrote for a client.
 */
export function differences(
  { concludes }: Deviation,
  got: Concluded,
  client: string | null = null,
): string[] {
  const unknown = client === null ? [] : (UNKNOWN[client] ?? [])
  const isPlainStop = concludes.end === 'stop_sequence' && unknown.includes('sequence')
  const wanted = isPlainStop ? 'stop' : concludes.end === 'filter' ? 'refusal' : concludes.end
  const found: string[] = []
  const compare = (what: string, expected: unknown, actual: unknown) => {
    if (!isDeepStrictEqual(actual, expected))
      found.push(`${what}: ${JSON.stringify(actual)}, expected ${JSON.stringify(expected)}`)
  }
  compare('end', wanted, got.end)
  if (concludes.stop_sequence !== undefined && !unknown.includes('sequence'))
    compare('sequence', concludes.stop_sequence, got.sequence)
  if (wanted !== 'failed') {
    compare('text', concludes.text, got.text)
    compare('reasoning', concludes.reasoning, got.reasoning)
    compare('calls', concludes.calls, got.calls)
  }
  const { usage } = concludes
  // An answer that has failed reaches a client of another dialect as an error, without usage.
  if (usage === undefined || (wanted === 'failed' && client !== null)) return found
  const { input, output, cached_input: cached, cache_write, reasoning } = got.tokens
  const counts = { input, output, cached, cache_write, reasoning }
  const names = usage === 'none' ? ['input', 'output'] : Object.keys(usage)
  for (const name of names as (keyof typeof counts)[]) {
    if (unknown.includes(name)) continue
    const expected = usage === 'none' ? 0 : usage[name]
    if (!(concludes.doubt && got.isDoubtful)) compare(`usage.${name}`, expected || 0, counts[name] || 0)
  }
  if (concludes.doubt && !got.isDoubtful) found.push('no doubt')
  return found
}

/** Returns what a client of another dialect concludes, and whether it received the form that it asked for. */
export function translated(
  client: string,
  provider: string,
  bytes: Buffer,
  form: 'stream' | 'whole',
  isCut: boolean,
): { readonly got: Concluded; readonly isForm: boolean } {
  const { translation } = crossed(client, provider, { stream: form === 'stream' })
  const isStream = formOf(bytes.toString('latin1', 0, 1_024)) === 'events'
  const text = withoutEndMark(bytes).toString('utf8')
  let parsed: ParsedEvent[]
  try {
    if (form === 'stream')
      parsed = isStream
        ? partsOf(translation.openStream(), bytes).flatMap((part) => part.parsed ?? [])
        : [translation.asStream(text)]
    else if (!isStream) parsed = [translation.readAnswer(text)]
    else {
      const whole = translation.openWhole()
      const read = partsOf(whole, bytes).flatMap((part) => part.parsed ?? [])
      parsed = read.some(({ error }) => error) ? read : [whole.answer()]
    }
  } catch (thrown) {
    parsed = [{ ...EMPTY_EVENT, error: { message: String(thrown), code: null, status: null } }]
  }
  const end = parsed.findIndex(({ done }) => done)
  const relayed = end < 0 ? parsed : parsed.slice(0, end + 1)
  const sent = Buffer.concat(relayed.flatMap((each) => each.sent ?? []))
  const error = relayed.find((each) => each.error)?.error ?? null
  const tokens = relayed.findLast((each) => each.tokens)?.tokens
  const got = concluded(client, sent, isCut && isStream)
  return {
    got: {
      ...got,
      ...(error && { end: 'failed', error }),
      // Doubts stand on the record, not in the answer.
      isDoubtful: (tokens?.served?.doubts?.length ?? 0) > 0,
    },
    isForm:
      error !== null ||
      sent.length === 0 ||
      formOf(sent.toString('latin1', 0, 1_024)) === (form === 'stream' ? 'events' : 'whole'),
  }
}
