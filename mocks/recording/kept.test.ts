// Tests that a kept answer is kept whole. Each case is imported with its second turn. A mock on a port then answers
// the first turn, and the second turn carries what the mock said, as a client sends it.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { temporaryDirectory } from '../../src/test/test-gateway.ts'
import { importRecordings } from '../import/import.ts'
import { createMockProviders } from '../server/create.ts'
import { keepIn } from './digest-key.ts'
import { readRecordings } from './format.ts'
import { suspectsBelow, verifyRecordings } from './verify.ts'

type Json = Record<string, unknown>
interface Exchange {
  readonly url: string
  readonly asked: unknown
  readonly said: unknown
  readonly status?: number
  readonly requestHeaders?: Record<string, string[]>
}

/** Imports exchanges from a cassette; returns the folder, the reasons of refusals, and all that was blanked. */
function kept(t: TestContext, exchanges: readonly Exchange[], { keepRequests = false } = {}) {
  const dir = temporaryDirectory(t)
  const out = temporaryDirectory(t)
  const interactions = exchanges.map(({ url, asked, said, status = 200, requestHeaders = {} }) => ({
    request: {
      method: asked === null ? 'GET' : 'POST',
      uri: url,
      headers: { 'content-type': ['application/json'], ...requestHeaders },
      body: asked === null ? null : typeof asked === 'string' ? asked : JSON.stringify(asked),
    },
    response: {
      status: { code: status, message: '' },
      headers: {
        'content-type': [
          typeof said === 'string' && said.includes('data:') ? 'text/event-stream' : 'application/json',
        ],
        date: ['Fri, 27 Nov 2026 09:00:00 GMT'],
      },
      body: { string: typeof said === 'string' ? said : JSON.stringify(said) },
    },
  }))
  writeFileSync(join(dir, 'cassette.json'), JSON.stringify({ version: 1, interactions }))
  const [done] = importRecordings([join(dir, 'cassette.json')], {
    out,
    today: '2026-11-28',
    keep: keepIn(out, { keepAnswers: true, keepRequests }),
  })
  return { out, refused: done!.refused, recordings: readRecordings(out) }
}

async function mockOf(t: TestContext, recordings: string) {
  const mock = await createMockProviders({ recordings, lenient: true })
  t.after(() => mock.close())
  return async ({ url, asked }: Pick<Exchange, 'url' | 'asked'>) => {
    const { host, pathname, search } = new URL(url)
    const provider = mock.providers.find((name) => PROVIDERS[name] === host) ?? 'openai'
    const key = mock.key(provider)
    const base = mock.baseUrl(provider)
    const path = (pathname + search).slice(new URL(BASES[provider]!).pathname.length)
    const response = await fetch(base + path, {
      method: asked === null ? 'GET' : 'POST',
      headers: {
        ...{ 'content-type': 'application/json', authorization: `Bearer ${key}`, 'x-api-key': key },
        ...{ 'x-goog-api-key': key, 'anthropic-version': '2023-06-01' },
        ...(typeof asked === 'string' && { 'content-type': 'multipart/form-data; boundary=b' }),
      },
      ...(asked !== null && { body: typeof asked === 'string' ? asked : JSON.stringify(asked) }),
    })
    const text = await response.text()
    return { status: response.status, text, json: parse(text) as any }
  }
}

const BASES: Readonly<Record<string, string>> = {
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
  gemini: 'https://generativelanguage.googleapis.com/v1beta',
  cohere: 'https://api.cohere.com/v2',
  mistral: 'https://api.mistral.ai/v1',
}
const PROVIDERS = Object.fromEntries(
  Object.entries(BASES).map(([name, base]): [string, string] => [name, new URL(base).host]),
)

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Returns the differences of two values, except ids and sealed texts. */
function changes(before: unknown, now: unknown, place = ''): string[] {
  if (typeof before === 'object' && before !== null && typeof now === 'object' && now !== null) {
    const names = new Set([...Object.keys(before), ...Object.keys(now)])
    return [...names].flatMap((name) =>
      changes((before as Json)[name], (now as Json)[name], `${place}.${name}`),
    )
  }
  if (before === now || (/_?id$/i.test(place) && /REDACTED|0{3}/.test(String(now)))) return []
  if (/signature|encrypted|\.data$/i.test(place) && typeof now === typeof before) return []
  return [`${place}: ${JSON.stringify(before)} became ${JSON.stringify(now)}`]
}

const user = { role: 'user', content: 'Begin.' }
const tokens = { input_tokens: 10, output_tokens: 5, total_tokens: 15 }

/** Items of Responses. */
const items: [name: string, items: Json[]][] = [
  [
    'a custom tool with a text',
    [
      {
        id: 'ctc_0123456789abcdef01',
        type: 'custom_tool_call',
        call_id: 'call_Zk3qP0aLx9Zk3q',
        name: 'apply_patch',
        input: '*** Begin Patch\n-40 kg\n+41 kg',
      },
    ],
  ],
  [
    'a click',
    [
      {
        id: 'cu_0123456789abcdef01',
        type: 'computer_call',
        call_id: 'call_Zk3qP0aLx9Zk3q',
        action: { type: 'click', button: 'left', x: 405, y: 157 },
        pending_safety_checks: [{ id: 'cu_sc_1', code: 'malicious_instructions', message: 'Look out.' }],
        status: 'completed',
      },
    ],
  ],
  [
    'code that the provider ran',
    [
      {
        id: 'ci_0123456789abcdef01',
        type: 'code_interpreter_call',
        status: 'completed',
        code: 'print(6 * 7)',
        container_id: 'cntr_0123456789abcdef01',
        outputs: [{ type: 'logs', logs: '42\n' }],
      },
    ],
  ],
  [
    'tools of a server, and a call of one',
    [
      {
        id: 'mcpl_0123456789abcdef01',
        type: 'mcp_list_tools',
        server_label: 'harbour',
        tools: [
          {
            name: 'list_berths',
            input_schema: { type: 'object', properties: { pier: { type: 'string' } } },
            description: 'Berths of a pier',
            annotations: { read_only: true },
          },
        ],
      },
      {
        id: 'mcp_0123456789abcdef01',
        type: 'mcp_call',
        server_label: 'harbour',
        name: 'list_berths',
        arguments: '{"pier":"B7"}',
        output: 'Three.',
        error: null,
      },
    ],
  ],
  [
    'a command of the local shell',
    [
      {
        id: 'lsh_0123456789abcdef01',
        type: 'local_shell_call',
        call_id: 'call_Zk3qP0aLx9Zk3q',
        action: {
          type: 'exec',
          command: ['ls', '-la'],
          env: { LANG: 'C' },
          timeout_ms: 10000,
          working_directory: '/srv',
        },
        status: 'completed',
      },
    ],
  ],
  [
    'hits of a search in files',
    [
      {
        id: 'fs_0123456789abcdef01',
        type: 'file_search_call',
        queries: ['harbour fees'],
        results: [
          {
            file_id: 'file-AbCdEfGh12345678',
            filename: 'fees.txt',
            score: 0.875,
            text: 'Fees rose.',
            attributes: { year: 2026, region: 'north' },
          },
        ],
        status: 'completed',
      },
    ],
  ],
  [
    'encrypted reasoning with its summary',
    [
      {
        id: 'rs_0123456789abcdef01',
        type: 'reasoning',
        summary: [{ type: 'summary_text', text: 'I weighed it.' }],
        encrypted_content: 'gAAAAABo1234567890abcdefABCDEF',
      },
      { id: 'cmp_0123456789abcdef01', type: 'compaction', encrypted_content: 'gAAAAABo0987654321' },
    ],
  ],
  [
    'text with citations and probabilities',
    [
      {
        id: 'msg_0123456789abcdef01',
        type: 'message',
        role: 'assistant',
        phase: 'final_answer',
        content: [
          {
            type: 'output_text',
            text: 'Fees rose.',
            annotations: [
              {
                type: 'container_file_citation',
                container_id: 'cntr_0123456789abcdef01',
                filename: 'plot.png',
                start_index: 2,
                end_index: 9,
              },
            ],
            logprobs: [{ token: 'Fees', logprob: -0.25, bytes: [70], top_logprobs: [] }],
          },
        ],
      },
    ],
  ],
  [
    'a patch and a picture',
    [
      {
        id: 'apc_0123456789abcdef01',
        type: 'apply_patch_call',
        call_id: 'call_Zk3qP0aLx9Zk3q',
        operation: { type: 'update_file', path: 'ledger.txt', diff: '@@\n-40\n+41' },
        status: 'completed',
      },
      {
        id: 'ig_0123456789abcdef01',
        type: 'image_generation_call',
        status: 'completed',
        result: 'iVBORw0KGgoAAAANSUhEUg==',
        revised_prompt: 'A pear',
        size: '1024x1024',
      },
    ],
  ],
]

/** Blocks of Messages. */
const blocks: [name: string, blocks: Json[]][] = [
  [
    'thoughts, some of them sealed',
    [
      { type: 'thinking', thinking: 'Weigh it.', signature: 'EqQBCgIYAhIM1gbcDa9GJwZA2b3h' },
      { type: 'redacted_thinking', data: 'EmwKAhgBEgy3va3pzix4LQaBmVxx' },
      { type: 'text', text: '41 kg.' },
    ],
  ],
  [
    'a search with its results',
    [
      {
        type: 'server_tool_use',
        id: 'srvtoolu_01AbCdEfGhIjKlMnOp',
        name: 'web_search',
        input: { query: 'fees' },
      },
      {
        type: 'web_search_tool_result',
        tool_use_id: 'srvtoolu_01AbCdEfGhIjKlMnOp',
        content: [
          {
            type: 'web_search_result',
            title: 'Fees',
            url: 'https://example.org/fees',
            encrypted_content: 'EqgfCioIARgB',
            page_age: 'April 30, 2026',
          },
        ],
      },
      {
        type: 'text',
        text: 'They rose.',
        citations: [
          {
            type: 'web_search_result_location',
            url: 'https://example.org/fees',
            title: 'Fees',
            encrypted_index: 'Eo8BCioIAhgB',
            cited_text: 'A tenth.',
          },
        ],
      },
    ],
  ],
  [
    'code that the provider ran',
    [
      {
        type: 'server_tool_use',
        id: 'srvtoolu_01AbCdEfGhIjKlMnOp',
        name: 'bash_code_execution',
        input: { command: 'ls' },
      },
      {
        type: 'bash_code_execution_tool_result',
        tool_use_id: 'srvtoolu_01AbCdEfGhIjKlMnOp',
        content: {
          type: 'bash_code_execution_result',
          stdout: 'a.txt\n',
          stderr: '',
          return_code: 0,
          content: [{ type: 'bash_code_execution_output', file_id: 'file_011CNha8iCJcU1wXNR6q4V8w' }],
        },
      },
    ],
  ],
  [
    'a call of a server',
    [
      {
        type: 'mcp_tool_use',
        id: 'mcptoolu_014Q35RayjACSWkSj4',
        name: 'echo',
        server_name: 'harbour',
        input: { p: 1 },
      },
      {
        type: 'mcp_tool_result',
        tool_use_id: 'mcptoolu_014Q35RayjACSWkSj4',
        is_error: false,
        content: [{ type: 'text', text: 'Hello' }],
      },
    ],
  ],
  [
    'a citation of a document',
    [
      {
        type: 'text',
        text: 'Green.',
        citations: [
          {
            type: 'page_location',
            cited_text: 'The grass is green.',
            document_index: 0,
            document_title: 'Meadow',
            start_page_number: 3,
            end_page_number: 4,
          },
        ],
      },
    ],
  ],
  [
    'a call with numbers and an own id',
    [
      {
        type: 'tool_use',
        id: 'toolu_01AbCdEfGhIjKlMnOpQr',
        name: 'weigh',
        input: { crate_id: 'B7-crate', kg: 41.5, ok: false, list: [1, 2] },
      },
    ],
  ],
]

/** Parts of Gemini. */
const parts: [name: string, parts: Json[]][] = [
  [
    'a signed call',
    [
      {
        functionCall: { id: 'abcdef0123456789', name: 'weigh', args: { crate: 'B7' } },
        thoughtSignature: 'CpcBAdHtim9RvMSW',
      },
    ],
  ],
  [
    'code and its result',
    [
      { executableCode: { language: 'PYTHON', code: 'print(42)' } },
      { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '42\n' } },
    ],
  ],
  ['a picture', [{ inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }]],
  [
    'a thought',
    [{ text: 'Weigh it.', thought: true, thoughtSignature: 'CpcBAdHtim9RvMSW' }, { text: '41 kg.' }],
  ],
  ['a file', [{ fileData: { mimeType: 'video/mp4', fileUri: 'https://example.org/a.mp4' } }]],
]

/** Messages of chat. */
const messages: [name: string, message: Json][] = [
  [
    'a citation, and encrypted reasoning',
    {
      content: 'Fees rose.',
      annotations: [
        {
          type: 'url_citation',
          url_citation: { url: 'https://example.org', title: 'Fees', start_index: 0, end_index: 4 },
        },
      ],
      reasoning: 'Look.',
      reasoning_details: [
        {
          type: 'reasoning.encrypted',
          data: 'gAAAAABo12345',
          id: 'rs_0123456789abcdef01',
          format: 'openai-responses-v1',
          index: 0,
        },
      ],
    },
  ],
  [
    'a custom tool',
    {
      content: null,
      tool_calls: [{ id: 'call_Zk3qP0aLx9Zk3q', type: 'custom', custom: { name: 'patch', input: '+41' } }],
    },
  ],
  ['an old call', { content: null, function_call: { name: 'weigh', arguments: '{"crate":"B7"}' } }],
  [
    'spoken words',
    {
      content: null,
      audio: {
        id: 'audio_0123456789abcdef',
        data: 'UklGRg==',
        transcript: 'Forty-one.',
        expires_at: 1795770000,
      },
    },
  ],
  ['a refusal', { content: null, refusal: 'No.' }],
]

interface Turns {
  readonly url: string
  readonly ask: (said: unknown) => Json
  readonly answer: (said: unknown) => Json
  /** Returns what the client sends back. */
  readonly of: (answer: any) => unknown
}

/** Steps of an interaction. */
const steps: [name: string, steps: Json[]][] = [
  [
    'a signed thought, a picture and calls',
    [
      {
        type: 'thought',
        signature: 'CiQBDDnWx+Xp0gYVp4DFf7zufCwA',
        summary: [{ type: 'text', text: 'Weigh it.' }],
      },
      {
        type: 'model_output',
        content: [
          { type: 'text', text: 'I look.' },
          { type: 'image', data: 'iVBORw0KGgoAAAANSUhEUg==', mime_type: 'image/png' },
        ],
      },
      { type: 'function_call', id: '61nzpsv4', name: 'weigh', arguments: { at: [1, 2.5], deep: { kg: 41 } } },
      { type: 'function_call', id: '61nzpsv5', name: 'weigh', arguments: {} },
    ],
  ],
  [
    'a search of the provider, after the text that cites it',
    [
      {
        type: 'model_output',
        content: [
          {
            type: 'text',
            text: 'Fees rose.',
            annotations: [
              {
                type: 'url_citation',
                url: 'https://example.org/fees',
                title: 'Fees',
                start_index: 0,
                end_index: 10,
              },
            ],
          },
        ],
      },
      { type: 'google_search_call', id: '7xveqyd2', signature: '', arguments: { queries: ['harbour fees'] } },
      {
        type: 'google_search_result',
        call_id: '7xveqyd2',
        signature: 'c2lnbmVkIHJlc3VsdA==',
        result: [{ search_suggestions: '<p>fees</p>' }],
      },
    ],
  ],
  [
    'code that the provider ran, and an unknown step',
    [
      {
        type: 'code_execution_call',
        id: '8abcqyd2',
        arguments: { code: 'print(6 * 7)', language: 'python' },
      },
      { type: 'code_execution_result', call_id: '8abcqyd2', result: '42\n', is_error: false },
      { type: 'retrieval_of_tomorrow', about: 'fees' },
    ],
  ],
]

const INTERACTION = 'v1_ChdVbXNIYXVEUkVacmpxdHNQb3JQeXlBRRIXVW1zSGF1RFJFWnJqcXRzUG9yUHl5QUU'
const path = '/models/gemini-2.5-flash:generateContent'
const DIALECTS: Readonly<Record<string, Turns>> = {
  responses: {
    url: `${BASES.openai}/responses`,
    ask: (said) => ({
      model: 'gpt-5.4',
      store: false,
      input: said ? [user, ...(said as Json[]), user] : [user],
    }),
    answer: (output) => ({
      id: 'resp_011223344556677889900aabb',
      object: 'response',
      created_at: 1795766400,
      status: 'completed',
      model: 'gpt-5.4',
      output,
      usage: tokens,
    }),
    of: (answer) => answer.output,
  },
  messages: {
    url: `${BASES.anthropic}/messages`,
    ask: (said) => ({
      model: 'claude-sonnet-4-5',
      max_tokens: 99,
      messages: said ? [user, { role: 'assistant', content: said }, user] : [user],
    }),
    answer: (content) => ({
      id: 'msg_1AbCdEfGhIjKlMnOpQrStUv',
      type: 'message',
      role: 'assistant',
      model: 'claude-sonnet-4-5',
      content,
      stop_reason: 'end_turn',
      stop_sequence: null,
      container: { id: 'container_011CPR5CNjB747bTd36f', expires_at: '2026-11-27T10:00:00Z' },
      usage: tokens,
    }),
    of: (answer) => answer.content,
  },
  gemini: {
    url: BASES.gemini + path,
    ask: (said) => {
      const first = { role: 'user', parts: [{ text: 'Begin.' }] }
      return { contents: said ? [first, { role: 'model', parts: said }, first] : [first] }
    },
    answer: (given) => ({
      candidates: [
        {
          content: { parts: given, role: 'model' },
          finishReason: 'STOP',
          index: 0,
          avgLogprobs: -0.125,
          groundingMetadata: {
            webSearchQueries: ['fees'],
            groundingSupports: [
              { segment: { startIndex: 1, endIndex: 9, text: 'x' }, confidenceScores: [0.5] },
            ],
          },
        },
      ],
      usageMetadata: { promptTokenCount: 5, totalTokenCount: 12 },
      modelVersion: 'gemini-2.5-flash',
      responseId: 'mAitaLmkHPPlz7IPvtfUqQ4',
    }),
    of: (answer) => answer.candidates[0].content.parts,
  },
  chat: {
    url: `${BASES.openai}/chat/completions`,
    ask: (said) => ({ model: 'gpt-4.1', messages: said ? [user, said, user] : [user] }),
    answer: (message) => ({
      id: 'chatcmpl-AbCdEfGhIjKlMnOpQr',
      object: 'chat.completion',
      created: 1795766400,
      model: 'gpt-4.1',
      choices: [{ index: 0, message: { role: 'assistant', ...(message as Json) }, finish_reason: 'stop' }],
      system_fingerprint: 'fp_44709d6fcb',
      usage: { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 },
    }),
    of: (answer) => answer.choices[0].message,
  },
  interactions: {
    url: `${BASES.gemini}/interactions`,
    ask: (said) => {
      const begin = { type: 'user_input', content: [{ type: 'text', text: 'Begin.' }] }
      const results = ((said ?? []) as Json[]).flatMap(({ type, id }) =>
        type === 'function_call' ? [{ type: 'function_result', call_id: id, result: { kg: 41 } }] : [],
      )
      return {
        model: 'gemini-2.5-flash',
        input: said ? [begin, ...(said as Json[]), ...results, begin] : [begin],
      }
    },
    answer: (given) => ({
      id: INTERACTION,
      object: 'interaction',
      status: 'completed',
      model: 'gemini-2.5-flash',
      created: '2026-11-27T09:00:00Z',
      updated: '2026-11-27T09:00:01Z',
      steps: given,
      usage: { total_input_tokens: 5, total_output_tokens: 7, total_tokens: 12, total_cached_tokens: 0 },
      service_tier: 'standard',
    }),
    of: (answer) => answer.steps,
  },
}

for (const [dialect, cases] of Object.entries({
  responses: items,
  messages: blocks,
  gemini: parts,
  chat: messages,
  interactions: steps,
}))
  for (const [name, said] of cases)
    test(`a kept answer with ${name} (${dialect}) is whole, and its replay finds the next turn (REC-03, REC-06)`, async (t) => {
      const { url, ask, answer, of } = DIALECTS[dialect]!
      const first = { url, asked: ask(null), said: answer(said) }
      const text = { type: 'text', text: 'The end.' }
      const end = answer(
        dialect === 'chat'
          ? { content: 'The end.' }
          : [dialect === 'interactions' ? { type: 'model_output', content: [text] } : text],
      )
      const { out, refused } = kept(t, [first, { url, asked: ask(of(first.said)), said: end }])
      assert.deepEqual(refused, [])
      assert.deepEqual(verifyRecordings(out), [])
      assert.deepEqual(suspectsBelow(out), [])
      const replay = await mockOf(t, out)
      const got = await replay(first)
      assert.deepEqual(changes(first.said, got.json), [])
      const next = await replay({ url, asked: ask(of(got.json)) })
      assert.match(next.text, /The end\./)
    })

test('a replayed interaction is continued by its id, whole and streamed, and by no other (REC-03, REC-06)', async (t) => {
  const { url, answer } = DIALECTS.interactions!
  const event = (event_type: string, more: object) =>
    `event: ${event_type}\ndata: ${JSON.stringify({ ...more, event_type })}\n\n`
  const { steps: _, ...end } = answer([])
  const streamed = [
    event('interaction.created', { interaction: { ...end, status: 'in_progress', usage: undefined } }),
    event('step.start', { index: 0, step: { type: 'thought' } }),
    event('step.delta', {
      index: 0,
      delta: { type: 'thought_signature', signature: 'CiQBDDnWx+Xp0gYVp4D=' },
    }),
    event('step.stop', { index: 0 }),
    event('step.start', { index: 1, step: { type: 'model_output' } }),
    event('step.delta', { index: 1, delta: { type: 'text', text: 'I look.' } }),
    event('step.stop', { index: 1 }),
    event('interaction.completed', { interaction: end }),
    'event: done\ndata: [DONE]\n\n',
  ].join('')
  const said = (text: string) => answer([{ type: 'model_output', content: [{ type: 'text', text }] }])
  for (const first of [said('I look.'), streamed]) {
    const ask = { model: 'gemini-2.5-flash', input: 'Begin.', ...(first === streamed && { stream: true }) }
    const next = (id: string) => ({ model: 'gemini-2.5-flash', input: 'And?', previous_interaction_id: id })
    const { out, refused } = kept(t, [
      { url, asked: ask, said: first },
      { url, asked: next(INTERACTION), said: said('The end.') },
    ])
    assert.deepEqual([refused, verifyRecordings(out), suspectsBelow(out)], [[], [], []])
    const replay = await mockOf(t, out)
    const { text } = await replay({ url, asked: ask })
    assert.match(text, /I look\./)
    assert.doesNotMatch(text, new RegExp(INTERACTION))
    const id = /"id": ?"([^"]+)"/.exec(text)![1]!
    assert.match((await replay({ url, asked: next(id) })).text, /The end\./)
    assert.match(
      (await replay({ url, asked: { ...next(id), previous_interaction_id: undefined } })).text,
      /no_recording/,
    )
  }
})

test('a recorded read of an interaction in the background is replayed (REC-03)', async (t) => {
  const { url, answer } = DIALECTS.interactions!
  const begun = { ...answer([]), status: 'in_progress', steps: undefined, usage: undefined }
  const asked = { model: 'deep-research', input: 'Begin.', background: true }
  const read = { url: `${url}/${INTERACTION}`, asked: null }
  const done = answer([{ type: 'model_output', content: [{ type: 'text', text: 'The end.' }] }])
  const { out, refused } = kept(t, [
    { url, asked, said: begun },
    { ...read, said: begun },
    { ...read, said: done },
  ])
  assert.deepEqual([refused, verifyRecordings(out)], [[], []])
  const replay = await mockOf(t, out)
  const { id } = (await replay({ url, asked })).json
  const statuses = []
  for (let n = 0; n < 3; n++) statuses.push((await replay({ url: `${url}/${id}`, asked: null })).json.status)
  assert.deepEqual(statuses, ['in_progress', 'completed', 'completed'])
})

/** Answers of one turn, kept as they are. */
const single: [name: string, exchange: Exchange][] = [
  [
    'vectors of Gemini',
    {
      url: `${BASES.gemini}/models/gemini-embedding-001:batchEmbedContents`,
      asked: { requests: [] },
      said: { embeddings: [{ values: [0.25, -0.5] }] },
    },
  ],
  [
    'scores of a ranking',
    {
      url: `${BASES.cohere}/rerank`,
      asked: { model: 'rerank-v3.5', query: 'fees', documents: ['b', 'a'], top_n: 1, return_documents: true },
      said: { results: [{ index: 0, relevance_score: 0.8713 }], meta: { billed_units: { search_units: 1 } } },
    },
  ],
  [
    'scores of a moderation',
    {
      url: `${BASES.openai}/moderations`,
      asked: { input: 'x' },
      said: {
        id: 'modr-0123456789abcdef',
        model: 'omni-moderation-latest',
        results: [{ flagged: true, categories: { violence: true }, category_scores: { violence: 0.9912 } }],
      },
    },
  ],
  [
    'a field that must change',
    {
      url: `${BASES.openai}/chat/completions`,
      asked: { model: 'gpt-4.1', messages: [user] },
      status: 400,
      said: {
        error: {
          message: 'Invalid.',
          type: 'invalid_request_error',
          param: 'messages[0].content',
          code: 'decimal_above_max_value',
        },
      },
    },
  ],
  [
    'a wait, and the quota',
    {
      url: BASES.gemini + path,
      asked: { contents: [] },
      status: 429,
      said: {
        error: {
          code: 429,
          message: 'Quota.',
          status: 'RESOURCE_EXHAUSTED',
          details: [
            {
              '@type': 'type.googleapis.com/google.rpc.QuotaFailure',
              violations: [
                {
                  quotaMetric: 'generativelanguage.googleapis.com/generate_content_free_tier_requests',
                  quotaId: 'GenerateRequestsPerDayPerProjectPerModel-FreeTier',
                  quotaValue: '20',
                },
              ],
            },
            { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '36.4s' },
          ],
        },
      },
    },
  ],
  [
    'the reasons of a filter',
    {
      url: `${BASES.openai}/chat/completions`,
      asked: { model: 'gpt-4.1', messages: [user] },
      status: 400,
      said: {
        error: {
          code: 'content_filter',
          message: 'Filtered.',
          innererror: {
            code: 'ResponsibleAIPolicyViolation',
            content_filter_result: { hate: { filtered: true, severity: 'high' } },
          },
        },
      },
    },
  ],
  [
    'a refused field in words',
    {
      url: `${BASES.mistral}/chat/completions`,
      asked: { model: 'mistral-large-latest', messages: [user] },
      status: 422,
      said: {
        detail: [
          {
            type: 'missing',
            loc: ['body', 'messages'],
            msg: 'Field required',
            input: { model: 'x' },
            ctx: { ge: 0.5 },
          },
        ],
      },
    },
  ],
]
for (const [name, exchange] of single)
  test(`a kept answer with ${name} is whole (REC-03)`, async (t) => {
    const { out, refused } = kept(t, [exchange])
    assert.deepEqual(refused, [])
    assert.deepEqual(verifyRecordings(out), [])
    const got = await (await mockOf(t, out))(exchange)
    assert.equal(got.status, exchange.status ?? 200)
    assert.deepEqual(changes(exchange.said, got.json), [])
  })

/** A file that is uploaded. */
const FORM = [
  ...['--b', 'content-disposition: form-data; name="purpose"', '', 'batch'],
  ...['--b', 'content-disposition: form-data; name="file"; filename="a.jsonl"', '', '{}', '--b--', ''],
].join('\r\n')

/** Ids that an answer gives, and requests that name one. */
const naming: [
  name: string,
  gives: Pick<Exchange, 'url' | 'asked'>,
  said: (id: string) => Json,
  ids: [string, string],
  next: Pick<Exchange, 'url'> & { asked: (id: string) => Json },
][] = [
  [
    'the file of a batch',
    { url: `${BASES.openai}/files`, asked: FORM },
    (id) => ({ id, object: 'file' }),
    ['file-8kVb7TqXy2LmN4pQ', 'file-Zz91AbCdEfGhIjKl'],
    { url: `${BASES.openai}/batches`, asked: (id) => ({ input_file_id: id, endpoint: '/v1/responses' }) },
  ],
  [
    'a file of another provider',
    { url: `${BASES.mistral}/files`, asked: FORM },
    (id) => ({ id, object: 'file' }),
    ['3f2b8c1e-77aa-4d0e-9c55-0a1b2c3d4e5f', '8d0e3f2b-c155-4a77-b81e-5f0a1b2c3d4e'],
    {
      url: `${BASES.mistral}/batch/jobs`,
      asked: (id) => ({ input_files: [id], model: 'mistral-small-latest' }),
    },
  ],
  [
    'an image',
    { url: `${BASES.openai}/files`, asked: FORM },
    (id) => ({ id, object: 'file' }),
    ['file-8kVb7TqXy2LmN4pQ', 'file-Zz91AbCdEfGhIjKl'],
    {
      url: `${BASES.openai}/responses`,
      asked: (file_id) => ({
        model: 'gpt-5.4',
        input: [{ role: 'user', content: [{ type: 'input_image', file_id }] }],
      }),
    },
  ],
  [
    'a document',
    { url: `${BASES.anthropic}/files`, asked: FORM },
    (id) => ({ id, type: 'file' }),
    ['file_011CNha8iCJcU1wXNR6q4V8w', 'file_011CPq7ZkTmB2vXc9Ls4Dy1e'],
    {
      url: `${BASES.anthropic}/messages`,
      asked: (file_id) => ({
        ...{ model: 'claude-sonnet-5', max_tokens: 9 },
        messages: [{ role: 'user', content: [{ type: 'document', source: { type: 'file', file_id } }] }],
      }),
    },
  ],
  [
    'a conversation',
    { url: `${BASES.openai}/conversations`, asked: {} },
    (id) => ({ id, object: 'conversation' }),
    ['conv_68f1c2d3e4a5b6c7d8e9f0a1', 'conv_79a2d3e4f5b6c7d8e9f0a1b2'],
    {
      url: `${BASES.openai}/responses`,
      asked: (conversation) => ({ model: 'gpt-5.4', input: 'And?', conversation }),
    },
  ],
  [
    'a container',
    {
      url: `${BASES.anthropic}/messages`,
      asked: { model: 'claude-sonnet-5', max_tokens: 9, messages: [user] },
    },
    (id) => ({ type: 'message', container: { id, expires_at: '2026-11-27T10:00:00Z' } }),
    ['container_011CNha8iCJcU1wXNR6q4V8w', 'container_011CPq7ZkTmB2vXc9Ls4Dy1e'],
    {
      url: `${BASES.anthropic}/messages`,
      asked: (container) => ({
        ...{ model: 'claude-sonnet-5', max_tokens: 9, container },
        messages: [{ role: 'user', content: 'And?' }],
      }),
    },
  ],
  [
    'a file to train on',
    { url: `${BASES.openai}/files`, asked: FORM },
    (id) => ({ id, object: 'file' }),
    ['file-8kVb7TqXy2LmN4pQ', 'file-Zz91AbCdEfGhIjKl'],
    {
      url: `${BASES.openai}/fine_tuning/jobs`,
      asked: (training_file) => ({ training_file, model: 'gpt-4.1-mini' }),
    },
  ],
]
for (const [name, gives, said, ids, next] of naming)
  test(`two requests that differ only in the id of ${name} get their own answers, by the replay’s ids (REC-03, REC-06)`, async (t) => {
    const { out, refused } = kept(t, [
      ...ids.map((id) => ({ ...gives, said: said(id) })),
      ...ids.map((id, n) => ({
        url: next.url,
        asked: next.asked(id),
        said: { object: 'x', status: `${n}` },
      })),
    ])
    assert.deepEqual([refused, verifyRecordings(out)], [[], []])
    const replay = await mockOf(t, out)
    const given: string[] = []
    for (const _ of ids) {
      const { json } = await replay(gives)
      given.push(json.id ?? json.container.id)
    }
    assert.equal(new Set([...given, ...ids]).size, 4, given.join())
    for (const n of [1, 0]) {
      const { text, json } = await replay({ url: next.url, asked: next.asked(given[n]!) })
      assert.equal(json.status, `${n}`, text)
    }
  })

test('a file or a cache that a client has read is named by the replay’s name, or by the provider’s (REC-03, REC-06)', async (t) => {
  const generate = `${BASES.gemini}/models/gemini-2.5-flash:generateContent`
  for (const [kind, ids] of [
    ['files', ['k3j4h5g6f7d8', 'z9x8c7v6b5n4']],
    ['cachedContents', ['5q8r7t6w9e0z1u2i', 'p4o3i2u1z0t9r8e7']],
  ] as const) {
    const read = (id: string) => ({ url: `${BASES.gemini}/${kind}/${id}`, asked: null })
    const named = (id: string) => ({ name: `${kind}/${id}`, uri: read(id).url })
    const next = ({ name, uri }: ReturnType<typeof named>) => ({
      url: generate,
      asked: {
        contents: [
          {
            role: 'user',
            parts: [{ text: 'And?' }, ...(kind === 'files' ? [{ fileData: { fileUri: uri } }] : [])],
          },
        ],
        ...(kind !== 'files' && { cachedContent: name }),
      },
    })
    const { out, refused } = kept(t, [
      ...ids.map((id) => ({ ...read(id), said: named(id) })),
      ...ids.map((id, n) => ({ ...next(named(id)), said: { candidates: [], modelVersion: `gemini-${n}` } })),
    ])
    assert.deepEqual([refused, verifyRecordings(out)], [[], []])
    const replay = await mockOf(t, out)
    for (const n of [1, 0]) {
      const { json } = await replay(read(ids[n]!))
      assert.notEqual(json.name, `${kind}/${ids[n]}`)
      for (const name of [json, named(ids[n]!)]) {
        const { text, json: said } = await replay(next(name))
        assert.equal(said.modelVersion, `gemini-${n}`, text)
      }
    }
  }
})

test('an exchange with an MCP server is kept, because it becomes a part of the next call (REC-03)', (t) => {
  const url = 'http://127.0.0.1:8081/mcp'
  const rpc = (method: string, params?: Json) => ({
    jsonrpc: '2.0',
    id: 1,
    method,
    ...(params && { params }),
  })
  const says = (result: Json) =>
    `event: message\r\ndata: ${JSON.stringify({ jsonrpc: '2.0', id: 1, result })}\r\n\r\n`
  const listed = {
    tools: [
      { name: 'list_berths', inputSchema: { type: 'object', properties: { pier: { type: 'string' } } } },
    ],
  }
  const found = {
    content: [{ type: 'text', text: '{"berths":3,"key":"ghp_0123456789abcdefghij0123456789abcdef"}' }],
    structuredContent: { berths: 3, account_id: 'harbour-of-ann', password: 'low-water-mark' },
    isError: false,
  }
  const { recordings, refused } = kept(t, [
    { url, asked: rpc('tools/list'), said: says(listed) },
    { url, asked: rpc('tools/call', { name: 'list_berths', arguments: { pier: 'B7' } }), said: says(found) },
    {
      url,
      asked: [rpc('resources/read', { uri: 'file:///a' })],
      said: [{ jsonrpc: '2.0', id: 1, result: { contents: [{ uri: 'file:///a', text: 'Pears' }] } }],
    },
    { url, asked: rpc('eth_getBalance'), said: { jsonrpc: '2.0', id: 1, result: 'Pears' } },
  ])
  assert.deepEqual(refused, [])
  const texts = recordings.map(({ bytes }) => Buffer.from(bytes).toString())
  const [own, other] = [
    recordings.filter(({ redaction }) => !redaction?.blanked?.['no call to a model']),
    recordings.filter(({ redaction }) => redaction?.blanked?.['no call to a model']),
  ]
  assert.deepEqual([own.length, other.length], [3, 1])
  const said = texts.join('\n')
  assert.match(said, /"name":"list_berths","inputSchema":\{"type":"object","properties":\{"pier"/)
  assert.match(said, /"structuredContent":\{"berths":3,"account_id":"harbour-of-ann",/)
  assert.match(said, /"berths\\":3/)
  assert.match(said, /file:\/\/\/a","text":"Pears/)
  assert.equal(said.match(/Pears/g)!.length, 1)
  assert.doesNotMatch(said, /ghp_0123|low-water-mark/)
})

test('a recording names what was blanked in a kept answer (REC-01)', (t) => {
  const { url, answer, ask } = DIALECTS.responses!
  const said = {
    ...answer([
      {
        id: 'rs_0123456789abcdef01',
        type: 'reasoning',
        summary: [],
        encrypted_content: 'gAAAAABo1234567890',
      },
      {
        id: 'msg_0123456789abcdef01',
        type: 'message',
        role: 'assistant',
        content: [
          { type: 'output_text', text: 'Use ghp_0123456789abcdefghij0123456789abcdef.', annotations: [] },
        ],
      },
    ]),
    instructions: 'Talk like a clerk.',
    user: 'clerk-7-of-harbour',
    tools: [{ type: 'function', name: 'weigh', parameters: {} }],
  }
  const { recordings } = kept(t, [{ url, asked: ask(null), said }])
  assert.deepEqual(recordings[0]!.redaction!.blanked, {
    ids: 3,
    'sealed encrypted_content': 1,
    credentials: 1,
    'echoed instructions': 1,
    'echoed user': 1,
    'echoed tools': 1, // its name
  })
})

/** Exchanges that are no calls to a model, and parts of them that must not be stored. */
const others: [name: string, exchange: Exchange, secret: RegExp][] = [
  [
    'a login',
    {
      url: 'https://api.example.com/v1/login',
      asked: { user: 'clerk', password: 'pear-tree-in-autumn' },
      said: { token: 'q7Zr2mXw9Lk4Tb8Yc1' },
    },
    /q7Zr2|pear-tree|clerk/,
  ],
  [
    'a token of OAuth, asked for by a form',
    {
      url: 'https://oauth2.example.com/token',
      asked: 'grant_type=refresh_token&refresh_token=1fY7kQ0pLm3',
      said: { access_token: 'Zx81kLmQ27', refresh_token: 'Rt55' },
    },
    /Zx81|Rt55|1fY7/,
  ],
  [
    'a key for a session at a provider',
    {
      url: `${BASES.openai}/realtime/client_secrets`,
      asked: { session: { model: 'gpt-realtime' } },
      said: { value: 'q7Zr2mXw9Lk4', session: { instructions: 'Harbour' } },
    },
    /q7Zr2|Harbour/,
  ],
  [
    'telemetry that names a model',
    {
      url: 'https://api.anthropic.com/api/event_logging/batch',
      asked: { model: 'claude', events: ['opened ledger.txt'] },
      said: { accepted: 'ledger.txt' },
    },
    /ledger/,
  ],
  [
    'a page',
    { url: 'https://shop.example.com/pears/today', asked: null, said: { title: 'Pears of Ann' } },
    /Pears|Ann/,
  ],
  [
    'mail',
    {
      url: 'https://gmail.googleapis.com/gmail/v1/users/me/messages',
      asked: null,
      said: { snippet: 'Dear Ann' },
    },
    /Dear|Ann/,
  ],
  [
    'keys of an administrator',
    {
      url: `${BASES.openai}/organization/admin_api_keys`,
      asked: null,
      said: { data: [{ name: 'Ann', value: 'q7Zr2mXw9Lk4' }] },
    },
    /Ann|q7Zr/,
  ],
]
for (const [name, exchange, secret] of others)
  test(`${name} is no call to a model: it is blanked whole, and named (REC-01)`, (t) => {
    const { recordings, refused } = kept(t, [exchange], { keepRequests: true })
    assert.deepEqual(refused, [])
    const [one] = recordings
    assert.deepEqual(one!.redaction!.blanked, { 'no call to a model': 1 })
    assert.doesNotMatch(Buffer.from(one!.bytes).toString() + JSON.stringify(one!.request), secret)
  })

test('a kept request has no credential in any field, and a gateway’s own address still is a call to a model (REC-01)', (t) => {
  const asked = {
    model: 'gpt-5.4',
    input: 'See https://a.example/x?X-Amz-Signature=0a1b2c3d4e5f0a1b2c3d4e5f',
    tools: [
      {
        type: 'mcp',
        server_label: 'harbour',
        authorization: 'plain-words-only',
        headers: { 'X-Api-Key': 'plain-too' },
      },
    ],
    mcp_servers: [{ authorization_token: 'plain-as-well' }],
  }
  const url = 'https://llm.example.com/users/ann/v1/responses'
  const { recordings, refused } = kept(t, [{ url, asked, said: DIALECTS.responses!.answer([]) }], {
    keepRequests: true,
  })
  assert.deepEqual(refused, [])
  const stored = JSON.stringify(recordings[0]!.request)
  assert.match(stored, /See https/)
  assert.doesNotMatch(stored, /plain-|0a1b2c3d/)
})

test('a recorded file, batch or refusal of a model comes before those that the mock makes (REC-02)', async (t) => {
  const batches = 'https://api.anthropic.com/v1/messages/batches'
  const one = { custom_id: 'a', params: { model: 'claude-sonnet-5', max_tokens: 9, messages: [] } }
  const batch = { id: 'msgbatch_01AbCdEfGhIjKlMnOpQrStUv', type: 'message_batch', processing_status: 'ended' }
  const prefilled = {
    ...{ model: 'claude-sonnet-5', max_tokens: 9 },
    messages: [
      { role: 'user', content: 'Count.' },
      { role: 'assistant', content: 'One,' },
    ],
  }
  const error = { type: 'invalid_request_error', message: 'Sunday rules apply.' }
  const exchanges: Exchange[] = [
    { url: batches, asked: { requests: [one] }, said: batch },
    { url: `${batches}/${batch.id}`, asked: null, said: { ...batch, seen: true } },
    {
      url: 'https://api.anthropic.com/v1/messages',
      asked: prefilled,
      said: { type: 'error', error },
      status: 400,
    },
  ]
  const { out, refused } = kept(t, exchanges)
  assert.deepEqual(refused, [])
  const ask = await mockOf(t, out)
  assert.equal((await ask(exchanges[0]!)).json.processing_status, 'ended')
  assert.equal((await ask(exchanges[1]!)).json.seen, true)
  assert.equal((await ask(exchanges[2]!)).json.error.message, error.message)
  // Without a recording, the mock answers from its own.
  const { status } = await ask({ url: `${batches}/${batch.id}/results`, asked: null })
  assert.equal(status, 404)
})
