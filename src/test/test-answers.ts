// Answers of any size in every dialect, for tests.

export const MIB = 2 ** 20

/** Whole answers with a gap for the text. */
export const WHOLE: Readonly<Record<string, object>> = {
  chat: {
    id: 'c',
    object: 'chat.completion',
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: '@' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  },
  messages: {
    id: 'c',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [{ type: 'text', text: '@' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 1, output_tokens: 1 },
  },
  responses: {
    id: 'c',
    object: 'response',
    status: 'completed',
    model: 'm',
    output: [
      {
        type: 'message',
        id: 'i',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: '@', annotations: [] }],
      },
    ],
    usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
  },
  gemini: {
    candidates: [{ content: { role: 'model', parts: [{ text: '@' }] }, finishReason: 'STOP', index: 0 }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
    modelVersion: 'm',
  },
  embeddings: {
    object: 'list',
    model: 'm',
    data: [{ object: 'embedding', index: 0, embedding: '@' }],
    usage: { prompt_tokens: 1, total_tokens: 1 },
  },
  images: { created: 1, data: [{ b64_json: '@' }] },
  error: { error: { message: '@', type: 'server_error', code: 'server_error' } },
}

const event = (data: unknown, name?: string): string =>
  `${name ? `event: ${name}\n` : ''}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`

/** Streams: the beginning, a piece of the text, and the end. */
export const STREAMS: Readonly<Record<string, readonly [begin: string, piece: string, end: string]>> = {
  chat: [
    event({ model: 'm', choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] }),
    event({ model: 'm', choices: [{ index: 0, delta: { content: '@' } }] }),
    event({ model: 'm', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }) + event('[DONE]'),
  ],
  messages: [
    event(
      { type: 'message_start', message: { ...WHOLE.messages, content: [], stop_reason: null } },
      'message_start',
    ) +
      event(
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
        'content_block_start',
      ),
    event(
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: '@' } },
      'content_block_delta',
    ),
    event({ type: 'content_block_stop', index: 0 }, 'content_block_stop') +
      event(
        { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
        'message_delta',
      ) +
      event({ type: 'message_stop' }, 'message_stop'),
  ],
  responses: [
    event({ type: 'response.created', response: { id: 'resp_1', status: 'in_progress' } }),
    event({
      type: 'response.output_text.delta',
      item_id: 'i',
      output_index: 0,
      content_index: 0,
      delta: '@',
    }),
    event({ type: 'response.completed', response: { id: 'resp_1', status: 'completed', output: [] } }),
  ],
  gemini: [
    '',
    event(WHOLE.gemini).replace('"finishReason":"STOP",', ''),
    event(WHOLE.gemini).replace('@', '.'),
  ],
}
