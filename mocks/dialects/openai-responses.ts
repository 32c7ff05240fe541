// OpenAI's Responses dialect: the request, with the fields of the public API reference, items instead of choices, and a stream
// of named, numbered events from `response.created` to `response.completed`. Independent of providers and of chat.
import { z } from 'zod'
import {
  type Arrived,
  type Endpoint,
  event,
  type KeptFormat,
  type KeptJson,
  type MockUsage,
  type ModelOutput,
  type Speech,
  type Wants,
} from '../provider.ts'
import { byType, conversation, responsesConversation } from '../schemas/refusals.ts'

const part = z.looseObject({ type: z.string() })

/** Item of the input. A message may omit its type; types that are not listed are accepted. */
const item = byType(
  {
    message: z.looseObject({
      role: z.enum(['user', 'assistant', 'system', 'developer']),
      content: z.union([z.string(), z.array(part)]),
    }),
    function_call: z.looseObject({
      call_id: z.string().min(1),
      name: z.string().min(1),
      arguments: z.string(),
    }),
    function_call_output: z.looseObject({
      call_id: z.string().min(1),
      output: z.union([z.string(), z.array(part)]),
    }),
  },
  'message',
)

/** The Responses dialect defines the caller's own functions without a nested `function` object. */
const tool = byType({
  function: z.looseObject({
    name: z.string().regex(/^[\w-]{1,64}$/),
    parameters: z.looseObject({}).nullish(),
    strict: z.boolean().nullish(),
  }),
})

const responsesFields = z.looseObject({
  model: z.string().min(1),
  input: z.union([z.string(), z.array(item).min(1)]).optional(),
  background: z.boolean().nullish(),
  context_management: z.array(z.looseObject({ type: z.string() })).nullish(),
  conversation: z.union([z.string(), z.looseObject({ id: z.string() })]).nullish(),
  include: z.array(z.string()).nullish(),
  instructions: z.string().nullish(),
  max_output_tokens: z.int().min(16).nullish(),
  max_tool_calls: z.int().positive().nullish(),
  metadata: z.record(z.string(), z.string()).nullish(),
  moderation: z.looseObject({}).nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  previous_response_id: z.string().nullish(),
  prompt: z.looseObject({ id: z.string() }).nullish(),
  prompt_cache_key: z.string().nullish(),
  prompt_cache_options: z.looseObject({}).optional(),
  prompt_cache_retention: z.enum(['in_memory', '24h']).nullish(),
  reasoning: z.looseObject({ effort: z.string().nullish(), summary: z.string().nullish() }).nullish(),
  safety_identifier: z.string().nullish(),
  service_tier: z.enum(['auto', 'default', 'flex', 'scale', 'priority']).nullish(),
  store: z.boolean().nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_obfuscation: z.boolean().optional() }).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  text: z.looseObject({ format: z.looseObject({ type: z.string() }).optional() }).optional(),
  tool_choice: z.union([z.string(), z.looseObject({ type: z.string() })]).optional(),
  tools: z.array(tool).optional(),
  top_logprobs: z.int().min(0).max(20).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  truncation: z.enum(['auto', 'disabled']).nullish(),
  user: z.string().optional(),
})

/** Body of `POST responses`. */
export const openAiResponsesBody = responsesFields.superRefine(conversation(responsesConversation))

const created_at = 1_795_200_000

const usageOf = ({ input, output, cached, reasoning }: MockUsage) => ({
  input_tokens: input,
  input_tokens_details: { cached_tokens: cached },
  output_tokens: output,
  output_tokens_details: { reasoning_tokens: reasoning },
  total_tokens: input + output,
})

/** Output item: its first event, the events while it grows, and its last event. */
interface Item {
  readonly started: object
  /** Events without `output_index`, which is added later. */
  readonly events: readonly Numbered[]
  readonly finished: object
}

interface Numbered {
  readonly type: string
  readonly [field: string]: unknown
}

/** Returns an item that marks hidden thoughts. */
function reasoningItem(): Item {
  const item = { id: 'rs_mock', type: 'reasoning', content: [], summary: [] }
  return { started: item, events: [], finished: item }
}

function messageItem({ text }: ModelOutput): Item {
  const id = 'msg_mock_0000000000000000000'
  const message = { id, type: 'message', role: 'assistant' }
  const part = { type: 'output_text', annotations: [], logprobs: [], text: text.join('') }
  const at = { item_id: id, content_index: 0 }
  return {
    started: { ...message, status: 'in_progress', content: [] },
    events: [
      { type: 'response.content_part.added', ...at, part: { ...part, text: '' } },
      ...text.map((delta) => ({ type: 'response.output_text.delta', ...at, delta, logprobs: [] })),
      { type: 'response.output_text.done', ...at, logprobs: [], text: part.text },
      { type: 'response.content_part.done', ...at, part },
    ],
    finished: { ...message, status: 'completed', content: [part] },
  }
}

function callItem(
  { id: call_id, name: called, arguments: pieces }: ModelOutput['calls'][number],
  index: number,
): Item {
  const id = `fc_mock_${index + 1}`
  // A dot is in no name of a function, so it ends that of a group of tools.
  const [name, namespace] = called.split('.').toReversed()
  const call = { id, type: 'function_call', call_id, ...(namespace && { namespace }), name }
  const text = pieces.join('')
  return {
    started: { ...call, status: 'in_progress', arguments: '' },
    events: [
      ...pieces.map((delta) => ({
        type: 'response.function_call_arguments.delta',
        item_id: id,
        delta,
      })),
      { type: 'response.function_call_arguments.done', item_id: id, arguments: text },
    ],
    finished: { ...call, status: 'completed', arguments: text },
  }
}

const itemsOf = (said: ModelOutput): Item[] => [
  ...(said.reasoning.length > 0 ? [reasoningItem()] : []),
  ...(said.text.length > 0 ? [messageItem(said)] : []),
  ...said.calls.map(callItem),
]

/** Reason why a truncated or filtered response is incomplete. */
const INCOMPLETE: Partial<Record<ModelOutput['finish'], string>> = {
  length: 'max_output_tokens',
  content_filter: 'content_filter',
}

const response = (said: ModelOutput, status: string, output: readonly object[]) => ({
  id: 'resp_mock_0000000000000000000',
  object: 'response',
  created_at,
  status,
  background: false,
  error: null,
  incomplete_details: status === 'incomplete' ? { reason: INCOMPLETE[said.finish] } : null,
  instructions: null,
  max_output_tokens: null,
  model: said.model,
  output,
  parallel_tool_calls: true,
  previous_response_id: null,
  reasoning: { effort: null, summary: null },
  store: true,
  temperature: 1,
  text: { format: { type: 'text' } },
  tool_choice: 'auto',
  tools: [],
  top_p: 1,
  truncation: 'disabled',
  ...(said.usage?.tier !== undefined && { service_tier: said.usage.tier }),
  usage: status === 'in_progress' || !said.usage ? null : usageOf(said.usage),
  user: null,
  metadata: {},
})

const ending = ({ finish }: ModelOutput): string => (INCOMPLETE[finish] ? 'incomplete' : 'completed')

const speech: Speech = {
  dialect: 'responses',
  streamType: 'text/event-stream; charset=utf-8',
  keepAlive: ': keep-alive\n\n',
  failure: (message) =>
    event({ type: 'error', code: 'server_error', message, param: null, sequence_number: 0 }, 'error'),

  whole: (said) =>
    response(
      said,
      ending(said),
      itemsOf(said).map(({ finished }) => finished),
    ),

  events(said) {
    const items = itemsOf(said)
    const beginning = response(said, 'in_progress', [])
    const end = ending(said)
    const events: Numbered[] = [
      { type: 'response.created', response: beginning },
      { type: 'response.in_progress', response: beginning },
      ...items.flatMap(({ started, events: own, finished }, output_index) => [
        { type: 'response.output_item.added', output_index, item: started },
        ...own.map((one) => ({ ...one, output_index })),
        { type: 'response.output_item.done', output_index, item: finished },
      ]),
      {
        type: `response.${end}`,
        response: response(
          said,
          end,
          items.map(({ finished }) => finished),
        ),
      },
    ]
    return events.map((one, sequence_number) => event({ ...one, sequence_number }, one.type))
  },
}

const wantsSchema = z
  .object({
    model: z.string().nullable().catch(null),
    stream: z.boolean().catch(false),
    tools: z.array(z.unknown()).catch([]),
    input: z.array(z.object({ type: z.unknown().optional() })).catch([]),
  })
  .catch({ model: null, stream: false, tools: [], input: [] })

/** Returns the reader of requests whose `input` is a list. `result`: type of a tool's result. */
export const wantsOfInput =
  (result: string) =>
  ({ json }: Arrived): Wants => {
    const { model, stream, tools, input } = wantsSchema.parse(json)
    const answered = input.some(({ type }) => type === result)
    return { model, stream, usage: true, tools: tools.length > 0 && !answered }
  }

/** `POST responses`. */
export const openAiResponses: Endpoint = {
  method: 'POST',
  name: 'responses',
  hasWebSocket: true,
  body: openAiResponsesBody,
  wants: wantsOfInput('function_call_output'),
  speech,
}

/** Responses that the provider stores. */
export const keptResponses: KeptFormat = {
  ...{ path: 'responses', object: 'response', previous: 'previous_response_id', firstStatus: 'queued' },
  asked: ['GET ', 'DELETE ', 'GET /input_items', 'POST /cancel'],
  keptMs: 30 * 24 * 3_600_000,
  problemIn: () => null,
  answerIn: (events) =>
    events.findLast(({ type }) => type === 'response.completed' || type === 'response.incomplete')
      ?.response as KeptJson | undefined,
  unfinished: (answer, status) => ({ ...answer, background: true, output: [], usage: null, status }),
  inputOf(input) {
    const items = typeof input === 'string' ? [{ role: 'user', content: input }] : input
    const data = (Array.isArray(items) ? items : []).map((item, at) => ({ id: `item_${at}`, ...item }))
    return { object: 'list', data: data.reverse(), has_more: false }
  },
  deleted: (id) => ({ id, object: 'response', deleted: true }),
  lost: (id) => [
    ...(['invalid_request', `Previous response with id '${id}' not found.`] as const),
    ...(['previous_response_id', 'previous_response_not_found'] as const),
  ],
  missing: (id) => `Response with id '${id}' not found.`,
  notCancelled: () => null,
}
