// What is asked of every gateway, messages for a provider of chat and chat for a provider of messages, and what has to be found
// where for it to have come through. Written by hand; a judge looks at what the provider received and at what the client got, and
// gives the benefit of the doubt. Over 250 lines, because it is a list.
import type { ScriptedAnswer } from '../../mocks/library.ts'

// biome-ignore lint/suspicious/noExplicitAny: what a gateway answers may be anything
export type Json = any

export interface Seen {
  /** What the provider received; of a second request, the second. */
  readonly sent: Json
  readonly status: number
  readonly headers: Headers
  /** The answer as JSON, or the data of its events. */
  readonly got: Json
  readonly text: string
  /** Whether the body arrived to its end. */
  readonly isWhole: boolean
}

/** `changed`: it is there in another form, which is named behind it. */
export type Verdict = 'kept' | 'lost' | `lost: ${string}` | `changed: ${string}`

export interface Case {
  readonly what: string
  /** `reasoner`: one that takes a level of effort; `thinker`: one at OpenRouter that shows its thoughts. */
  readonly model?: 'chat' | 'reasoner' | 'thinker'
  /** Members of the request. */
  readonly ask: Json
  readonly answer?: ScriptedAnswer
  /** A second request, made of the first answer. */
  readonly afterwards?: (got: Json) => Json
  readonly judge: (seen: Seen) => Verdict
}

/** To be put into the text of the last message: by it the provider knows what to answer. */
export const NONCE = 'a9e07ca5e5000002'
const ASK = `Where is the lamp? waybill-nonce-${NONCE}`
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const PDF = 'JVBERi0xLjQKMSAwIG9iajw8L1R5cGUvQ2F0YWxvZz4+ZW5kb2JqCnRyYWlsZXI8PC9Sb290IDEgMCBSPj4='
const SCHEMA = { type: 'object', properties: { lamp: { type: 'string' } }, required: ['lamp'] }

const holds = (value: unknown, text: string): boolean => (JSON.stringify(value) ?? '').includes(text)
const kept = (is: boolean, otherwise: Verdict = 'lost'): Verdict => (is ? 'kept' : otherwise)
const list = (value: unknown): Json[] => (Array.isArray(value) ? value : [])
const member = (value: unknown, name: string): Json => (value as Json)?.[name]

const user = (...content: Json[]): Json => ({
  messages: [{ role: 'user', content: [...content, { type: 'text', text: ASK }] }],
})

// Messages at a provider of chat.

const TOOL = { name: 'look', description: 'looks', input_schema: SCHEMA }
const use = (id: string, lamp: string): Json => ({ type: 'tool_use', id, name: 'look', input: { lamp } })
const result = (id: string, content: Json, more = {}): Json => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
  ...more,
})
const afterCalls = (calls: Json[], ...results: Json[]): Json => ({
  tools: [TOOL],
  messages: [
    { role: 'user', content: 'look' },
    { role: 'assistant', content: calls },
    { role: 'user', content: [...results, { type: 'text', text: ASK }] },
  ],
})
const one = (content: Json, more = {}): Json =>
  afterCalls([use('toolu_1', 'red')], result('toolu_1', content, more))
const toolMessages = ({ messages }: Json): Json[] => list(messages).filter(({ role }) => role === 'tool')
const chunk = (delta: Json, finish_reason: string | null = null) => ({
  data: {
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason }],
  },
})
const part = (index: number, id: string | null, args: string) => ({
  tool_calls: [
    {
      index,
      ...(id && { id, type: 'function' }),
      function: { ...(id && { name: 'look' }), arguments: args },
    },
  ],
})
const chatAnswer = (
  message: Json,
  finish_reason: string,
  usage: Json = { prompt_tokens: 120, completion_tokens: 7 },
) => ({
  body: {
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: null, ...message }, finish_reason }],
    usage: { total_tokens: 127, ...usage },
  },
})
const blocks = (got: Json, type: string): Json[] => list(got?.content).filter((block) => block.type === type)

/** Whether events are those of one answer in messages: one block open at a time, from 0 upwards, closed at the end. */
function isWellFormed(events: Json[]): boolean {
  let next = 0
  let open: number | null = null
  for (const { type, index } of events) {
    if (type === 'content_block_start') {
      if (open !== null || index !== next++) return false
      open = index
    } else if (type === 'content_block_delta' || type === 'content_block_stop') {
      if (open !== index) return false
      if (type === 'content_block_stop') open = null
    }
  }
  return open === null && events.at(-1)?.type === 'message_stop'
}

const argumentsIn = (events: Json[]): string[] =>
  events
    .filter(({ type, content_block }) => type === 'content_block_start' && content_block.type === 'tool_use')
    .map(({ index }) =>
      events.map((each) => (each.index === index ? (each.delta?.partial_json ?? '') : '')).join(''),
    )

export const MESSAGES_AT_CHAT: readonly Case[] = [
  {
    what: 'two calls in one turn, and their results',
    ask: afterCalls(
      [use('toolu_1', 'red'), use('toolu_2', 'green')],
      result('toolu_1', 'on'),
      result('toolu_2', 'off'),
    ),
    judge: ({ sent }) => {
      const calls = list(sent.messages).flatMap(({ tool_calls }) => list(tool_calls))
      const answered = toolMessages(sent).map(({ tool_call_id, content }) => [
        tool_call_id,
        holds(content, 'o'),
      ])
      return kept(
        calls.length === 2 &&
          holds(JSON.parse(calls[1].function.arguments), 'green') &&
          answered.every(([id, is], n) => id === calls[n].id && is) &&
          answered.length === 2,
      )
    },
  },
  {
    what: 'image in the result of a tool',
    ask: one([{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } }]),
    judge: ({ sent }) => {
      const parts = (role: string) =>
        list(sent.messages).flatMap((each) =>
          each.role === role && Array.isArray(each.content) ? each.content : [],
        )
      const isImage = ({ image_url }: Json) => holds(image_url, PNG)
      if (parts('user').some(isImage)) return 'changed: in a user’s message'
      if (parts('tool').some(isImage)) return 'changed: in the tool’s message, where chat has texts'
      return holds(sent, PNG) ? 'changed: base64 as text' : 'lost'
    },
  },
  {
    what: 'a tool that failed (`is_error`)',
    ask: one('no oil', { is_error: true }),
    judge: ({ sent }) => {
      const [message] = toolMessages(sent)
      if (member(message, 'is_error') === true) return 'kept'
      return /error/i.test(JSON.stringify(message)) ? 'changed: said in the text' : 'lost'
    },
  },
  {
    what: 'PDF',
    ask: user({ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: PDF } }),
    judge: ({ sent }) => {
      const parts = list(sent.messages).flatMap(({ content }) => list(content))
      if (parts.some(({ file }) => holds(file, PDF))) return 'kept'
      return parts.some(({ image_url }) => holds(image_url, PDF)) ? 'changed: as an image' : 'lost'
    },
  },
  {
    what: 'document that is a text',
    ask: user({
      type: 'document',
      title: 'log',
      source: { type: 'text', media_type: 'text/plain', data: 'fog since noon' },
    }),
    judge: ({ sent }) => (holds(sent, 'fog since noon') ? 'changed: as a text' : 'lost'),
  },
  {
    what: 'image by its address',
    ask: user({ type: 'image', source: { type: 'url', url: 'https://lamps.example/red.png' } }),
    judge: ({ sent }) =>
      kept(
        list(sent.messages).some(({ content }) =>
          list(content).some(({ image_url }) => holds(image_url, 'https://lamps.example/red.png')),
        ),
      ),
  },
  {
    what: 'what the model thought, with its signature: the text',
    model: 'thinker',
    ask: {
      tools: [TOOL],
      messages: [
        { role: 'user', content: 'look' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'the red one', signature: 'c2VhbGVk' },
            use('toolu_1', 'red'),
          ],
        },
        { role: 'user', content: [result('toolu_1', 'on'), { type: 'text', text: ASK }] },
      ],
    },
    judge: ({ sent }) => {
      const said = list(sent.messages).find(({ role }) => role === 'assistant')
      const fields = ['reasoning_content', 'reasoning', 'reasoning_details']
      if (fields.some((name) => holds(member(said, name), 'the red one'))) return 'kept'
      return holds(said, 'the red one') ? 'changed: in another field' : 'lost'
    },
  },
  {
    what: 'budget of thinking',
    model: 'thinker',
    ask: { ...user(), thinking: { type: 'enabled', budget_tokens: 5_000 } },
    judge: ({ sent }) =>
      sent.reasoning_effort !== undefined
        ? 'changed: a level of effort'
        : holds(sent, '5000') || sent.thinking !== undefined || sent.reasoning !== undefined
          ? 'changed: in a field of its own'
          : 'lost',
  },
  {
    what: 'effort',
    model: 'reasoner',
    ask: { ...user(), output_config: { effort: 'high' } },
    judge: ({ sent }) =>
      sent.reasoning_effort === 'high'
        ? 'kept'
        : holds(sent, '"high"')
          ? 'changed: in a field that chat does not have'
          : 'lost',
  },
  {
    what: 'JSON schema of the answer',
    ask: {
      ...user(),
      output_config: { format: { type: 'json_schema', schema: { ...SCHEMA, additionalProperties: false } } },
    },
    judge: ({ sent }) =>
      sent.response_format?.type === 'json_schema'
        ? 'kept'
        : holds(sent, 'json_schema')
          ? 'changed: in a field that chat does not have'
          : 'lost',
  },
  {
    what: 'stop sequence',
    ask: { ...user(), stop_sequences: ['END'] },
    judge: ({ sent }) =>
      holds(sent.stop, 'END')
        ? 'kept'
        : holds(sent, '"END"')
          ? 'changed: in a field that chat does not have'
          : 'lost',
  },
  {
    what: '`top_k`',
    ask: { ...user(), top_k: 7 },
    judge: ({ sent }) => (sent.top_k === 7 ? 'changed: as it is, some servers take it' : 'lost'),
  },
  {
    what: 'who asks (`metadata.user_id`)',
    ask: { ...user(), metadata: { user_id: 'keeper-7' } },
    judge: ({ sent }) =>
      sent.user === 'keeper-7' || sent.safety_identifier === 'keeper-7'
        ? 'kept'
        : holds(sent, 'keeper-7')
          ? 'changed: as `metadata`'
          : 'lost',
  },
  {
    what: 'instruction in mid-conversation',
    ask: {
      messages: [
        { role: 'user', content: 'look' },
        { role: 'assistant', content: 'I look.' },
        { role: 'system', content: 'Speak of lamps in French.' },
        { role: 'user', content: ASK },
      ],
    },
    judge: ({ sent }) => {
      const messages = list(sent.messages)
      const at = messages.findIndex(({ content }) => holds(content, 'in French'))
      if (at < 0) return 'lost'
      const isInPlace = at === messages.length - 2 && /system|developer/.test(messages[at].role)
      return isInPlace ? 'kept' : 'changed: at another place'
    },
  },
  {
    what: 'cache hint',
    ask: { ...user(), system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }] },
    judge: ({ sent }) => (holds(sent, 'cache_control') ? 'changed: as it is, some servers take it' : 'lost'),
  },
  {
    what: 'one call at a time',
    ask: { ...user(), tools: [TOOL], tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
    judge: ({ sent }) => kept(sent.parallel_tool_calls === false),
  },
  {
    what: 'this tool and no other',
    ask: { ...user(), tools: [TOOL], tool_choice: { type: 'tool', name: 'look' } },
    judge: ({ sent }) => kept(sent.tool_choice?.function?.name === 'look'),
  },
  {
    what: 'tool that Anthropic runs',
    ask: { ...user(), tools: [TOOL, { type: 'web_search_20250305', name: 'web_search', max_uses: 3 }] },
    judge: ({ sent }) => {
      if (sent.web_search_options) return 'changed: as `web_search_options`'
      const found = list(sent.tools).find((tool) => holds(tool, 'web_search'))
      if (!found) return 'lost'
      return found.type === 'function' ? 'changed: a function that nobody runs' : 'changed: as it is'
    },
  },
  {
    what: 'streamed: parts of two calls in turns',
    ask: { ...user(), tools: [TOOL], stream: true },
    answer: {
      events: [
        chunk({ role: 'assistant', content: 'I look.' }),
        chunk(part(0, 'call_1', '')),
        chunk(part(1, 'call_2', '{"lamp":')),
        chunk(part(0, null, '{"lamp":"red"}')),
        chunk(part(1, null, '"green"}')),
        chunk({}, 'tool_calls'),
        { data: '[DONE]' },
      ],
    },
    judge: ({ got }) => {
      const said = argumentsIn(got).join()
      if (said !== '{"lamp":"red"},{"lamp":"green"}')
        return said.includes('red') ? 'lost: the arguments of both are mixed' : 'lost'
      return kept(isWellFormed(got), 'changed: parts of a block that is closed already')
    },
  },
  {
    what: 'call with empty arguments',
    ask: { ...user(), tools: [TOOL] },
    answer: chatAnswer(
      { tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '' } }] },
      'tool_calls',
    ),
    judge: ({ got }) => kept(JSON.stringify(blocks(got, 'tool_use')[0]?.input) === '{}'),
  },
  {
    what: 'id of a call that Anthropic’s clients refuse (`functions.look:0`), there and back',
    ask: { ...user(), tools: [TOOL] },
    answer: chatAnswer(
      {
        tool_calls: [
          { id: 'functions.look:0', type: 'function', function: { name: 'look', arguments: '{}' } },
        ],
      },
      'tool_calls',
    ),
    afterwards: (got) => {
      const calls = blocks(got, 'tool_use')
      return afterCalls(calls, ...calls.map(({ id }) => result(id, 'on')))
    },
    judge: ({ sent, got }) => {
      const fits = /^[a-zA-Z0-9_-]+$/.test(blocks(got, 'tool_use')[0]?.id ?? '')
      const isBack = toolMessages(sent)[0]?.tool_call_id === 'functions.look:0'
      if (fits && isBack) return 'kept'
      return fits
        ? 'changed: not the provider’s own when it comes back'
        : 'changed: as it is, which clients refuse'
    },
  },
  {
    what: 'an answer that is cut by its limit',
    ask: user(),
    answer: chatAnswer({ content: 'the la' }, 'length'),
    judge: ({ got }) => kept(got?.stop_reason === 'max_tokens'),
  },
  {
    what: 'an answer that is refused (`content_filter`)',
    ask: user(),
    answer: chatAnswer({ content: '' }, 'content_filter'),
    judge: ({ got }) =>
      got?.stop_reason === 'refusal'
        ? 'kept'
        : got?.stop_reason === 'end_turn'
          ? 'lost'
          : `changed: \`${got?.stop_reason}\``,
  },
  {
    what: 'tokens read from the cache, apart from the others',
    ask: user(),
    answer: chatAnswer({ content: 'here' }, 'stop', {
      prompt_tokens: 120,
      completion_tokens: 7,
      prompt_tokens_details: { cached_tokens: 100 },
    }),
    judge: ({ got }) => {
      const { input_tokens: input, cache_read_input_tokens: read } = got?.usage ?? {}
      if (read === 100 && input === 20) return 'kept'
      return read === 100 ? `changed: ${input} tokens beside them, of 120 in all` : 'lost'
    },
  },
  {
    what: 'the same, streamed',
    ask: { ...user(), stream: true },
    answer: {
      events: [
        chunk({ role: 'assistant', content: 'here' }),
        chunk({}, 'stop'),
        {
          data: {
            ...chunk({}).data,
            choices: [],
            usage: {
              prompt_tokens: 120,
              completion_tokens: 7,
              total_tokens: 127,
              prompt_tokens_details: { cached_tokens: 100 },
            },
          },
        },
        { data: '[DONE]' },
      ],
    },
    judge: ({ got }) => {
      const usages = list(got).flatMap((each) => each.usage ?? each.message?.usage ?? [])
      const last = (name: string) => usages.map((each) => each[name]).findLast((count) => count != null)
      if (last('cache_read_input_tokens') === 100 && last('input_tokens') === 20) return 'kept'
      return last('cache_read_input_tokens') === 100
        ? `changed: ${last('input_tokens')} tokens beside them, of 120 in all`
        : 'lost'
    },
  },
  {
    what: 'what the model thinks, in its answer (streamed)',
    model: 'thinker',
    ask: { ...user(), thinking: { type: 'enabled', budget_tokens: 5_000 }, stream: true },
    answer: { say: { reasoning: 'the green one', text: 'here' } },
    judge: ({ got }) => {
      const thoughts = list(got).map(({ delta }) => delta?.thinking ?? '')
      return kept(thoughts.join('').includes('the green one'))
    },
  },
  {
    what: 'a 429 and when to come back',
    ask: user(),
    answer: { status: 429, headers: { 'retry-after': '7' }, refusal: 'too many lamps' },
    judge: ({ status, headers, got }) => {
      if (status !== 429) return 'lost'
      const wrong = [
        ...(got?.type === 'error' ? [] : ['in another shape']),
        ...(headers.get('retry-after') === '7' ? [] : ['without `Retry-After`']),
      ]
      return wrong.length === 0 ? 'kept' : `changed: ${wrong.join(', ')}`
    },
  },
  {
    what: 'the words of a 400',
    ask: user(),
    answer: { status: 400, refusal: 'lamps are not lit at noon' },
    judge: ({ status, got, text }) => {
      if (status !== 400) return text.includes('not lit at noon') ? `changed: status ${status}` : 'lost'
      return text.includes('not lit at noon') && got?.type === 'error' ? 'kept' : 'changed: in another shape'
    },
  },
  {
    what: 'a stream that breaks off',
    ask: { ...user(), stream: true },
    answer: { events: [chunk({ role: 'assistant', content: 'he' }), { end: 'cut' }] },
    judge: ({ got, isWhole }) => {
      const ends = list(got).map(({ type }) => type)
      if (ends.includes('error') || !isWhole) return 'kept'
      return ends.includes('message_stop') ? 'lost' : 'changed: it just ends'
    },
  },
]

// Chat at a provider of messages.

const FN = { type: 'function', function: { name: 'look', description: 'looks', parameters: SCHEMA } }
const ask = (more = {}): Json => ({ messages: [{ role: 'user', content: ASK }], ...more })
const partsOf = ({ messages }: Json, type: string): Json[] =>
  list(messages).flatMap(({ content }) => list(content).filter((each) => each.type === type))
const message = (
  content: Json[],
  stop_reason: string,
  usage: Json = { input_tokens: 20, output_tokens: 7 },
) => ({
  body: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content,
    stop_reason,
    stop_sequence: null,
    usage,
  },
})
const THOUGHT = { type: 'thinking', thinking: 'the red one', signature: 'c2VhbGVkIGJ5IHRoZSBwcm92aWRlcg==' }

export const CHAT_AT_MESSAGES: readonly Case[] = [
  {
    what: 'instruction in mid-conversation',
    ask: ask({
      messages: [
        { role: 'user', content: 'look' },
        { role: 'assistant', content: 'I look.' },
        { role: 'system', content: 'Speak of lamps in French.' },
        { role: 'user', content: ASK },
      ],
    }),
    judge: ({ sent }) => {
      if (!holds(sent, 'in French')) return 'lost'
      if (holds(sent.system, 'in French')) return 'changed: at the beginning'
      return list(sent.messages).some(({ role, content }) => role === 'system' && holds(content, 'in French'))
        ? 'kept'
        : 'changed: in the user’s turn'
    },
  },
  {
    what: 'JSON schema of the answer',
    ask: ask({ response_format: { type: 'json_schema', json_schema: { name: 'lamp', schema: SCHEMA } } }),
    judge: ({ sent }) => {
      if (holds(sent.output_config ?? sent.output_format, 'lamp')) return 'kept'
      return holds(sent.tools, 'lamp') ? 'changed: as a tool' : 'lost'
    },
  },
  {
    what: 'effort',
    ask: ask({ reasoning_effort: 'high', max_tokens: 40_000 }),
    judge: ({ sent }) => {
      if (sent.output_config?.effort === 'high') return 'kept'
      return sent.thinking?.type ? 'changed: a budget of thinking' : 'lost'
    },
  },
  {
    what: 'image as a data URL',
    ask: ask({
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: ASK },
            { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } },
          ],
        },
      ],
    }),
    judge: ({ sent }) => kept(partsOf(sent, 'image').some(({ source }) => source.data === PNG)),
  },
  {
    what: 'PDF',
    ask: ask({
      messages: [
        {
          role: 'user',
          content: [
            { type: 'file', file: { filename: 'log.pdf', file_data: `data:application/pdf;base64,${PDF}` } },
            { type: 'text', text: ASK },
          ],
        },
      ],
    }),
    judge: ({ sent }) => {
      const [document] = partsOf(sent, 'document')
      if (!document) return 'lost'
      return document.source.data === PDF
        ? 'kept'
        : 'changed: with the head of its data URL, which is no base64'
    },
  },
  {
    what: 'two calls in one turn, and their results',
    ask: ask({
      tools: [FN],
      messages: [
        { role: 'user', content: ASK },
        {
          role: 'assistant',
          content: null,
          tool_calls: ['red', 'green'].map((lamp) => ({
            id: `call_${lamp}`,
            type: 'function',
            function: { name: 'look', arguments: JSON.stringify({ lamp }) },
          })),
        },
        { role: 'tool', tool_call_id: 'call_red', content: 'on' },
        { role: 'tool', tool_call_id: 'call_green', content: 'off' },
      ],
    }),
    judge: ({ sent }) => {
      // Anthropic takes messages of the user's that follow each other for one.
      const at = list(sent.messages).flatMap((each, n) => (holds(each, 'tool_result') ? [n] : []))
      const isOneTurn =
        at.every((n) => sent.messages[n].role === 'user') && at.at(-1)! - at[0]! === at.length - 1
      const [calls, results] = [partsOf(sent, 'tool_use'), partsOf(sent, 'tool_result')]
      return kept(calls.length === 2 && results.length === 2 && isOneTurn)
    },
  },
  {
    what: 'one call at a time',
    ask: ask({ tools: [FN], parallel_tool_calls: false }),
    judge: ({ sent }) => kept(sent.tool_choice?.disable_parallel_tool_use === true),
  },
  {
    what: '`stop`',
    ask: ask({ stop: 'END' }),
    judge: ({ sent }) => kept(holds(sent.stop_sequences, 'END')),
  },
  {
    what: 'who asks (`user`)',
    ask: ask({ user: 'keeper-7' }),
    judge: ({ sent }) => kept(sent.metadata?.user_id === 'keeper-7'),
  },
  {
    what: '`seed`',
    ask: ask({ seed: 7 }),
    judge: ({ sent }) => (sent.seed === 7 ? 'changed: as it is, which is refused' : 'lost'),
  },
  {
    what: 'a temperature of 1.6, where 1 is the highest',
    ask: ask({ temperature: 1.6 }),
    judge: ({ sent }) =>
      sent.temperature === 1.6
        ? 'changed: as it is, which is refused'
        : sent.temperature === 1
          ? 'changed: 1'
          : 'lost',
  },
  {
    what: 'tool with a grammar',
    ask: ask({
      tools: [
        FN,
        {
          type: 'custom',
          custom: {
            name: 'light',
            description: 'lights',
            format: { type: 'grammar', grammar: { syntax: 'regex', definition: 'red|green' } },
          },
        },
      ],
    }),
    judge: ({ sent }) => {
      const tool = list(sent.tools).find(({ name }) => name === 'light')
      if (!tool) return 'lost'
      return holds(tool, 'red|green')
        ? 'changed: a function, the grammar in its description'
        : 'changed: a function'
    },
  },
  {
    what: 'what the model thought and its seal, back to it in the next turn',
    ask: ask({ tools: [FN], reasoning_effort: 'high', max_tokens: 40_000 }),
    answer: message([THOUGHT, { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }], 'tool_use'),
    afterwards: (got) => ({
      ...ask({ tools: [FN], reasoning_effort: 'high', max_tokens: 40_000 }),
      messages: [
        { role: 'user', content: ASK },
        got.choices[0].message,
        { role: 'tool', tool_call_id: got.choices[0].message.tool_calls?.[0]?.id, content: 'on' },
      ],
    }),
    judge: ({ sent, got }) => {
      const back = partsOf(sent, 'thinking').some(({ signature }) => signature === THOUGHT.signature)
      if (back) return 'kept'
      return holds(got, THOUGHT.thinking) ? 'changed: shown, and not back' : 'lost'
    },
  },
  {
    what: 'tokens read from the cache and written to it',
    ask: ask(),
    answer: message([{ type: 'text', text: 'here' }], 'end_turn', {
      input_tokens: 20,
      output_tokens: 7,
      cache_read_input_tokens: 100,
      cache_creation_input_tokens: 50,
    }),
    judge: ({ got }) => {
      const { prompt_tokens: input, prompt_tokens_details: details } = got?.usage ?? {}
      if (details?.cached_tokens !== 100) return 'lost'
      return input === 170 ? 'kept' : `changed: ${input} prompt tokens of 170`
    },
  },
  {
    what: 'why it ended: its limit, a refusal',
    ask: ask(),
    answer: message([{ type: 'text', text: 'he' }], 'refusal'),
    judge: ({ got }) => {
      const reason = got?.choices?.[0]?.finish_reason
      return reason === 'content_filter' ? 'kept' : reason === 'stop' ? 'lost' : `changed: \`${reason}\``
    },
  },
  {
    what: 'a stream that breaks off',
    ask: ask({ stream: true }),
    answer: {
      events: [
        {
          raw: `event: message_start\ndata: ${JSON.stringify({ type: 'message_start', message: { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null, usage: { input_tokens: 20, output_tokens: 1 } } })}\n\n`,
        },
        {
          raw: `event: content_block_start\ndata: ${JSON.stringify({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } })}\n\n`,
        },
        {
          raw: `event: content_block_delta\ndata: ${JSON.stringify({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'he' } })}\n\n`,
        },
        { end: 'cut' },
      ],
    },
    judge: ({ got, text, isWhole }) => {
      if (!isWhole || list(got).some(({ error }) => error)) return 'kept'
      return text.includes('[DONE]') ? 'lost' : 'changed: it just ends'
    },
  },
]
