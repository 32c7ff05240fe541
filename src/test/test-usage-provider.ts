// Provider for the rows of test-usages.ts. It answers in each dialect with the usage of a row, whole and
// streamed. Each member is in the place where real providers report it.
import type { Script } from '../../mocks/test-upstream.ts'
import type { UsageRow } from './test-usages.ts'

type Json = Readonly<Record<string, unknown>>
type Said = readonly [name: string, data: object]

/** Answers with the row that the request's text names. */
export const answering =
  (rows: ReadonlyMap<string, UsageRow>): Script =>
  (response, { path, text, json }) => {
    const name = [...rows.keys()].find((each) => text.includes(`<${JSON.stringify(each).slice(1, -1)}>`))
    const row = rows.get(name!)!
    const isStream = json.stream === true || path.includes('streamGenerateContent')
    const made = path.includes('/interactions')
      ? interactions(row)
      : path.includes('/messages')
        ? messages(row)
        : path.includes('/responses')
          ? responses(row)
          : path.includes('enerateContent')
            ? gemini(row)
            : chat(row)
    if (!isStream) {
      response
        .writeHead(200, { 'content-type': 'application/json', ...row.headers })
        .end(JSON.stringify(made.whole))
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream', ...row.headers })
    for (const [event, data] of made.events)
      response.write(`${event && `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`)
    response.end(made.end)
  }

interface Made {
  readonly whole: object
  readonly events: readonly Said[]
  readonly end?: string
}

/**
 * Anthropic reports the axes only in the first event. Tool uses and the parts are only in the second-to-last
 * event.
 */
function messages({ model, served = model, usage, stopReason = 'end_turn' }: UsageRow): Made {
  const {
    iterations,
    server_tool_use,
    output_tokens,
    service_tier,
    speed,
    inference_geo,
    cache_creation,
    ...counts
  } = usage
  const base = { id: 'msg_1', type: 'message', role: 'assistant', stop_sequence: null }
  const content = stopReason === 'refusal' ? [] : [{ type: 'text', text: 'Paris' }]
  const started = { ...counts, service_tier, speed, inference_geo, cache_creation, output_tokens: 1 }
  const ended = { ...counts, output_tokens, server_tool_use, iterations }
  const began = iterations === undefined ? served : model
  const message = { ...base, model: began, content: [], stop_reason: null, usage: started }
  const index = 0
  const text: Said[] =
    content.length === 0
      ? []
      : [
          [
            'content_block_start',
            { type: 'content_block_start', index, content_block: { type: 'text', text: '' } },
          ],
          [
            'content_block_delta',
            { type: 'content_block_delta', index, delta: { type: 'text_delta', text: 'Paris' } },
          ],
          ['content_block_stop', { type: 'content_block_stop', index }],
        ]
  return {
    whole: { ...base, model: served, content, stop_reason: stopReason, usage },
    events: [
      ['message_start', { type: 'message_start', message }],
      ...text,
      ['message_delta', { type: 'message_delta', delta: { stop_reason: stopReason }, usage: ended }],
      ['message_stop', { type: 'message_stop' }],
    ],
  }
}

function chat({ model: asked, served: model = asked, usage, tier }: UsageRow): Made {
  const base = { id: 'chatcmpl-1', created: 0, model, ...(tier && { service_tier: tier }) }
  const chunk = (delta: object, finish_reason: string | null = null): Said => [
    '',
    { ...base, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] },
  ]
  const message = { role: 'assistant', content: 'Paris' }
  return {
    whole: {
      ...base,
      object: 'chat.completion',
      choices: [{ index: 0, message, finish_reason: 'stop' }],
      usage,
    },
    events: [
      chunk({ role: 'assistant', content: 'Paris' }),
      chunk({}, 'stop'),
      ['', { ...base, object: 'chat.completion.chunk', choices: [], usage }],
    ],
    end: 'data: [DONE]\n\n',
  }
}

/** In OpenAI's streams, the first event names the requested tier. */
function responses({
  model: asked,
  served: model = asked,
  usage,
  tier = 'default',
  items = [],
}: UsageRow): Made {
  const said = {
    type: 'message',
    id: 'msg_1',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text: 'Paris', annotations: [] }],
  }
  const output = [...items, said]
  const whole: Json = {
    id: 'resp_1',
    object: 'response',
    created_at: 0,
    model,
    status: 'completed',
    output,
    usage,
    service_tier: tier,
  }
  const begun = { ...whole, status: 'in_progress', output: [], usage: null, service_tier: 'auto' }
  const event = (type: string, data: object): Said => [type, { type, sequence_number: 0, ...data }]
  return {
    whole,
    events: [
      event('response.created', { response: begun }),
      ...output.flatMap((item, output_index) => [
        event('response.output_item.added', { output_index, item }),
        ...(item === said
          ? [
              event('response.output_text.delta', {
                output_index,
                content_index: 0,
                item_id: 'msg_1',
                delta: 'Paris',
              }),
            ]
          : []),
        event('response.output_item.done', { output_index, item }),
      ]),
      event('response.completed', { response: whole }),
    ],
  }
}

function gemini({ model: asked, served: model = asked, usage }: UsageRow): Made {
  const part = (text: string, more: object) => ({
    candidates: [{ index: 0, content: { role: 'model', parts: [{ text }] }, ...more }],
    modelVersion: model,
  })
  const { promptTokenCount } = usage
  return {
    whole: { ...part('Paris', { finishReason: 'STOP' }), usageMetadata: usage },
    events: [
      ['', { ...part('Pa', {}), usageMetadata: { promptTokenCount, totalTokenCount: promptTokenCount } }],
      ['', { ...part('ris', { finishReason: 'STOP' }), usageMetadata: usage }],
    ],
  }
}

/** In Google's streams, a delta may report the usage so far, and the end of a step that of the step. */
function interactions({
  model: asked,
  served: model = asked,
  usage,
  tier,
  stopReason = 'completed',
}: UsageRow): Made {
  const head = { id: 'v1_1', object: 'interaction', model }
  const whole = { ...head, status: stopReason, usage, ...(tier && { service_tier: tier }) }
  const content = [{ type: 'text', text: 'Paris' }]
  const { total_input_tokens } = usage
  const event = (event_type: string, more: object): Said => [event_type, { event_type, ...more }]
  return {
    whole: { ...whole, steps: [{ type: 'model_output', content }] },
    events: [
      event('interaction.created', { interaction: { ...head, status: 'in_progress' } }),
      event('step.start', { index: 0, step: { type: 'model_output' } }),
      event('step.delta', { index: 0, delta: content[0], metadata: { total_usage: { total_input_tokens } } }),
      event('step.stop', { index: 0, step_usage: { total_output_tokens: 1 } }),
      event('interaction.completed', { interaction: whole }),
    ],
    end: 'event: done\ndata: [DONE]\n\n',
  }
}
