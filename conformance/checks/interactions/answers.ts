// Checks of Google's interactions: the steps of calls and answers, errors, statuses and usage.
import { isDeepStrictEqual } from 'node:util'
import { dialectOf, modelsOf, readAnswer, readSent } from '../../dialects/lookup.ts'
import { endText, step } from '../../evidence/evidence.ts'
import { type AnyJson, at, jsonOf, readEvents } from '../../evidence/reading.ts'
import { callEach, each, family } from '../check.ts'
import { judgeKinds } from '../log/parts.ts'
import { refusedInShape, sameBytes } from '../responses/parts.ts'

const check = family({ needs: ['interactions'], dialect: 'interactions' })

const SIGNATURE = 'c2lnbmVkIHRob3VnaHQ/+=='
const PICTURE = { type: 'image', data: 'iVBORw0KGgo=', mime_type: 'image/png' }
const CALL = { type: 'function_call', id: 'call_1', name: 'look_up', arguments: { way: 1, back: false } }

/** Steps of a model and of the provider's tools, with a kind and a member that no gateway knows. */
const STEPS: readonly AnyJson[] = [
  { type: 'thought', signature: SIGNATURE, summary: [{ type: 'text', text: 'Where to?' }] },
  { type: 'google_search_call', id: 's_1', arguments: { queries: ['fords'] }, signature: SIGNATURE },
  {
    type: 'google_search_result',
    call_id: 's_1',
    result: [{ search_suggestions: '<p>' }],
    signature: 'c3I=',
  },
  { type: 'model_output', content: [{ type: 'text', text: 'From here.' }, PICTURE] },
  { type: 'step_of_tomorrow', deep: [1, null, 'two'] },
  { ...CALL, waybill_probe: { kept: true } },
]

const USAGE = {
  ...{ total_input_tokens: 120, total_cached_tokens: 100, total_output_tokens: 25, total_thought_tokens: 5 },
  ...{ total_tool_use_tokens: 10, total_tokens: 160 },
}
const interaction = (status: string, more: object = {}) => ({
  ...{ id: 'v1_synthetic_0001', object: 'interaction', model: 'gemini-synthetic', status },
  ...more,
})
const whole = (status: string, steps: readonly object[]) => ({
  ...{ status: 200, body: interaction(status, { steps, usage: USAGE }) },
})

const named = (event_type: string, more: object) => ({
  raw: `event: ${event_type}\ndata: ${JSON.stringify({ ...more, event_type })}\n\n`,
})
const begun = named('interaction.created', { interaction: interaction('in_progress') })
const text = (index: number) => [
  named('step.start', { index, step: { type: 'model_output' } }),
  named('step.delta', { index, delta: { type: 'text', text: 'From here.' } }),
]
const ended = (status: string) => [
  named('interaction.completed', { interaction: interaction(status, { usage: USAGE }) }),
  { raw: 'event: done\ndata: [DONE]\n\n' },
]

/** The steps as a stream. The signature of a thought and the arguments of a call come in pieces. */
const STREAM = [
  begun,
  named('interaction.status_update', { interaction_id: 'v1_synthetic_0001', status: 'in_progress' }),
  named('step.start', { index: 0, step: { type: 'thought' } }),
  named('step.delta', {
    index: 0,
    delta: { type: 'thought_summary', content: { type: 'text', text: 'Hm.' } },
  }),
  named('step.delta', { index: 0, delta: { type: 'thought_signature', signature: SIGNATURE } }),
  named('step.stop', { index: 0 }),
  ...text(1),
  named('step.delta', { index: 1, delta: PICTURE }),
  named('step.stop', { index: 1, waybill_probe: { kept: true } }),
  named('event.of_tomorrow', { deep: [1, null] }),
  named('step.start', { index: 2, step: { ...CALL, arguments: {} } }),
  named('step.delta', { index: 2, delta: { type: 'arguments_delta', arguments: '{"way":1,' } }),
  named('step.delta', { index: 2, delta: { type: 'arguments_delta', arguments: '"back":false}' } }),
  named('step.stop', { index: 2, step_usage: { total_output_tokens: 3 } }),
  ...ended('requires_action'),
]

const NATIVE = 'Every call was translated.'
const answered = { whole: step('a whole answer'), streamed: step('a stream') }

check('INT-01', {
  relays: true,
  async exercise(session) {
    const script = [whole('requires_action', STEPS)]
    for (const model of modelsOf(session)) {
      await session.chat(answered.whole, { model, script })
      await session.chat(answered.streamed, { model, stream: true, script: [{ events: STREAM }] })
    }
  },
  judge({ evidence }) {
    const found = [
      ...answered.whole.in(evidence).flatMap((one) => sameBytes('same-answer', evidence, one)),
      ...answered.streamed.in(evidence).flatMap((one) => sameBytes('same-events', evidence, one)),
    ]
    return found.length > 0 ? found : { 'same-events': { doubt: NATIVE } }
  },
})

const sentBack = step<{ model: string; stream: boolean }>('steps are sent back')

const BODY = {
  input: [
    { type: 'user_input', content: [{ type: 'text', text: 'Where do you go? {nonce}' }, PICTURE] },
    ...STEPS,
    {
      type: 'function_result',
      call_id: 'call_1',
      name: 'look_up',
      result: [{ type: 'text', text: 'A ford.' }, PICTURE],
    },
  ],
  system_instruction: 'Answer in one word.',
  generation_config: {
    temperature: 0.25,
    max_output_tokens: 64,
    seed: 7,
    thinking_level: 'low',
    thinking_summaries: 'auto',
  },
  tools: [
    { type: 'function', name: 'look_up', parameters: { type: 'object', properties: {} } },
    { type: 'google_search' },
  ],
  response_format: [{ type: 'text', mime_type: 'text/plain' }],
  waybill_probe: { kept: true },
}

check('INT-02', {
  needs: ['interactions', 'direct'],
  relays: true,
  exercise: callEach(sentBack, { model: modelsOf, stream: [false, true] }, ({ model, stream }) => ({
    ...{ model, stream, body: BODY, headers: { 'api-revision': '2026-05-20' }, query: '?waybillProbe=kept' },
  })),
  judge: each(sentBack, ({ exchange, entry, crossed, quoted }) => {
    if (crossed) return []
    const bare = (body: unknown) => ({ ...(body as object), model: null })
    const [sent, got] = [bare(jsonOf(exchange.request.body ?? '')), bare(entry?.body)]
    const lost = Object.entries(sent).filter(
      ([name, value]) => !isDeepStrictEqual(at(got, `/${name}`), value),
    )
    return {
      'body-is-unchanged': [
        lost.length === 0,
        `the provider's request in ${quoted}`,
        'all members as they were sent, except the model',
        lost.map(([name]) => `${name}: ${JSON.stringify(at(got, `/${name}`))?.slice(0, 100)}`).join('; ') ||
          'so',
      ],
      'headers-arrive': [
        entry?.headers['api-revision'] === '2026-05-20',
        `api-revision in ${quoted}`,
        '2026-05-20',
        String(entry?.headers['api-revision'] ?? 'nothing'),
      ],
    }
  }),
})

const SAID: Readonly<Record<string, object>> = {
  text: { text: 'It begins at the ford.' },
  'thoughts and text': { reasoning: 'A river, then.', text: 'It begins at the ford.' },
  calls: {
    calls: [
      { name: 'look_up', arguments: { way: 1 } },
      { name: 'look_up', arguments: { way: [2, 'é'] } },
    ],
  },
}
const read = step<{ model: string; about: string; stream: boolean }>('call')

check('INT-03', {
  exercise: callEach(
    read,
    { model: modelsOf, about: Object.keys(SAID), stream: [false, true] },
    ({ model, stream, about }) => ({
      ...{ model, stream, script: [{ say: SAID[about]! }] },
      body: { tools: BODY.tools.slice(0, 1) },
    }),
  ),
  judge: each(read, ({ exchange, details, entry, quoted }) => {
    const [got, sent] = [readAnswer(exchange), readSent(entry)].map(({ content, tools, finish }) => ({
      ...{ content, finish: finish.at(-1)?.reason },
      calls: tools.map(({ name, arguments: args }) => ({ name, arguments: jsonOf(args) })),
    }))
    // Gemini has no word of its own for an end with calls.
    const expected = { ...sent, ...(sent!.calls.length > 0 && { finish: 'tool_calls' }) }
    const disorder = details.stream ? disorderIn(exchange.body) : null
    return {
      'same-answer': [
        exchange.status === 200 && isDeepStrictEqual(got, expected),
        `the answer to ${quoted}`,
        JSON.stringify(expected),
        exchange.status === 200 ? JSON.stringify(got) : endText(exchange),
      ],
      'events-are-in-order': [
        disorder === null,
        `the events of ${quoted}`,
        'each in its place',
        disorder ?? 'so',
      ],
    }
  }),
})

/** Returns what is out of order in a stream of interactions; null if nothing is. */
function disorderIn(body: string): string | null {
  const events = readEvents(body).flatMap(({ data }) => (jsonOf(data) as AnyJson | undefined) ?? [])
  const types = events.map(({ event_type }) => event_type)
  if (types[0] !== 'interaction.created') return `begins with ${types[0]}`
  if (types.filter((type) => type === 'interaction.completed').length !== 1)
    return 'not one interaction.completed'
  if (types.at(-1) !== 'interaction.completed') return `${types.at(-1)} after the end`
  const [open, known] = [new Set<unknown>(), new Set<unknown>()]
  for (const { event_type, index } of events) {
    if (!event_type.startsWith('step.')) continue
    if ((event_type === 'step.start') === open.has(index)) return `${event_type} of step ${index}`
    if (event_type === 'step.start' && known.has(index)) return `a second step ${index}`
    if (event_type === 'step.start') known.add(index)
    if (event_type !== 'step.delta') open[event_type === 'step.start' ? 'add' : 'delete'](index)
  }
  return open.size > 0 ? 'a step without its stop' : null
}

const errors = {
  refused: step<{ stream: boolean }>('the provider refuses it'),
  malformed: step<{ fault: string }>('malformed'),
  broken: step<{ how: string }>('the stream breaks'),
}

const REFUSAL = { error: { message: 'Unable to process “input image”.', code: 'invalid_request' } }
const FAILURE = named('error', {
  error: { message: 'The model is overloaded.', code: 'service_unavailable' },
})

type Events = ({ readonly raw: string } | { readonly end: 'cut' | 'reset' })[]

const BREAKS: Readonly<Record<string, Events>> = {
  'in the middle': [begun, ...text(0), { end: 'cut' }],
  'with a reset': [begun, ...text(0), { end: 'reset' }],
  'with an error': [begun, ...text(0), FAILURE],
}

check('INT-04', {
  async exercise(session) {
    const script = [{ status: 400, body: REFUSAL }]
    for (const stream of [false, true])
      await session.chat(errors.refused.with({ stream }), { stream, script })
    for (const [fault, body] of Object.entries({ ...session.dialect.malformed, 'no JSON': '{"input":' }))
      await session.ask(errors.malformed.with({ fault }), session.dialect.path, {
        ...{ method: 'POST', headers: session.callHeaders },
        body: body.replace('MODEL', session.model),
      })
    for (const [how, events] of Object.entries(BREAKS))
      await session.chat(errors.broken.with({ how }), { stream: true, script: [{ events }] })
  },
  judge: [
    each(errors.refused, ({ exchange, quoted, evidence }) => [
      {
        'refusal-keeps-its-status': [
          exchange.status === 400,
          `the answer to ${quoted}`,
          '400',
          endText(exchange),
        ],
      },
      ...sameBytes('refusal-arrives-word-for-word', evidence, exchange),
      refusedInShape('error-is-in-shape', evidence, exchange),
    ]),
    each(errors.malformed, ({ exchange, evidence }) =>
      refusedInShape('error-is-in-shape', evidence, exchange),
    ),
    each(errors.broken, ({ exchange, quoted }) => {
      const { finish, done, errors: found } = readAnswer(exchange)
      const shaped = found.filter((error) => dialectOf(exchange).isError(JSON.stringify({ error })))
      return {
        'broken-stream-has-no-end': [
          finish.length === 0 && done === 0 && (exchange.end !== 'complete' || shaped.length > 0),
          `the end of ${quoted}`,
          'a connection that breaks, or an error event; no interaction.completed',
          `${endText(exchange)}, ${shaped.length} errors, ${done} interaction.completed`,
        ],
      }
    }),
  ],
})

const ending = step<{ status: string; stream: boolean }>('call')
const STATUSES = [
  'completed',
  'incomplete',
  'failed',
  'requires_action',
  'budget_exceeded',
  'status_of_tomorrow',
]

check('INT-05', {
  relays: true,
  exercise: callEach(ending, { status: STATUSES, stream: [false, true] }, ({ status, stream }) => ({
    stream,
    script: [
      stream
        ? { events: [begun, ...text(0), named('step.stop', { index: 0 }), ...ended(status)] }
        : whole(status, status === 'requires_action' ? [CALL] : STEPS.slice(3, 4)),
    ],
  })),
  judge: each(ending, ({ exchange, details: { status }, crossed, quoted }) => {
    if (crossed) return []
    const events = readEvents(exchange.body).map(({ data }) => at(jsonOf(data), '/interaction/status'))
    const seen = at(jsonOf(exchange.body), '/status') ?? events.findLast((one) => one !== undefined)
    // A failure may also be told as an error.
    const isError = status === 'failed' && (exchange.status ?? 0) >= 400
    return {
      'status-arrives': [
        isError || (exchange.status === 200 && seen === status),
        `the status in ${quoted}`,
        status,
        String(seen ?? endText(exchange)),
      ],
    }
  }),
})

const counted = step<{ stream: boolean }>('call')
const ON_RECORD = { input: 130, cached_input: 100, output: 30, reasoning: 5 }

check('INT-06', {
  needs: ['interactions', 'record'],
  async exercise(session) {
    const script = (stream: boolean) => [stream ? { events: STREAM } : whole('requires_action', STEPS)]
    for (const stream of [false, true])
      await session.record(await session.chat(counted.with({ stream }), { stream, script: script(stream) }))
  },
  judge: judgeKinds(counted, ON_RECORD),
})
