// Google's Interactions: steps instead of candidates, and a stream of named events by step. Format: Gemini API reference,
// "Interactions" and "Streaming interactions". The body is checked by the fields of the reference. Stored interactions can
// be continued, read, cancelled and deleted.
import { z } from 'zod'
import { parseExact } from '../../src/shared/exact-json.ts'
import {
  type Endpoint,
  event,
  type KeptFormat,
  type KeptJson,
  type MockProvider,
  type MockUsage,
  type ModelOutput,
  type Speech,
} from '../provider.ts'
import { byType } from '../schemas/refusals.ts'
import { wantsOfInput } from './openai-responses.ts'

const content = byType({
  text: z.looseObject({ text: z.string() }),
  image: z.looseObject({
    data: z.string().optional(),
    uri: z.string().optional(),
    mime_type: z.string().optional(),
  }),
})
const contents = z.array(content)
const step = byType({
  user_input: z.looseObject({ content: contents.optional() }),
  model_output: z.looseObject({ content: contents.optional() }),
  thought: z.looseObject({ signature: z.string().optional(), summary: contents.optional() }),
  function_call: z.looseObject({ id: z.string(), name: z.string().min(1), arguments: z.looseObject({}) }),
  function_result: z.looseObject({
    call_id: z.string(),
    result: z.union([z.string(), contents, z.looseObject({})]),
    is_error: z.boolean().optional(),
  }),
})

const body = z
  .looseObject({
    model: z.string().min(1).optional(),
    agent: z.string().min(1).optional(),
    input: z.union([z.string(), z.array(step), content]),
    system_instruction: z.string().optional(),
    tools: z
      .array(byType({ function: z.looseObject({ name: z.string().regex(/^[A-Za-z_][\w.:-]{0,127}$/) }) }))
      .optional(),
    generation_config: z
      .looseObject({
        temperature: z.number().min(0).max(2).optional(),
        top_p: z.number().min(0).max(1).optional(),
        max_output_tokens: z.int().min(1).optional(),
        stop_sequences: z.array(z.string()).max(5).optional(),
        seed: z.int().optional(),
        thinking_level: z.enum(['minimal', 'low', 'medium', 'high', 'xhigh']).optional(),
        thinking_summaries: z.enum(['auto', 'none']).optional(),
        tool_choice: z.union([z.enum(['auto', 'any', 'none', 'validated']), z.looseObject({})]).optional(),
      })
      .optional(),
    response_format: z.union([z.array(z.looseObject({})), z.looseObject({})]).optional(),
    previous_interaction_id: z.string().optional(),
    background: z.boolean().optional(),
    store: z.boolean().optional(),
    stream: z.boolean().optional(),
    labels: z.record(z.string(), z.string()).optional(),
    service_tier: z.string().optional(),
  })
  .refine(({ model, agent }) => (model === undefined) !== (agent === undefined), {
    path: ['model'],
    error: 'either a model or an agent',
  })

const usageOf = ({ input, output, cached, reasoning }: MockUsage) => ({
  total_input_tokens: input,
  input_tokens_by_modality: [{ modality: 'text', tokens: input }],
  total_cached_tokens: cached,
  total_output_tokens: output - reasoning,
  total_thought_tokens: reasoning,
  total_tool_use_tokens: 0,
  total_tokens: input + output,
})

/** Statuses at the end. The reference has none for a filtered answer. */
const STATUSES = {
  stop: 'completed',
  length: 'incomplete',
  tool_calls: 'requires_action',
  content_filter: 'failed',
} as const satisfies Record<ModelOutput['finish'], string>

const interaction = ({ model, usage }: ModelOutput, status: string) => ({
  ...{ id: 'v1_mock_0000000000000000000', object: 'interaction', model, status },
  ...{ created: '2026-11-18T08:00:00Z', updated: '2026-11-18T08:00:00Z' },
  ...(status !== 'in_progress' && usage && { usage: usageOf(usage) }),
})

const SIGNATURE = 'bW9jayBzaWduYXR1cmU='

type Call = ModelOutput['calls'][number]
const callStep = ({ id, name }: Call, args: unknown) => ({ type: 'function_call', id, name, arguments: args })

const stepsOf = ({ reasoning, text, calls }: ModelOutput) => [
  ...(reasoning.length > 0
    ? [{ type: 'thought', signature: SIGNATURE, summary: [{ type: 'text', text: reasoning.join('') }] }]
    : []),
  ...(text.length > 0 ? [{ type: 'model_output', content: [{ type: 'text', text: text.join('') }] }] : []),
  ...calls.map((call) => callStep(call, parseExact(call.arguments.join('') || '{}'))),
]

const told = (event_type: string, more: object): string => event({ ...more, event_type }, event_type)

/** Returns the events of one step. A signature is a delta of the thought before the call that it belongs to. */
function stepEvents(index: number, opened: object, deltas: readonly object[]): string[] {
  return [
    told('step.start', { index, step: opened }),
    ...deltas.map((delta) => told('step.delta', { index, delta })),
    told('step.stop', { index }),
  ]
}

const speech: Speech = {
  dialect: 'interactions',
  streamType: 'text/event-stream',
  keepAlive: ': keep-alive\n\n',
  failure: (message) => told('error', { error: { code: 'internal', message } }),

  whole: (said) => ({ ...interaction(said, STATUSES[said.finish]), steps: stepsOf(said) }),

  events(said) {
    const { reasoning, text, calls } = said
    const steps: (readonly [object, readonly object[]])[] = []
    if (reasoning.length > 0)
      steps.push([
        { type: 'thought' },
        [
          ...reasoning.map((piece) => ({ type: 'thought_summary', content: { type: 'text', text: piece } })),
          { type: 'thought_signature', signature: SIGNATURE },
        ],
      ])
    if (text.length > 0)
      steps.push([{ type: 'model_output' }, text.map((piece) => ({ type: 'text', text: piece }))])
    for (const call of calls)
      steps.push([
        callStep(call, {}),
        call.arguments.map((piece) => ({ type: 'arguments_delta', arguments: piece })),
      ])
    const begun = interaction(said, 'in_progress')
    return [
      told('interaction.created', { interaction: begun }),
      told('interaction.status_update', { interaction_id: begun.id, status: begun.status }),
      ...steps.flatMap(([opened, deltas], index) => stepEvents(index, opened, deltas)),
      told('interaction.completed', { interaction: interaction(said, STATUSES[said.finish]) }),
      'event: done\ndata: [DONE]\n\n',
    ]
  },
}

/** Statuses and codes of errors, which are texts here. */
const REFUSALS = {
  bad_key: [400, 'invalid_request'],
  invalid_request: [400, 'invalid_request'],
  unknown_model: [404, 'not_found'],
  unknown_path: [404, 'not_found'],
  rate_limited: [429, 'too_many_requests'],
  overloaded: [503, 'service_unavailable'],
  server_error: [500, 'internal_error'],
} as const

const refusal: MockProvider['refusal'] = (kind, message) => {
  const [status, code] = REFUSALS[kind]
  return { status, headers: {}, body: { error: { message, code } } }
}

/** `POST interactions`. */
export const googleInteractions: Endpoint = {
  ...{ method: 'POST', name: 'interactions', body, speech, refusal },
  wants: wantsOfInput('function_result'),
}

/** Returns the steps in the events of a stream. The deltas of other steps than texts, thoughts and calls are their members. */
function stepsIn(events: readonly KeptJson[]): KeptJson[] {
  // biome-ignore lint/suspicious/noExplicitAny: events of this mock, or of a recording
  type Any = Record<string, any>
  const steps = new Map<unknown, Any>()
  for (const { event_type, index, step, delta } of events as readonly Any[]) {
    if (event_type === 'step.start') steps.set(index, { ...step })
    const open = steps.get(index)
    if (event_type !== 'step.delta' || !open) continue
    const { type, ...more } = delta
    if (type === 'thought_signature') open.signature = more.signature
    else if (type === 'arguments_delta')
      open.arguments = (typeof open.arguments === 'string' ? open.arguments : '') + more.arguments
    else if (type === 'thought_summary') open.summary = [...(open.summary ?? []), more.content]
    else if (open.type !== 'model_output') Object.assign(open, more)
    else {
      const last = open.content?.at(-1)
      if (type === 'text' && last?.type === 'text') last.text += more.text
      else open.content = [...(open.content ?? []), { ...delta }]
    }
  }
  return [...steps.values()].map((step) =>
    typeof step.arguments === 'string' ? { ...step, arguments: JSON.parse(step.arguments || '{}') } : step,
  )
}

/** Interactions that the provider stores: for 55 days, as with a paid key. */
export const keptInteractions: KeptFormat = {
  ...{ path: 'interactions', object: 'interaction', previous: 'previous_interaction_id' },
  ...{ firstStatus: 'in_progress', asked: ['GET ', 'DELETE ', 'POST /cancel'], refusal },
  keptMs: 55 * 24 * 3_600_000,
  problemIn: ({ background, store }) =>
    background === true && store === false ? 'background=true requires store=true.' : null,
  answerIn(events) {
    const last = events.findLast(({ event_type }) => event_type === 'interaction.completed')
    return last && { object: 'interaction', ...(last.interaction as KeptJson), steps: stepsIn(events) }
  },
  unfinished({ steps: _, usage: _usage, ...answer }, status) {
    return { ...answer, status }
  },
  inputOf: (input) => input,
  deleted: () => ({}),
  lost: (id) => ['unknown_path', `Interaction ${id} was not found.`],
  missing: (id) => `Interaction ${id} was not found.`,
  notCancelled: (id) => `Interaction ${id} is not in progress.`,
}
