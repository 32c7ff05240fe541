// Makes answers with random compositions of deviations, for tests: the same meaning, written in the ways of many servers.
// Only compositions whose meaning is certain are made.
import assert from 'node:assert/strict'
import { seeded } from '../shared/chance.ts'
import { PAIRS } from './test-crossing.ts'
import { type Concluded, concluded, translated } from './test-deviations.ts'

/** Random numbers, uniform in [0, 1). */
type Random = () => number

interface Meaning {
  readonly text: string
  readonly reasoning: string
  readonly calls: readonly { readonly name: string; readonly arguments: object }[]
  readonly end: 'stop' | 'calls' | 'length'
  readonly usage: { readonly input: number; readonly output: number; readonly cached: number }
}

interface Dice {
  /** Returns true with a probability. */
  chance(of: number): boolean
  /** Returns one of some values. */
  one<Value>(...values: readonly Value[]): Value
  /** Cuts a text into pieces, also between the halves of a character. */
  cut(text: string): string[]
}

function diceOf(random: Random): Dice {
  const under = (most: number) => Math.floor(random() * most)
  return {
    chance: (of) => random() < of,
    one: (...values) => values[under(values.length)]!,
    cut(text) {
      const pieces = []
      for (let at = 0; at < text.length; ) {
        const size = 1 + under(8)
        pieces.push(text.slice(at, at + size))
        at += size
      }
      return pieces
    },
  }
}

const TEXTS = [
  '',
  'Hello',
  'Grüße 👋🏽 aus 日本',
  'a\n\nb\u2028c',
  '{"city":"no call"}',
  ' leading and trailing ',
]
const CALLS = [
  { name: 'get_weather', arguments: { city: 'Oslo' } },
  { name: 'get_time', arguments: { zone: 'Europe/Zürich 🕰️', deep: { a: [1, { b: '}{' }] } } },
  { name: 'stop', arguments: {} },
]

/** Makes a meaning. */
function meaningOf(random: Random): Meaning {
  const { one, chance } = diceOf(random)
  const calls = chance(0.6) ? [] : CALLS.slice(0, one(1, 2, 3))
  const text = calls.length === 0 ? one(...TEXTS.slice(1)) : one(...TEXTS)
  return {
    text,
    reasoning: chance(0.3) ? one('Hmm', 'ich 🤔 denke') : '',
    calls,
    end: calls.length > 0 ? 'calls' : one('stop', 'length'),
    usage: { input: one(20, 4_000), output: one(5, 900), cached: one(0, 16) },
  }
}

/** Writes a meaning as the stream of a dialect. */
export function disturbedStream(dialect: string, meaning: Meaning, random: Random): Buffer {
  const dice = diceOf(random)
  const events = WRITERS[dialect as keyof typeof WRITERS](meaning, dice)
  const end = dice.one('\n', '\r\n', '\r')
  const isNamed = dice.chance(0.7)
  const space = dice.one(' ', '')
  let text = dice.chance(0.1) ? '\ufeff' : ''
  for (const [at, event] of events.entries()) {
    if (dice.chance(0.05)) text += dice.one(': ping', 'data:', 'retry: 10', 'id: 7') + end + end
    const name = { chat: '', gemini: '', interactions: 'event_type' }[dialect] ?? 'type'
    const type = typeof event === 'object' ? event[name] : null
    if (type && isNamed) text += `event:${space}${type}${end}`
    text += `data:${space}${typeof event === 'string' ? event : JSON.stringify(event)}${end}`
    if (at < events.length - 1 || dice.chance(0.8)) text += end
  }
  return Buffer.from(text)
}

type Written = (string | { readonly type?: string; readonly [name: string]: unknown })[]
type Writer = (meaning: Meaning, dice: Dice) => Written

const NOISE = { x_future: { a: [1] }, system_fingerprint: null }

const chat: Writer = ({ text, reasoning, calls, end, usage }, { one, chance, cut }) => {
  const none = one<object>({ finish_reason: null }, { finish_reason: '' }, {})
  const chunk = (delta: unknown, more: object = none) => ({
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, ...more }],
    ...(chance(0.1) && NOISE),
  })
  const events: Written = []
  if (chance(0.8)) events.push(chunk({ role: 'assistant', content: one('', null) }))
  const member = one('reasoning_content', 'reasoning')
  for (const piece of cut(reasoning)) events.push(chunk({ [member]: piece, content: one('', null) }))
  for (const piece of cut(text))
    events.push(
      chunk({ content: piece, ...(chance(0.1) && { role: 'assistant', tool_calls: one(null, []) }) }),
    )
  const way = one(
    'usual',
    'fresh ids',
    'empty ids',
    'null ids',
    'whole',
    'same index',
    'no index',
    'objects',
    'again',
  )
  for (const [index, call] of calls.entries()) {
    const args = JSON.stringify(call.arguments)
    const isNone = args === '{}'
    const fragment = (more: object, name: unknown, made: unknown) =>
      events.push(chunk({ tool_calls: [{ ...more, type: 'function', function: { name, arguments: made } }] }))
    if (way === 'whole')
      fragment({ index, id: `id${index}` }, call.name, isNone ? one('{}', '', null, 'null') : args)
    else if (way === 'same index') fragment({ index: 0, id: `id${index}` }, call.name, args)
    else if (way === 'no index') fragment(chance(0.5) ? { id: `id${index}` } : {}, call.name, args)
    else if (way === 'objects') fragment({ index }, call.name, call.arguments)
    else {
      const names = chance(0.2) ? [call.name.slice(0, 3), call.name.slice(3)] : [call.name]
      for (const [at, name] of names.entries())
        fragment({ index, ...(at === 0 && { id: `id${index}` }) }, name, '')
      const id = { usual: undefined, 'fresh ids': 'x', 'empty ids': '', 'null ids': null, again: undefined }[
        way
      ]
      for (const [at, piece] of cut(args).entries())
        fragment(
          { index, ...(id !== undefined && { id: id === 'x' ? `x${index}-${at}` : id }) },
          one(null, undefined, ''),
          piece,
        )
      if (way === 'again' && !isNone) fragment({ index }, undefined, args)
    }
  }
  const word = {
    stop: ['stop', 'STOP', 'end_turn', 'eos'],
    length: ['length', 'max_tokens'],
    calls: ['tool_calls', 'stop', 'function_call', 'tool_use'],
  }
  const counts = {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
  }
  const details = one<object>(
    { cached_tokens: usage.cached },
    { prompt_tokens_details: { cached_tokens: usage.cached } },
    { prompt_cache_hit_tokens: usage.cached },
  )
  const told = { ...counts, ...details }
  const place = one('last', 'with the reason', 'in the choice', 'before zeros', 'groq', 'as texts')
  const last = (chance(0.1) && chunk({ function_call: { name: '', arguments: '' } })) || null
  if (last) events.push(last)
  events.push({
    ...chunk(one<unknown>({}, { content: '' }, null), {
      finish_reason: one(...word[end]),
      ...(place === 'in the choice' && { usage: told }),
    }),
    ...(place === 'with the reason' && { usage: told }),
    ...(place === 'groq' && { x_groq: { usage: told } }),
  })
  const only = (counted: object) => events.push({ ...chunk({}), choices: [], usage: counted })
  if (place === 'last' || place === 'before zeros') only(told)
  if (place === 'as texts')
    only(
      Object.fromEntries(
        Object.entries(told).map(([name, count]) => [
          name,
          typeof count === 'number' ? String(count) : count,
        ]),
      ),
    )
  if (place === 'before zeros') only({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 })
  for (let n = one(0, 1, 1, 1, 2); n > 0; n--) events.push('[DONE]')
  return events
}

const messages: Writer = ({ text, reasoning, calls, end, usage }, { one, chance, cut }) => {
  const input = { input_tokens: usage.input - usage.cached, cache_read_input_tokens: usage.cached }
  const isEarly = chance(0.5)
  const events: Written = []
  if (isEarly || chance(0.8))
    events.push({
      type: 'message_start',
      message: {
        id: 'm',
        type: 'message',
        role: 'assistant',
        model: 'm',
        content: [],
        stop_reason: null,
        usage: isEarly ? { ...input, output_tokens: 1 } : {},
      },
    })
  const step = one(1, 1, 3)
  let index = -step
  const isSame = chance(0.1)
  const hasStops = chance(0.9)
  const block = (begin: object, deltas: readonly object[], isBegun = true) => {
    index = isSame ? 0 : index + step
    if (isBegun) events.push({ type: 'content_block_start', index, content_block: begin })
    if (chance(0.1)) events.push({ type: 'ping' })
    for (const delta of deltas) events.push({ type: 'content_block_delta', index, delta })
    if (hasStops) events.push({ type: 'content_block_stop', index })
  }
  if (reasoning !== '')
    block({ type: 'thinking', thinking: '', signature: '' }, [
      ...cut(reasoning).map((thinking) => ({ type: 'thinking_delta', thinking })),
      { type: 'signature_delta', signature: 'c2ln' },
    ])
  if (text !== '')
    block(
      { type: 'text', text: '' },
      cut(text).map((piece) => ({ type: 'text_delta', text: piece })),
      chance(0.9),
    )
  for (const [n, call] of calls.entries()) {
    const args = JSON.stringify(call.arguments)
    const way = one('usual', 'in the start', 'both', 'at once')
    const begin = {
      type: 'tool_use',
      id: `toolu_${n}`,
      name: call.name,
      input: way === 'in the start' || way === 'both' ? call.arguments : {},
    }
    const pieces = way === 'in the start' ? [] : way === 'at once' ? [args] : cut(args)
    block(
      begin,
      pieces.map((partial_json) => ({ type: 'input_json_delta', partial_json })),
    )
  }
  const word = {
    stop: ['end_turn', 'stop'],
    length: ['max_tokens', 'length'],
    calls: ['tool_use', 'end_turn', 'tool_calls'],
  }
  const counts = { ...(isEarly ? one<object>({}, { input_tokens: 0 }) : input), output_tokens: usage.output }
  events.push({
    type: 'message_delta',
    delta: { stop_reason: one(...word[end]), stop_sequence: null },
    usage: counts,
  })
  if (chance(0.1))
    events.push({ type: 'message_delta', delta: {}, usage: { input_tokens: 0, output_tokens: 0 } })
  if (chance(0.9)) events.push({ type: 'message_stop' })
  if (chance(0.1)) events.push('[DONE]')
  return events
}

const responses: Writer = ({ text, reasoning, calls, end, usage }, { one, chance, cut }) => {
  const events: Written = []
  const body = (status: string, output: readonly object[], more: object = {}) => ({
    id: 'r',
    object: 'response',
    model: 'm',
    status,
    output,
    ...more,
  })
  if (chance(0.9)) events.push({ type: 'response.created', response: body('in_progress', []) })
  const where = one('both', 'index', 'id')
  const output: {
    readonly item: object
    readonly deltas: [string, string][]
    readonly done: object | null
  }[] = []
  if (reasoning !== '')
    output.push({
      item: { id: 'rs', type: 'reasoning', summary: [{ type: 'summary_text', text: reasoning }] },
      deltas: cut(reasoning).map((piece) => ['reasoning_summary_text', piece]),
      done: null,
    })
  if (text !== '')
    output.push({
      item: {
        id: 'msg',
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text, annotations: [] }],
      },
      deltas: cut(text).map((piece) => ['output_text', piece]),
      done: { type: 'response.output_text.done', content_index: 0, text },
    })
  for (const [n, call] of calls.entries()) {
    const args = JSON.stringify(call.arguments)
    output.push({
      item: {
        id: `fc${n}`,
        type: 'function_call',
        call_id: `call_${n}`,
        name: call.name,
        status: 'completed',
        arguments: chance(0.1) ? call.arguments : args,
      },
      deltas: cut(args).map((piece) => ['function_call_arguments', piece]),
      done: { type: 'response.function_call_arguments.done', arguments: args },
    })
  }
  const given = one('usual', 'deltas', 'done', 'items', 'last')
  for (const [n, { item, deltas, done }] of output.entries()) {
    const { id, type } = item as { id: string; type: string }
    const at = { ...(where !== 'id' && { output_index: n }), ...(where !== 'index' && { item_id: id }) }
    if (given === 'last') continue
    if (given !== 'items')
      events.push({
        type: 'response.output_item.added',
        ...at,
        item:
          type === 'message'
            ? { ...item, content: [] }
            : type === 'reasoning'
              ? { ...item, summary: [] }
              : { ...item, arguments: '' },
      })
    if (given === 'usual' || given === 'deltas')
      for (const [name, delta] of deltas)
        events.push({
          type: `response.${name}.delta`,
          ...at,
          ...(name === 'output_text' && { content_index: 0 }),
          delta,
        })
    if (done && (given === 'usual' || given === 'done')) events.push({ ...done, ...at } as { type: string })
    if (given === 'usual' || given === 'items' || (given === 'done' && type === 'reasoning'))
      events.push({ type: 'response.output_item.done', ...at, item })
  }
  const told = {
    input_tokens: usage.input,
    input_tokens_details: { cached_tokens: usage.cached },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: usage.input + usage.output,
  }
  const items = given === 'last' || chance(0.5) ? output.map(({ item }) => item) : []
  const isCut = end === 'length'
  events.push({
    type: isCut ? 'response.incomplete' : one('response.completed', 'response.done'),
    response: body(isCut ? 'incomplete' : 'completed', items, {
      usage: told,
      incomplete_details: isCut ? one<unknown>({ reason: 'max_output_tokens' }, null) : null,
    }),
  })
  if (chance(0.2)) events.push('[DONE]')
  return events
}

const gemini: Writer = ({ text, reasoning, calls, end, usage }, { one, chance, cut }) => {
  const parts: object[] = [
    ...cut(reasoning).map((piece) => ({ text: piece, thought: true })),
    ...cut(text).map((piece) => ({ text: piece })),
    ...calls.map(({ name, arguments: args }, n) => ({
      functionCall: {
        name,
        ...(Object.keys(args).length > 0 || chance(0.5) ? { args } : {}),
        ...(chance(0.3) && { id: `g${n}` }),
      },
    })),
  ]
  if (chance(0.2)) parts.push({ text: '', thoughtSignature: 'c2ln' })
  const isEach = chance(0.2)
  const isWrapped = chance(0.1)
  const reason = end === 'length' ? 'MAX_TOKENS' : 'STOP'
  const events: Written = []
  for (let at = 0; at < parts.length || at === 0; ) {
    const size = one(1, 1, 2, 3)
    const isLast = at + size >= parts.length
    const answer = {
      candidates: [
        {
          content: { role: 'model', parts: parts.slice(at, at + size) },
          ...(isLast || isEach ? { finishReason: reason } : {}),
          ...(chance(0.8) && { index: 0 }),
        },
      ],
      modelVersion: 'm',
      ...(isLast || chance(0.2)
        ? {
            usageMetadata: {
              promptTokenCount: usage.input,
              cachedContentTokenCount: usage.cached,
              candidatesTokenCount: isLast ? usage.output : 1,
              totalTokenCount: usage.input + usage.output,
            },
          }
        : {}),
    }
    events.push(isWrapped ? { response: answer } : answer)
    at += size
  }
  if (chance(0.1)) events.push('[DONE]')
  return events
}

const interactions: Writer = ({ text, reasoning, calls, end, usage }, { one, chance, cut }) => {
  const events: Written = []
  const event = (event_type: string, more: object) =>
    events.push({ event_type, ...more, ...(chance(0.1) && NOISE) })
  const state = (status: string, more: object = {}) => ({
    interaction: { id: one('v1_1', ''), object: 'interaction', model: 'm', status, ...more },
  })
  if (chance(0.9)) event('interaction.created', state('in_progress'))
  if (chance(0.7)) event('interaction.status_update', { interaction_id: 'v1_1', status: 'in_progress' })
  const isOld = chance(0.1)
  const part = isOld ? 'content' : 'step'
  const steps: { readonly start: object; readonly deltas: readonly object[]; readonly whole: object }[] = []
  const summary = [{ type: 'text', text: reasoning }]
  if (reasoning !== '' || chance(0.1))
    steps.push({
      start: { type: 'thought', ...(chance(0.3) && { signature: '' }) },
      deltas: [
        ...cut(reasoning).map((piece) => ({
          type: 'thought_summary',
          content: { type: 'text', text: piece },
        })),
        ...(chance(0.8) ? [{ type: 'thought_signature', signature: one('c2ln', '') }] : []),
      ],
      whole: { type: 'thought', signature: 'c2ln', summary: reasoning === '' ? [] : summary },
    })
  if (text !== '') {
    const pieces = cut(text)
    const first = !isOld && chance(0.2) ? [{ type: 'text', text: pieces.shift()! }] : one(undefined, [])
    steps.push({
      start: isOld ? { type: 'text' } : { type: 'model_output', ...(first && { content: first }) },
      deltas: pieces.map((piece) => ({ type: 'text', text: piece })),
      whole: { type: 'model_output', content: [{ type: 'text', text }] },
    })
  }
  for (const [n, call] of calls.entries()) {
    const whole = { type: 'function_call', id: `c${n}`, ...call }
    const isAtOnce = chance(0.2)
    steps.push({
      start: isOld
        ? { type: 'function_call' }
        : { ...whole, arguments: isAtOnce ? call.arguments : {}, ...(chance(0.5) && { signature: '' }) },
      deltas: isOld
        ? [whole]
        : isAtOnce
          ? []
          : cut(JSON.stringify(call.arguments)).map((piece) => ({
              type: 'arguments_delta',
              arguments: piece,
            })),
      whole,
    })
  }
  const isLastOnly = !isOld && chance(0.1)
  const isMixed = chance(0.2)
  const hasStops = chance(0.9)
  const isSame = !isMixed && hasStops && chance(0.1)
  const written = steps.map(({ start, deltas }, n) => {
    const index = isSame ? 0 : n
    return [
      [`${part}.start`, { index, [part]: start }] as const,
      ...deltas.map((delta) => [`${part}.delta`, { index, delta }] as const),
      ...(hasStops ? [[`${part}.stop`, { index }] as const] : []),
    ]
  })
  // The events of two calls may come in turns.
  const isCall = ({ start }: (typeof steps)[number]) => (start as { type: string }).type === 'function_call'
  const [before, last] = [
    steps.filter((step) => !isCall(step)).length,
    isMixed ? Math.max(...written.map((w) => w.length), 0) : 0,
  ]
  const inTurns = Array.from({ length: last }, (_, at) =>
    written.slice(before).flatMap((own) => own.slice(at, at + 1)),
  )
  const order = isMixed ? [...written.slice(0, before).flat(), ...inTurns.flat()] : written.flat()
  if (!isLastOnly) for (const [type, more] of order) event(type, more)
  const told = {
    total_input_tokens: usage.input,
    total_cached_tokens: usage.cached,
    ...(chance(0.5)
      ? { total_output_tokens: usage.output, total_thought_tokens: 0 }
      : { total_output_tokens: usage.output - 2, total_thought_tokens: 2 }),
    total_tokens: usage.input + usage.output,
  }
  const status = { stop: 'completed', length: 'incomplete', calls: one('requires_action', 'completed') }[end]
  const again = isLastOnly || chance(0.2)
  event(
    isOld ? 'interaction.complete' : 'interaction.completed',
    state(status, { usage: told, ...(again && { steps: steps.map(({ whole }) => whole) }) }),
  )
  if (chance(0.5)) events.push('[DONE]')
  return events
}

const WRITERS = { chat, messages, responses, gemini, interactions }

/** Dialects of which answers are made. */
export const GENERATED = Object.keys(WRITERS)

/** Checks that a composition means the same as the undisturbed answer, natively and for a client of another dialect. */
export function assertSame(dialect: string, seed: number): void {
  const random = seeded(seed)
  const meaning = meaningOf(random)
  const bytes = disturbedStream(dialect, meaning, random)
  const clients = PAIRS.flatMap(([client, provider]) => (provider === dialect ? [client] : []))
  const client = clients[seed % clients.length]!
  const form = seed % 2 === 0 ? 'stream' : 'whole'
  const rows = [
    ['natively', concluded(dialect, bytes, false, 1 + Math.floor(random() * 100))],
    [`${form} for a ${client} client`, translated(client, dialect, bytes, form, false).got],
  ] as const
  for (const [how, got] of rows)
    assert.deepEqual(wrongIn(meaning, got), {}, `WAYBILL_DEVIATIONS_SEED=${seed}, ${how}: ${bytes}`)
}

/** Returns what differs from the meaning. */
function wrongIn({ text, reasoning, calls, end, usage }: Meaning, got: Concluded): object {
  const { input, output, cached_input } = got.tokens
  const counts = [input, output, cached_input ?? 0]
  const wrong: Record<string, unknown> = {}
  if (got.text !== text) wrong.text = got.text
  if (got.reasoning !== reasoning) wrong.reasoning = got.reasoning
  if (JSON.stringify(got.calls) !== JSON.stringify(calls)) wrong.calls = got.calls
  if (got.end !== end) wrong.end = [got.end, got.error]
  if (!got.isDoubtful && JSON.stringify(counts) !== JSON.stringify([usage.input, usage.output, usage.cached]))
    wrong.usage = counts
  return wrong
}
