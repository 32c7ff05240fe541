// Answers of providers of every dialect to Google's official clients: a text, or a call of a tool.
import type { Script } from '../../../mocks/test-upstream.ts'

export const json =
  (body: unknown, status = 200): Script =>
  (response) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))

export const USAGE = {
  ...{ total_input_tokens: 120, total_cached_tokens: 100, total_output_tokens: 25, total_thought_tokens: 5 },
  ...{ total_tool_use_tokens: 10, total_tokens: 160 },
}
export const CALL = { type: 'function_call', id: 'call_1', name: 'weather', arguments: { place: 'Ulm' } }
export const THOUGHT = { type: 'thought', signature: 'c2lnbmVk', summary: [{ type: 'text', text: 'hm' }] }
export const interaction = (id: string, steps: object[], more: object = {}) => ({
  ...{ id, object: 'interaction', model: 'gemini-x', status: 'completed', steps, usage: USAGE },
  ...more,
})
export const said = (text: string) => ({ type: 'model_output', content: [{ type: 'text', text }] })

export const ANSWERS: Readonly<Record<string, (text: string | null) => Script>> = {
  interactions: (text) =>
    json(
      text === null
        ? interaction('v1_p', [CALL], { status: 'requires_action' })
        : interaction('v1_p', [said(text)]),
    ),
  chat: (text) =>
    json({
      ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm' },
      usage: { prompt_tokens: 130, completion_tokens: 30, total_tokens: 160 },
      choices: [
        text === null
          ? {
              index: 0,
              finish_reason: 'tool_calls',
              message: {
                role: 'assistant',
                tool_calls: [
                  {
                    id: 'call_1',
                    type: 'function',
                    function: { name: 'weather', arguments: '{"place":"Ulm"}' },
                  },
                ],
              },
            }
          : { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: text } },
      ],
    }),
  messages: (text) =>
    json({
      ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'm' },
      usage: { input_tokens: 130, output_tokens: 30 },
      stop_reason: text === null ? 'tool_use' : 'end_turn',
      content: [
        text === null
          ? { type: 'tool_use', id: 'call_1', name: 'weather', input: { place: 'Ulm' } }
          : { type: 'text', text },
      ],
    }),
  responses: (text) =>
    json({
      ...{ id: 'resp_1', object: 'response', created_at: 1, status: 'completed', model: 'm' },
      usage: { input_tokens: 130, output_tokens: 30, total_tokens: 160 },
      output: [
        text === null
          ? {
              type: 'function_call',
              id: 'fc_1',
              call_id: 'call_1',
              name: 'weather',
              arguments: '{"place":"Ulm"}',
            }
          : {
              type: 'message',
              id: 'm',
              role: 'assistant',
              status: 'completed',
              content: [{ type: 'output_text', text, annotations: [] }],
            },
      ],
    }),
  gemini: (text) =>
    json({
      modelVersion: 'm',
      usageMetadata: { promptTokenCount: 130, candidatesTokenCount: 30, totalTokenCount: 160 },
      candidates: [
        {
          ...{ index: 0, finishReason: 'STOP' },
          content: {
            role: 'model',
            parts: [text === null ? { functionCall: { name: 'weather', args: { place: 'Ulm' } } } : { text }],
          },
        },
      ],
    }),
}
