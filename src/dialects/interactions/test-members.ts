// Every member of a request of the Interactions API, by the types of `@google/genai`, with a value and what becomes of it
// at a provider of another dialect. A provider of interactions receives all of them unchanged. `members.test.ts` compares
// this table with the client's types and with the translation, and `npm run docs` prints it.
import type { Loss } from '../../core/losses.ts'
import type { Json } from '../json.ts'

/**
 * `translated`: in the words of the other dialect. `gateway`: the gateway itself acts on it. `native`: a call with it goes
 * only to providers of interactions. Losses: the names of what is lost.
 */
type Fate = 'translated' | 'gateway' | 'native' | readonly [Loss, ...Loss[]]

/** A value that has an effect, and its fate. */
type Row = readonly [value: unknown, fate: Fate]

interface MemberTable {
  /** Names of the client's types. */
  readonly types: readonly string[]
  readonly title: string
  /** True if the types are alternatives, told apart by their `type`. Otherwise they are objects with members. */
  readonly isUnion?: true
  /** Returns a request with this value of a member, or of an alternative. */
  readonly request: (name: string, value: unknown) => Json
  readonly rows: Readonly<Record<string, Row>>
}

const function_ = { type: 'function', name: 't' }
const user = (content: unknown): Json => ({ input: [{ type: 'user_input', content }] })
/** Puts a step between the turns of the user, with the call that a result needs. */
const between = (step: object): Json => ({
  input: [
    { type: 'user_input', content: [{ type: 'text', text: 'hi' }] },
    ...((step as Json).type === 'function_result'
      ? [{ type: 'function_call', id: 'a', name: 't', arguments: {} }, step]
      : [step]),
    ...((step as Json).type === 'function_call'
      ? [{ type: 'function_result', call_id: 'a', result: 'x' }]
      : []),
    { type: 'user_input', content: [{ type: 'text', text: 'and?' }] },
  ],
})

export const MEMBER_TABLES: readonly MemberTable[] = [
  {
    types: ['CreateModelInteraction', 'CreateAgentInteraction'],
    title: 'the request',
    request: (name, value) => ({ [name]: value }),
    rows: {
      agent: ['deep-research', 'native'],
      agent_config: [{ type: 'deep-research' }, 'native'],
      background: [true, 'native'],
      cached_content: ['cachedContents/a', ['prompt_cache']],
      continuation_token: ['t', 'native'],
      environment: ['e', 'native'],
      generation_config: [{ temperature: 1 }, 'translated'],
      input: ['hi', 'translated'],
      labels: [{ team: 'a' }, ['metadata']],
      model: ['m', 'translated'],
      previous_interaction_id: ['v1_1', 'gateway'],
      response_format: [{ type: 'text', mime_type: 'application/json' }, 'translated'],
      response_mime_type: ['application/json', 'translated'],
      response_modalities: [['image'], ['modalities']],
      safety_settings: [[{ type: 'harassment', threshold: 'off' }], ['safeguards']],
      service_tier: ['flex', ['service_tier']],
      store: [true, ['store']],
      stream: [true, 'translated'],
      system_instruction: ['Be kind.', 'translated'],
      tools: [[function_], 'translated'],
      webhook_config: [{ uris: ['https://a.example'] }, ['store']],
    },
  },
  {
    types: ['GenerationConfig_2'],
    title: '`generation_config`',
    request: (name, value) => ({ tools: [function_], generation_config: { [name]: value } }),
    rows: {
      image_config: [{ aspect_ratio: '1:1' }, ['modalities']],
      max_output_tokens: [9, 'translated'],
      seed: [7, 'translated'],
      speech_config: [[{ voice: 'a' }], ['modalities']],
      stop_sequences: [['a'], 'translated'],
      temperature: [1, 'translated'],
      thinking_level: ['high', 'translated'],
      thinking_summaries: ['none', 'translated'],
      tool_choice: ['any', 'translated'],
      top_p: [0.9, 'translated'],
      transcription_config: [{}, ['modalities']],
      video_config: [{}, ['modalities']],
    },
  },
  {
    types: ['Tool_2'],
    title: 'an element of `tools`',
    isUnion: true,
    request: (_, value) => ({ tools: [value] }),
    rows: {
      code_execution: [{}, ['tool.server']],
      computer_use: [{}, ['tool.builtin']],
      file_search: [{}, ['tool.server']],
      function: [{ name: 't' }, 'translated'],
      google_maps: [{}, ['tool.server']],
      google_search: [{}, ['tool.server']],
      mcp_server: [{ name: 'a', url: 'https://a.example' }, ['mcp_servers']],
      retrieval: [{}, ['tool.server']],
      url_context: [{}, ['tool.server']],
    },
  },
  {
    types: ['Content_2'],
    title: 'a content of `input`',
    isUnion: true,
    request: (_, value) => user([value]),
    rows: {
      audio: [{ data: 'QUJD', mime_type: 'audio/mp3' }, 'translated'],
      document: [{ data: 'QUJD', mime_type: 'application/pdf' }, 'translated'],
      image: [{ data: 'QUJD', mime_type: 'image/png' }, 'translated'],
      text: [{ text: 'x' }, 'translated'],
      video: [{ data: 'QUJD', mime_type: 'video/mp4' }, 'translated'],
    },
  },
  {
    types: ['ResponseFormat_2'],
    title: '`response_format`',
    isUnion: true,
    request: (_, value) => ({ response_format: value }),
    rows: {
      audio: [{}, ['modalities']],
      image: [{}, ['modalities']],
      text: [{ mime_type: 'application/json' }, 'translated'],
      video: [{}, ['modalities']],
    },
  },
  {
    types: ['Step'],
    title: 'a step of `input`',
    isUnion: true,
    request: (_, value) => between(value as object),
    rows: {
      function_call: [{ id: 'a', name: 't', arguments: {} }, 'translated'],
      function_result: [{ call_id: 'a', result: 'x' }, 'translated'],
      model_output: [{ content: [{ type: 'text', text: 'x' }] }, 'translated'],
      thought: [{ signature: 'c2ln' }, ['thinking.signature']],
      user_input: [{ content: [{ type: 'text', text: 'x' }] }, 'translated'],
      ...Object.fromEntries(
        [
          ...['code_execution', 'file_search', 'google_maps', 'google_search', 'mcp_server_tool'],
          ...['processing', 'retrieval', 'url_context'],
        ].flatMap((tool) => [
          [`${tool}_call`, [{ id: 'a', arguments: {} }, ['tool.server']]] as const,
          [`${tool}_result`, [{ call_id: 'a', result: 'x' }, ['tool.server']]] as const,
        ]),
      ),
    },
  },
]
