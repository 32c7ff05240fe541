// Checks that the wishes of a request reach the provider across dialects.
import { isDeepStrictEqual } from 'node:util'
import type { DialectName } from '../../dialects/dialect.ts'
import { modelsOf, providerDialectOf, requestsOf } from '../../dialects/lookup.ts'
import { type Exchange, step } from '../../evidence/evidence.ts'
import { type AnyJson, jsonOf } from '../../evidence/reading.ts'
import { each, family } from '../check.ts'
import { type AskedFor, askedFor, namesLoss } from './asked.ts'

const check = family()

/** Step of a call; `what` is the name of an option in WISHES. */
const call = step<{ model: string; what: string; stream: boolean }>('call')

const LIMIT = 1_234
const STOP = ['<<end>>', '<<stop>>']
/** Instructions in two parts: clients send several parts, and each part must arrive. */
const RULES = ['You know the roads, and answer in one sentence.', 'Name no tolls.']
/** Values other than the defaults: one is fractional, one is at a bound. */
const [TEMPERATURE, TOP_P] = [0.3, 0.85]

const SCHEMA = {
  type: 'object',
  properties: {
    from: { type: 'string', description: 'Where the road begins.' },
    via: { type: 'array', items: { type: 'string', enum: ['pass', 'ford'] } },
    days: { type: 'integer' },
  },
  required: ['from'],
}
const TOOLS = [
  { name: 'find_road', description: 'Finds a road.', schema: SCHEMA },
  { name: 'find_inn', description: 'Finds an inn.', schema: { type: 'object', properties: {} } },
]
/** Unique member name. */
export const MEMBER = 'milestones_of_the_road'
export const FORMAT = {
  type: 'object',
  properties: { [MEMBER]: { type: 'integer' } },
  required: [MEMBER],
  additionalProperties: false,
}
/** One white pixel. */
export const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='
/**
 * Tool calls. The first result has two parts if the dialect supports parts; the gateway may join them in any
 * way.
 */
const CALLS = [
  { id: 'call_1', name: 'find_road', arguments: { from: 'here' }, result: ['north,', 'by the ford'] },
  { id: 'call_2', name: 'find_inn', arguments: {}, result: ['there is none'] },
]

type Wish =
  | 'turns'
  | 'text'
  | 'instructions'
  | 'limit'
  | 'temperature'
  | 'top_p'
  | 'stop'
  | 'tools'
  | 'a tool must be called'
  | 'one tool must be called'
  | 'no tool'
  | 'image'
  | 'results'
  | 'format'

const TURNS = ['Where does it begin?', 'At the ford.']
/** Separate part of the first turn. */
const ALSO = 'I come from the south.'
/** Text before the tool calls. */
const ASIDE = 'I shall look it up.'
/** Last turn. A body with its own conversation holds the prompt here. */
const LAST = 'And where does it end? {nonce}'

/** Each option as written in the client's dialect. */
const WISHES: Readonly<Partial<Record<DialectName, Partial<Record<Wish, AnyJson>>>>> = {
  chat: forChat(),
  messages: forMessages(),
  responses: forResponses(),
}

function parts(type: string, texts: readonly string[]) {
  return texts.map((text) => ({ type, text }))
}

function forChat(): Partial<Record<Wish, AnyJson>> {
  const tools = TOOLS.map(({ schema: parameters, ...each }) => ({
    ...{ type: 'function', function: { ...each, parameters } },
  }))
  const last = { role: 'user', content: LAST }
  const said = CALLS.map(({ id, name, arguments: args }) => ({
    ...{ id, type: 'function', function: { name, arguments: JSON.stringify(args) } },
  }))
  return {
    turns: {
      messages: [
        { role: 'user', content: parts('text', [TURNS[0]!, ALSO]) },
        { role: 'assistant', content: TURNS[1] },
        last,
      ],
    },
    instructions: {
      messages: [{ role: 'system', content: RULES[0] }, { role: 'developer', content: RULES[1] }, last],
    },
    limit: { max_completion_tokens: LIMIT },
    temperature: { temperature: TEMPERATURE },
    top_p: { top_p: TOP_P },
    stop: { stop: STOP },
    tools: { tools },
    'a tool must be called': { tools, tool_choice: 'required', parallel_tool_calls: false },
    'one tool must be called': { tools, tool_choice: { type: 'function', function: { name: 'find_inn' } } },
    'no tool': { tools, tool_choice: 'none' },
    image: {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: LAST },
            { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` } },
          ],
        },
      ],
    },
    results: {
      tools,
      messages: [
        { role: 'user', content: 'Look.' },
        { role: 'assistant', content: ASIDE, tool_calls: said },
        ...CALLS.map(({ id, result }) => ({ role: 'tool', tool_call_id: id, content: result.join(' ') })),
        last,
      ],
    },
    format: {
      response_format: { type: 'json_schema', json_schema: { name: 'road', strict: true, schema: FORMAT } },
    },
  }
}

function forMessages(): Partial<Record<Wish, AnyJson>> {
  const tools = TOOLS.map(({ schema: input_schema, ...each }) => ({ ...each, input_schema }))
  const last = { type: 'text', text: LAST }
  return {
    turns: {
      messages: [
        { role: 'user', content: parts('text', [TURNS[0]!, ALSO]) },
        { role: 'assistant', content: TURNS[1] },
        { role: 'user', content: LAST },
      ],
    },
    instructions: { system: parts('text', RULES) },
    limit: { max_tokens: LIMIT },
    temperature: { temperature: TEMPERATURE },
    top_p: { top_p: TOP_P },
    stop: { stop_sequences: STOP },
    tools: { tools },
    'a tool must be called': { tools, tool_choice: { type: 'any', disable_parallel_tool_use: true } },
    'one tool must be called': { tools, tool_choice: { type: 'tool', name: 'find_inn' } },
    'no tool': { tools, tool_choice: { type: 'none' } },
    image: {
      messages: [
        {
          role: 'user',
          content: [
            last,
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } },
          ],
        },
      ],
    },
    results: {
      tools,
      messages: [
        { role: 'user', content: 'Look.' },
        {
          role: 'assistant',
          content: [
            ...parts('text', [ASIDE]),
            ...CALLS.map(({ id, name, arguments: input }) => ({ type: 'tool_use', id, name, input })),
          ],
        },
        {
          role: 'user',
          content: [
            ...CALLS.map(({ id, result }) => ({
              ...{ type: 'tool_result', tool_use_id: id, content: parts('text', result) },
            })),
            last,
          ],
        },
      ],
    },
    format: { output_config: { format: { type: 'json_schema', schema: FORMAT } } },
  }
}

function forResponses(): Partial<Record<Wish, AnyJson>> {
  const tools = TOOLS.map(({ schema: parameters, ...each }) => ({
    ...{ type: 'function', ...each, parameters, strict: false },
  }))
  const last = { role: 'user', content: LAST }
  return {
    turns: {
      input: [
        { role: 'user', content: parts('input_text', [TURNS[0]!, ALSO]) },
        { role: 'assistant', content: parts('output_text', [TURNS[1]!]) },
        last,
      ],
    },
    text: { input: LAST },
    instructions: { instructions: RULES[0], input: [{ role: 'developer', content: RULES[1] }, last] },
    limit: { max_output_tokens: LIMIT },
    temperature: { temperature: TEMPERATURE },
    top_p: { top_p: TOP_P },
    tools: { tools },
    'a tool must be called': { tools, tool_choice: 'required', parallel_tool_calls: false },
    'one tool must be called': { tools, tool_choice: { type: 'function', name: 'find_inn' } },
    'no tool': { tools, tool_choice: 'none' },
    image: {
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: LAST },
            { type: 'input_image', detail: 'auto', image_url: `data:image/png;base64,${PIXEL}` },
          ],
        },
      ],
    },
    results: {
      tools,
      input: [
        { role: 'user', content: 'Look.' },
        { role: 'assistant', content: parts('output_text', [ASIDE]) },
        ...CALLS.map(({ id, name, arguments: args }) => ({
          ...{ type: 'function_call', call_id: id, name, arguments: JSON.stringify(args) },
        })),
        ...CALLS.map(({ id, result }) => ({
          ...{ type: 'function_call_output', call_id: id, output: result.join(' ') },
        })),
        last,
      ],
    },
    format: { text: { format: { type: 'json_schema', name: 'road', strict: true, schema: FORMAT } } },
  }
}

/** Models that refuse sampling parameters: OpenAI's reasoning models. */
const REASONING = /(^|\/)(o\d|gpt-5)/

/** Returns true if a schema contains another: extra members and upper-case type names are allowed. */
function holds(got: unknown, wanted: unknown): boolean {
  if (typeof wanted === 'string' && typeof got === 'string') return got.toLowerCase() === wanted.toLowerCase()
  if (typeof wanted !== 'object' || wanted === null) return got === wanted
  if (Array.isArray(wanted))
    return Array.isArray(got) && wanted.every((each, index) => holds(got[index], each))
  if (typeof got !== 'object' || got === null) return false
  return Object.entries(wanted).every(([name, each]) => holds((got as AnyJson)[name], each))
}

/** Function that returns the part of an option that arrived, and true if the option is complete. */
type Look = (
  asked: AskedFor,
  entry: { readonly model: string | null; readonly body: unknown },
) => {
  readonly seen: unknown
  readonly ok: boolean
}
const equal =
  (wanted: unknown, of: (asked: AskedFor) => unknown): Look =>
  (asked) => ({ seen: of(asked), ok: isDeepStrictEqual(of(asked), wanted) })

/**
 * Expects a sampling parameter unchanged. For a reasoning model, which refuses it, it may also be left out.
 */
const sampled =
  (wanted: number, of: (asked: AskedFor) => unknown): Look =>
  (asked, { model }) => ({
    seen: of(asked),
    ok: of(asked) === wanted || (of(asked) === undefined && REASONING.test(model ?? '')),
  })

const named = ({ tools }: AskedFor) => tools.map(({ name }) => name)

const LOOKS: Readonly<Record<Wish, readonly [finding: string, expected: string, look: Look]>> = {
  turns: [
    'turns-arrive',
    'three turns in their order',
    ({ turns }) => ({
      seen: turns,
      ok:
        turns.length === 3 &&
        [`user: ${TURNS[0]}`, `assistant: ${TURNS[1]}`, 'user: And where does it end?'].every((each, index) =>
          turns[index]!.startsWith(each),
        ) &&
        turns[0]!.includes(ALSO),
    }),
  ],
  text: [
    'turns-arrive',
    'one turn of the user',
    ({ turns }) => ({
      seen: turns,
      ok: turns.length === 1 && turns[0]!.startsWith('user: And where does it end?'),
    }),
  ],
  instructions: [
    'instructions-arrive',
    RULES.join(' '),
    ({ instructions, turns }) => ({
      seen: instructions || 'no instructions',
      // If a model accepts no instructions, the gateway puts them at the start of the first turn.
      ok: RULES.every((rule) => instructions.includes(rule) || (turns[0] ?? '').includes(rule)),
    }),
  ],
  limit: ['settings-arrive', `a limit of ${LIMIT} tokens`, equal(LIMIT, ({ limit }) => limit)],
  temperature: ['settings-arrive', `${TEMPERATURE}`, sampled(TEMPERATURE, ({ temperature }) => temperature)],
  top_p: ['settings-arrive', `${TOP_P}`, sampled(TOP_P, ({ top_p }) => top_p)],
  stop: [
    'settings-arrive',
    STOP.join(', '),
    ({ stop }, { model }) => ({
      seen: stop,
      ok: isDeepStrictEqual(stop, STOP) || (stop.length === 0 && REASONING.test(model ?? '')),
    }),
  ],
  tools: [
    'tools-arrive',
    'two, with their descriptions and schemas',
    ({ tools }) => ({
      seen: tools,
      ok:
        tools.length === TOOLS.length &&
        TOOLS.every(({ name, description, schema }) =>
          tools.some(
            (tool) =>
              tool.name === name && tool.description.includes(description) && holds(tool.schema, schema),
          ),
        ),
    }),
  ],
  'a tool must be called': [
    'choice-arrives',
    'any tool, one at a time',
    ({ choice, parallel }) => ({ seen: [choice, parallel], ok: choice === 'any' && parallel === false }),
  ],
  'one tool must be called': [
    'choice-arrives',
    'find_inn',
    (asked) => ({
      seen: asked.choice,
      ok: asked.choice === 'find_inn' || (asked.choice === 'any' && named(asked).join() === 'find_inn'),
    }),
  ],
  'no tool': [
    'choice-arrives',
    'none',
    (asked) => ({ seen: asked.choice, ok: asked.choice === 'none' || asked.tools.length === 0 }),
  ],
  image: [
    'images-arrive',
    'one image',
    ({ images }) => ({
      seen: images.map((each) => each.slice(0, 40)),
      ok: images.length === 1 && images[0]!.endsWith(PIXEL),
    }),
  ],
  results: [
    'results-arrive',
    `${ASIDE} ${JSON.stringify(CALLS.map(({ name, arguments: args, result }) => [name, args, result.join(' ')]))}`,
    ({ calls, results, turns }) => {
      const seen = calls.map(({ id, name, arguments: args }) => [name, jsonOf(args), results.get(id) ?? ''])
      return {
        seen: [...turns, ...seen],
        ok:
          turns.some((each) => each.startsWith('assistant:') && each.includes(ASIDE)) &&
          seen.length === CALLS.length &&
          CALLS.every(
            (each, index) =>
              isDeepStrictEqual(seen[index]!.slice(0, 2), [each.name, each.arguments]) &&
              each.result.every((part) => String(seen[index]![2]).includes(part)),
          ),
      }
    },
  ],
  format: [
    'format-arrives',
    `the schema with ${MEMBER}`,
    (_, { body }) => {
      const ok = JSON.stringify(body ?? null).includes(MEMBER)
      return { seen: ok ? 'there' : 'not there', ok }
    },
  ],
}

/** Options that a dialect cannot express. */
const WITHOUT: Readonly<Partial<Record<DialectName, readonly Wish[]>>> = { responses: ['stop'] }

/** Returns true if the call is refused before a request is sent. */
const isRefused = (evidence: Parameters<typeof requestsOf>[0], exchange: Exchange): boolean =>
  exchange.status !== null &&
  exchange.status >= 400 &&
  exchange.status < 500 &&
  requestsOf(evidence, exchange).length === 0

check('DIAL-13', {
  timeout: 120_000,
  async exercise(session) {
    const models = modelsOf(session)
    // Calls run one after the other, because concurrency is not tested here.
    for (const [what, body] of Object.entries(WISHES[session.dialect.name] ?? {}))
      for (const model of models)
        for (const stream of [false, true])
          await session.chat(call.with({ model, what, stream }), {
            ...{ model, stream, body, script: [{ scenario: 'plain' }] },
          })
  },
  judge: each(call, ({ exchange, details, entry, quoted, evidence, waybill }) => {
    const [id, expected, look] = LOOKS[details.what as Wish]
    const excused = !waybill && (isRefused(evidence, exchange) || namesLoss(exchange))
    const dialect = entry && providerDialectOf(entry).name
    const asked = entry && askedFor(dialect!, entry.body)
    if (entry === null && !excused && !waybill && exchange.status === null)
      return { [id]: { doubt: `${quoted} was not answered` } }
    if (dialect && WITHOUT[dialect]?.includes(details.what as Wish)) return []
    const { seen, ok } =
      entry && asked ? look(asked, entry) : { seen: `no request: ${exchange.status}`, ok: false }
    return {
      [id]: [
        ok || excused,
        `what the provider was asked for in ${quoted}`,
        expected,
        typeof seen === 'string' ? seen : (JSON.stringify(seen) ?? 'nothing'),
      ],
    }
  }),
})
