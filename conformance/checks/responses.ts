// Shared by the checks of responses: a provider's response, and its sealed reasoning. Pure.

export const SEALED = {
  ...{ id: 'rs_1', type: 'reasoning', summary: [] },
  encrypted_content: 'c2VhbGVkIHRob3VnaHRz/+==',
}

const SAID = {
  ...{ id: 'msg_1', type: 'message', role: 'assistant', status: 'completed' },
  content: [{ type: 'output_text', text: 'said', annotations: [] }],
}

/** Returns a provider's complete answer. */
export const response = (output: readonly object[] = []) => ({
  ...{ id: 'resp_1', object: 'response', created_at: 1, status: 'completed', model: 'synthetic' },
  ...{ error: null, incomplete_details: null, output: [...output, SAID] },
  usage: { input_tokens: 5, output_tokens: 5, total_tokens: 10 },
})
