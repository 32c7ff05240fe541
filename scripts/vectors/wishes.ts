// Wishes of clients in each dialect, and the places where each provider reads them. Written by hand from the documents of the four
// dialects; shares no code with the gateway.
import { FORMAT, MEMBER, PIXEL } from '../../conformance/checks/dial/wishes.ts'
import type { VectorCheck } from './vector.ts'

type Dialect = 'chat' | 'messages' | 'responses' | 'gemini'
type Expect = readonly VectorCheck[][]

interface Wish {
  readonly what: string
  /** Members of a client's request; a client's dialect without an entry cannot ask for it. */
  readonly asks: Readonly<Partial<Record<Dialect, object>>>
  /** Alternatives of checks of `/sent`, for a provider of the dialect. */
  readonly reaches: Readonly<Record<Dialect, Expect>>
}

const is = (path: string, value: unknown): VectorCheck => ['is', `/sent${path}`, value as string]
const has = (path: string, text: string): VectorCheck => ['has', `/sent${path}`, text]
const only = (...checks: VectorCheck[]): Expect => [checks]
/** A dialect without the feature: the loss is named, or the call is refused before it is sent. */
const lost = (word: string): Expect => [[['has', '/losses', word]], [['one', '/refused', [400, 422]]]]

const ROAD = {
  name: 'find_road',
  description: 'Finds a road.',
  schema: {
    type: 'object',
    properties: { from: { type: 'string', description: 'Where the road begins.' } },
    required: ['from'],
  },
}
const chatTools = [
  { type: 'function', function: { name: ROAD.name, description: ROAD.description, parameters: ROAD.schema } },
]
const messagesTools = [{ name: ROAD.name, description: ROAD.description, input_schema: ROAD.schema }]
const responsesTools = [
  { type: 'function', name: ROAD.name, description: ROAD.description, parameters: ROAD.schema },
]
const geminiTools = [
  {
    functionDeclarations: [
      { name: ROAD.name, description: ROAD.description, parametersJsonSchema: ROAD.schema },
    ],
  },
]
const URL_OF_PIXEL = `data:image/png;base64,${PIXEL}`
const [FIRST, SAID, LAST] = ['Where does it begin?', 'At the ford.', 'And where does it end?']
const RULES = 'You know the roads, and answer in one sentence.'
const UNICODE = 'Zażółć «gęślą» jaźń 🧭 \\u0041 "quoted" </tag>\n\ttab'
const STOP = ['<<end>>', '<<stop>>']

const config = (generationConfig: object) => ({ generationConfig })
const mode = (functionCallingConfig: object) => ({
  tools: geminiTools,
  toolConfig: { functionCallingConfig },
})
const user = (text: string) => ({ role: 'user', content: text })
const turn = (role: string, ...parts: object[]) => ({ role, parts })

/** A number that every dialect but some has under a name of its own. */
const number = (what: string, value: number, names: Readonly<Record<Dialect, readonly string[]>>): Wish => ({
  what,
  asks: {
    chat: { [names.chat[0]!]: value },
    messages: { [names.messages[0]!]: value },
    responses: { [names.responses[0]!]: value },
    gemini: config({ [names.gemini[0]!]: value }),
  },
  reaches: {
    chat: names.chat.map((name) => [is(`/${name}`, value)]),
    messages: names.messages.map((name) => [is(`/${name}`, value)]),
    responses: names.responses.map((name) => [is(`/${name}`, value)]),
    gemini: names.gemini.map((name) => [is(`/generationConfig/${name}`, value)]),
  },
})

const text = (what: string, prompt: string): Wish => ({
  what,
  asks: {
    chat: { messages: [user(prompt)] },
    messages: { messages: [user(prompt)] },
    responses: { input: [user(prompt)] },
    gemini: { contents: [turn('user', { text: prompt })] },
  },
  reaches: {
    chat: ['/messages/0/content', '/messages/0/content/0/text'].map((at) => [is(at, prompt)]),
    messages: ['/messages/0/content', '/messages/0/content/0/text'].map((at) => [is(at, prompt)]),
    responses: ['/input', '/input/0/content', '/input/0/content/0/text'].map((at) => [is(at, prompt)]),
    gemini: only(is('/contents/0/parts/0/text', prompt)),
  },
})

const CHOICES: readonly Wish[] = [
  {
    what: 'A tool must be called.',
    asks: {
      chat: { tools: chatTools, tool_choice: 'required' },
      messages: { tools: messagesTools, tool_choice: { type: 'any' } },
      responses: { tools: responsesTools, tool_choice: 'required' },
      gemini: mode({ mode: 'ANY' }),
    },
    reaches: {
      chat: only(is('/tool_choice', 'required')),
      messages: only(is('/tool_choice/type', 'any')),
      responses: only(is('/tool_choice', 'required')),
      gemini: only(is('/toolConfig/functionCallingConfig/mode', 'ANY')),
    },
  },
  {
    what: 'One tool must be called.',
    asks: {
      chat: { tools: chatTools, tool_choice: { type: 'function', function: { name: ROAD.name } } },
      messages: { tools: messagesTools, tool_choice: { type: 'tool', name: ROAD.name } },
      responses: { tools: responsesTools, tool_choice: { type: 'function', name: ROAD.name } },
      gemini: mode({ mode: 'ANY', allowedFunctionNames: [ROAD.name] }),
    },
    // With one tool, any tool is this tool.
    reaches: {
      chat: [[is('/tool_choice/function/name', ROAD.name)], [is('/tool_choice', 'required')]],
      messages: [[is('/tool_choice/name', ROAD.name)], [is('/tool_choice/type', 'any')]],
      responses: [
        [is('/tool_choice/name', ROAD.name)],
        [is('/tool_choice', 'required')],
        [has('/tool_choice/tools', ROAD.name)],
      ],
      gemini: [
        [is('/toolConfig/functionCallingConfig/allowedFunctionNames', [ROAD.name])],
        [is('/toolConfig/functionCallingConfig/mode', 'ANY')],
      ],
    },
  },
  {
    what: 'No tool may be called.',
    asks: {
      chat: { tools: chatTools, tool_choice: 'none' },
      messages: { tools: messagesTools, tool_choice: { type: 'none' } },
      responses: { tools: responsesTools, tool_choice: 'none' },
      gemini: mode({ mode: 'NONE' }),
    },
    reaches: {
      chat: [[is('/tool_choice', 'none')], [['absent', '/sent/tools']]],
      messages: [[is('/tool_choice/type', 'none')], [['absent', '/sent/tools']]],
      responses: [[is('/tool_choice', 'none')], [['absent', '/sent/tools']]],
      gemini: [[is('/toolConfig/functionCallingConfig/mode', 'NONE')], [['absent', '/sent/tools']]],
    },
  },
  {
    what: 'Only one tool may be called at a time.',
    asks: {
      chat: { tools: chatTools, parallel_tool_calls: false },
      messages: { tools: messagesTools, tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
      responses: { tools: responsesTools, parallel_tool_calls: false },
    },
    reaches: {
      chat: only(is('/parallel_tool_calls', false)),
      messages: only(is('/tool_choice/disable_parallel_tool_use', true)),
      responses: only(is('/parallel_tool_calls', false)),
      gemini: lost('tool_choice'),
    },
  },
]

const CONTENT: readonly Wish[] = [
  text('A plain text.', 'Where to?'),
  text('A text of any characters.', UNICODE),
  {
    what: 'A turn of the model between two turns of the user.',
    asks: {
      chat: { messages: [user(FIRST), { role: 'assistant', content: SAID }, user(LAST)] },
      messages: { messages: [user(FIRST), { role: 'assistant', content: SAID }, user(LAST)] },
      responses: { input: [user(FIRST), { role: 'assistant', content: SAID }, user(LAST)] },
      gemini: {
        contents: [
          turn('user', { text: FIRST }),
          turn('model', { text: SAID }),
          turn('user', { text: LAST }),
        ],
      },
    },
    reaches: {
      chat: only(
        is('/messages/1/role', 'assistant'),
        has('/messages/1/content', SAID),
        has('/messages/0/content', FIRST),
        has('/messages/2/content', LAST),
      ),
      messages: only(
        is('/messages/1/role', 'assistant'),
        has('/messages/1/content', SAID),
        has('/messages/0/content', FIRST),
        has('/messages/2/content', LAST),
      ),
      responses: only(
        is('/input/1/role', 'assistant'),
        has('/input/1/content', SAID),
        has('/input/0/content', FIRST),
        has('/input/2/content', LAST),
      ),
      gemini: only(
        is('/contents/1/role', 'model'),
        has('/contents/1/parts', SAID),
        has('/contents/0/parts', FIRST),
        has('/contents/2/parts', LAST),
      ),
    },
  },
  {
    what: 'Instructions.',
    asks: {
      chat: { messages: [{ role: 'system', content: RULES }, user(FIRST)] },
      messages: { system: RULES },
      responses: { instructions: RULES },
      gemini: { systemInstruction: { parts: [{ text: RULES }] } },
    },
    reaches: {
      chat: only(
        ['one', '/sent/messages/0/role', ['system', 'developer']],
        has('/messages/0/content', RULES),
      ),
      messages: only(has('/system', RULES)),
      responses: [
        [has('/instructions', RULES)],
        [['one', '/sent/input/0/role', ['system', 'developer']], has('/input/0/content', RULES)],
      ],
      gemini: [[has('/systemInstruction', RULES)], [has('/system_instruction', RULES)]],
    },
  },
  {
    what: 'An image in the request.',
    asks: {
      chat: {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: FIRST },
              { type: 'image_url', image_url: { url: URL_OF_PIXEL } },
            ],
          },
        ],
      },
      messages: {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: FIRST },
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } },
            ],
          },
        ],
      },
      responses: {
        input: [
          {
            role: 'user',
            content: [
              { type: 'input_text', text: FIRST },
              { type: 'input_image', image_url: URL_OF_PIXEL },
            ],
          },
        ],
      },
      gemini: {
        contents: [turn('user', { text: FIRST }, { inlineData: { mimeType: 'image/png', data: PIXEL } })],
      },
    },
    reaches: {
      chat: only(is('/messages/0/content/1/image_url/url', URL_OF_PIXEL)),
      messages: only(
        is('/messages/0/content/1/source', { type: 'base64', media_type: 'image/png', data: PIXEL }),
      ),
      responses: only(is('/input/0/content/1/image_url', URL_OF_PIXEL)),
      gemini: [
        [is('/contents/0/parts/1/inlineData', { mimeType: 'image/png', data: PIXEL })],
        [is('/contents/0/parts/1/inline_data', { mime_type: 'image/png', data: PIXEL })],
      ],
    },
  },
  {
    what: 'A call of a tool, and its result.',
    asks: {
      chat: {
        tools: chatTools,
        messages: [
          user(FIRST),
          {
            role: 'assistant',
            content: null,
            tool_calls: [
              { id: 'call_1', type: 'function', function: { name: ROAD.name, arguments: '{"from":"here"}' } },
            ],
          },
          { role: 'tool', tool_call_id: 'call_1', content: 'north' },
        ],
      },
      messages: {
        tools: messagesTools,
        messages: [
          user(FIRST),
          {
            role: 'assistant',
            content: [{ type: 'tool_use', id: 'call_1', name: ROAD.name, input: { from: 'here' } }],
          },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: 'north' }] },
        ],
      },
      responses: {
        tools: responsesTools,
        input: [
          user(FIRST),
          { type: 'function_call', call_id: 'call_1', name: ROAD.name, arguments: '{"from":"here"}' },
          { type: 'function_call_output', call_id: 'call_1', output: 'north' },
        ],
      },
      gemini: {
        tools: geminiTools,
        contents: [
          turn('user', { text: FIRST }),
          turn('model', { functionCall: { name: ROAD.name, args: { from: 'here' } } }),
          turn('user', { functionResponse: { name: ROAD.name, response: { output: 'north' } } }),
        ],
      },
    },
    reaches: {
      chat: only(
        is('/messages/1/tool_calls/0/function/name', ROAD.name),
        is('/messages/2/role', 'tool'),
        has('/messages/2/content', 'north'),
        ['same', '/sent/messages/2/tool_call_id', '/sent/messages/1/tool_calls/0/id'],
      ),
      messages: only(
        is('/messages/1/content/0/name', ROAD.name),
        is('/messages/1/content/0/input', { from: 'here' }),
        is('/messages/2/content/0/type', 'tool_result'),
        has('/messages/2/content/0/content', 'north'),
        ['same', '/sent/messages/2/content/0/tool_use_id', '/sent/messages/1/content/0/id'],
      ),
      responses: only(
        is('/input/1/name', ROAD.name),
        is('/input/2/type', 'function_call_output'),
        has('/input/2/output', 'north'),
        ['same', '/sent/input/2/call_id', '/sent/input/1/call_id'],
      ),
      gemini: only(
        is('/contents/1/parts/0/functionCall/name', ROAD.name),
        is('/contents/1/parts/0/functionCall/args', { from: 'here' }),
        is('/contents/2/parts/0/functionResponse/name', ROAD.name),
        has('/contents/2/parts/0/functionResponse/response', 'north'),
      ),
    },
  },
]

const FORMATS: readonly Wish[] = [
  {
    what: 'A tool with its schema.',
    asks: {
      chat: { tools: chatTools },
      messages: { tools: messagesTools },
      responses: { tools: responsesTools },
      gemini: { tools: geminiTools },
    },
    reaches: {
      chat: only(
        is('/tools/0/function/name', ROAD.name),
        is('/tools/0/function/description', ROAD.description),
        is('/tools/0/function/parameters', ROAD.schema),
      ),
      messages: only(
        is('/tools/0/name', ROAD.name),
        is('/tools/0/description', ROAD.description),
        is('/tools/0/input_schema', ROAD.schema),
      ),
      responses: only(
        is('/tools/0/name', ROAD.name),
        is('/tools/0/description', ROAD.description),
        is('/tools/0/parameters', ROAD.schema),
      ),
      gemini: ['functionDeclarations', 'function_declarations'].map((name) => [
        is(`/tools/0/${name}/0/name`, ROAD.name),
        is(`/tools/0/${name}/0/description`, ROAD.description),
        has(`/tools/0/${name}/0`, 'Where the road begins.'),
      ]),
    },
  },
  {
    what: 'An answer that follows a schema.',
    asks: {
      chat: {
        response_format: { type: 'json_schema', json_schema: { name: 'road', strict: true, schema: FORMAT } },
      },
      messages: { output_config: { format: { type: 'json_schema', schema: FORMAT } } },
      responses: { text: { format: { type: 'json_schema', name: 'road', strict: true, schema: FORMAT } } },
      gemini: config({ responseMimeType: 'application/json', responseJsonSchema: FORMAT }),
    },
    reaches: {
      chat: only(
        is('/response_format/type', 'json_schema'),
        has('/response_format/json_schema/schema', MEMBER),
      ),
      // Models without the feature are asked by a tool or in the instructions.
      messages: [[has('', MEMBER)], ...lost('format')],
      responses: only(is('/text/format/type', 'json_schema'), has('/text/format/schema', MEMBER)),
      gemini: only(
        is('/generationConfig/responseMimeType', 'application/json'),
        has('/generationConfig', MEMBER),
      ),
    },
  },
  {
    what: 'Sequences at which the answer stops.',
    asks: {
      chat: { stop: STOP },
      messages: { stop_sequences: STOP },
      gemini: config({ stopSequences: STOP }),
    },
    reaches: {
      chat: only(is('/stop', STOP)),
      messages: only(is('/stop_sequences', STOP)),
      responses: lost('stop'),
      gemini: only(is('/generationConfig/stopSequences', STOP)),
    },
  },
  {
    what: 'A high effort of reasoning.',
    asks: {
      chat: { reasoning_effort: 'high' },
      responses: { reasoning: { effort: 'high' } },
      gemini: config({ thinkingConfig: { thinkingLevel: 'HIGH' } }),
    },
    reaches: {
      chat: only(is('/reasoning_effort', 'high')),
      messages: [[is('/output_config/effort', 'high')], [is('/thinking/type', 'enabled')], ...lost('effort')],
      responses: only(is('/reasoning/effort', 'high')),
      gemini: [
        [has('/generationConfig/thinkingConfig', 'HIGH')],
        [has('/generationConfig/thinkingConfig', 'high')],
        [has('/generationConfig/thinkingConfig', 'thinkingBudget')],
      ],
    },
  },
]

export const WISHES: Readonly<Record<string, Wish>> = Object.fromEntries(
  [
    ...CONTENT,
    ...CHOICES,
    ...FORMATS,
    number('A limit on the answer.', 1_234, {
      chat: ['max_completion_tokens', 'max_tokens'],
      messages: ['max_tokens'],
      responses: ['max_output_tokens'],
      gemini: ['maxOutputTokens'],
    }),
    number('A temperature.', 0.3, {
      chat: ['temperature'],
      messages: ['temperature'],
      responses: ['temperature'],
      gemini: ['temperature'],
    }),
    number('A temperature of 0.', 0, {
      chat: ['temperature'],
      messages: ['temperature'],
      responses: ['temperature'],
      gemini: ['temperature'],
    }),
    number('A top_p.', 0.85, {
      chat: ['top_p'],
      messages: ['top_p'],
      responses: ['top_p'],
      gemini: ['topP'],
    }),
  ].map((wish) => [
    wish.what
      .replace(/\.$/, '')
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-'),
    wish,
  ]),
)
