// Requests to current models with their outcomes. Written by hand from providers' documentation and reported
// refusals, not from the facts in src/models. The mocks must agree with every row.
import type { Fields, RequestHeaders } from './check.ts'

/**
 * Source of a row. A: Anthropic's documentation; O: OpenAI's; G: Google's; X: other documentation; R:
 * reported refusals.
 */
export type Source = 'A' | 'R' | 'O' | 'G' | 'X'

export interface Row {
  readonly provider: string
  /** Path below the base path; a Gemini model is inserted into it. */
  readonly endpoint: string
  readonly model: string
  readonly body: Fields
  readonly headers: RequestHeaders
  /** Text in the refusal; null if the request is accepted. */
  readonly refused: string | null
  readonly status: number
  readonly source: Source
}

type Case = readonly [models: string, body: Fields, refused: string | null, source: Source, status?: number]

/** Makes a row for each model of each case; `whole` builds the request around the fields under test. */
const rows = (
  provider: string,
  endpoint: string,
  whole: (fields: Fields) => Fields,
  cases: readonly Case[],
  headers: RequestHeaders = {},
): Row[] =>
  cases.flatMap(([models, body, refused, source, status = refused === null ? 200 : 400]) =>
    models.split(' ').map((model) => ({
      provider,
      endpoint,
      model,
      body: whole({ ...body, model }),
      headers,
      refused,
      status,
      source,
    })),
  )

/** Makes one case for each effort level that models accept. */
const accepted = (models: string, levels: string, asks: (level: string) => Fields, source: Source): Case[] =>
  levels.split(' ').map((each) => [models, asks(each), null, source])

const ASKED = [{ role: 'user', content: 'Where to?' }]
const SCHEMA = { type: 'object', properties: { city: { type: 'string' } } }
const TOOL = { name: 'weather', description: 'Tells the weather.', input_schema: SCHEMA }
const FUNCTION = { type: 'function', function: { name: 'weather', parameters: SCHEMA } }

const E = { thinking: { type: 'enabled', budget_tokens: 2048 } }
const A = { thinking: { type: 'adaptive' } }
const D = { thinking: { type: 'disabled' } }
const B = { thinking: { type: 'between_tools' } }
const effort = (level: string) => ({ output_config: { effort: level } })
const FORCED = { tools: [TOOL], tool_choice: { type: 'any' } }
const NAMED = { tools: [TOOL], tool_choice: { type: 'tool', name: 'weather' } }
const PREFILL = { messages: [...ASKED, { role: 'assistant', content: 'To' }] }
const NO_E = '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive"'
const NO_A = 'adaptive thinking is not supported on this model'
const NO_D = '"thinking.type.disabled" is not supported for this model.'
const NO_B = '"thinking.type.between_tools" is not supported for this model.'
const NO_EFFORT = 'This model does not support the effort parameter.'
const NO_FORCED = 'tool_choice: type "tool" and "any" are not supported for this model.'
const NO_FORCED_E = 'Thinking may not be enabled when tool_choice forces tool use.'
const NO_PREFILL = 'This model does not support assistant message prefill.'
const NO_T = '`temperature` is deprecated for this model.'
const OVER = 'which is the maximum allowed number of output tokens'
/** Returns a text of about this many tokens. */
const long = (tokens: number) => ({ messages: [{ role: 'user', content: 'word '.repeat(tokens * 0.8) }] })

const MESSAGES = rows(
  'anthropic',
  'messages',
  (fields) => ({ max_tokens: 4096, messages: ASKED, ...fields }),
  [
    [
      'claude-fable-5-1 claude-fable-5-2 claude-mythos-5-1 claude-mythos-5-2 claude-fable-5 claude-mythos-5 claude-opus-5-5',
      E,
      NO_E,
      'A',
    ],
    [
      'claude-sonnet-5-5 claude-haiku-5-5 claude-opus-5 claude-sonnet-5 claude-opus-4-8 claude-opus-4-7',
      E,
      NO_E,
      'A',
    ],
    [
      'claude-opus-4-6 claude-sonnet-4-6 claude-opus-4-5 claude-sonnet-4-5 claude-haiku-4-5 claude-opus-4-1',
      E,
      null,
      'A',
    ],
    [
      'claude-fable-5-1 claude-fable-5-2 claude-fable-5 claude-opus-5-5 claude-sonnet-5-5 claude-haiku-5-5 claude-opus-5',
      A,
      null,
      'A',
    ],
    ['claude-sonnet-5 claude-opus-4-8 claude-opus-4-7 claude-opus-4-6 claude-sonnet-4-6', A, null, 'A'],
    ['claude-opus-4-5 claude-sonnet-4-5 claude-haiku-4-5 claude-opus-4-1', A, NO_A, 'A'],
    ['claude-fable-5-1 claude-fable-5-2 claude-fable-5 claude-mythos-5 claude-opus-5-5', D, NO_D, 'A'],
    ['claude-sonnet-5-5', D, 'Use "thinking.type.between_tools" for the lowest thinking setting', 'A'],
    [
      'claude-haiku-5-5 claude-opus-5 claude-sonnet-5 claude-opus-4-8 claude-sonnet-4-6 claude-haiku-4-5',
      D,
      null,
      'A',
    ],
    [
      'claude-haiku-5-5 claude-opus-5',
      { ...D, ...effort('xhigh') },
      "output_config.effort 'xhigh' is not supported when thinking is disabled on this model.",
      'R',
    ],
    ['claude-haiku-5-5 claude-opus-5', { ...D, ...effort('high') }, null, 'A'],
    ['claude-sonnet-5', { ...D, ...effort('max') }, null, 'A'],
    ['claude-sonnet-5-5', B, null, 'A'],
    ['claude-sonnet-5-5', { ...B, ...effort('high') }, null, 'A'],
    ['claude-sonnet-5-5', { ...B, ...effort('max') }, "output_config.effort 'max' is not supported", 'R'],
    [
      'claude-sonnet-5-5',
      { thinking: { type: 'between_tools', display: 'omitted' } },
      'Extra inputs are not permitted',
      'A',
    ],
    [
      'claude-fable-5-1 claude-fable-5-2 claude-opus-5-5 claude-haiku-5-5 claude-opus-5 claude-sonnet-5 claude-opus-4-6 claude-haiku-4-5',
      B,
      NO_B,
      'R',
    ],
    [
      'claude-fable-5-1 claude-fable-5-2 claude-fable-5 claude-opus-5-5 claude-sonnet-5-5 claude-haiku-5-5 claude-opus-5 claude-opus-4-8',
      effort('max'),
      null,
      'A',
    ],
    ...accepted(
      'claude-fable-5-1 claude-fable-5-2 claude-fable-5 claude-opus-5-5 claude-sonnet-5-5 claude-haiku-5-5 claude-opus-5 claude-sonnet-5',
      'low medium high xhigh',
      effort,
      'A',
    ),
    ...accepted('claude-opus-4-6 claude-sonnet-4-6', 'low medium high max', effort, 'A'),
    ['claude-opus-4-6', effort('xhigh'), 'output_config.effort', 'A'],
    [
      'claude-fable-5-1 claude-fable-5-2 claude-fable-5 claude-opus-5-5 claude-sonnet-5-5 claude-haiku-5-5 claude-opus-5 claude-opus-4-7',
      effort('minimal'),
      'output_config.effort',
      'A',
    ],
    ...accepted('claude-opus-4-5', 'low medium high', effort, 'A'),
    ['claude-opus-4-5 claude-opus-4-1', D, null, 'A'],
    ['claude-opus-4-5', effort('max'), 'output_config.effort', 'A'],
    ['claude-sonnet-4-5 claude-haiku-4-5 claude-opus-4-1', effort('low'), NO_EFFORT, 'R'],
    [
      'claude-fable-5-1 claude-fable-5-2 claude-fable-5 claude-opus-5-5 claude-sonnet-5-5 claude-haiku-5-5 claude-opus-5',
      { temperature: 0.5 },
      NO_T,
      'R',
    ],
    ['claude-sonnet-5 claude-opus-4-8 claude-opus-4-7', { temperature: 0.5 }, NO_T, 'R'],
    ['claude-opus-5-5 claude-sonnet-5', { top_p: 0.5 }, '`top_p` is deprecated for this model.', 'R'],
    ['claude-opus-5 claude-haiku-5-5', { top_k: 5 }, '`top_k` is deprecated for this model.', 'R'],
    ['claude-haiku-5-5', { temperature: 1 }, null, 'A'],
    ['claude-haiku-5-5', { top_p: 0.99 }, null, 'A'],
    ['claude-haiku-5-5', { temperature: 1, top_p: 0.99 }, '`top_p`', 'A'],
    ['claude-opus-4-6 claude-opus-4-5 claude-sonnet-4-5 claude-opus-4-1', { temperature: 0.5 }, null, 'A'],
    [
      'claude-opus-4-6 claude-opus-4-5 claude-sonnet-4-5 claude-opus-4-1',
      { ...E, temperature: 0.5 },
      '`temperature` may only be set to 1 when thinking is enabled.',
      'R',
    ],
    ['claude-opus-4-6 claude-haiku-4-5', { ...E, top_p: 0.5 }, '`top_p` must be unset', 'R'],
    [
      'claude-sonnet-4-5 claude-haiku-4-5',
      { temperature: 0.5, top_p: 0.5 },
      '`temperature` and `top_p` cannot both be specified for this model',
      'R',
    ],
    ['claude-opus-4-6 claude-opus-4-5', { temperature: 0.5, top_p: 0.5 }, null, 'R'],
    ['claude-fable-5-1 claude-fable-5-2 claude-opus-5-5 claude-sonnet-5-5', FORCED, NO_FORCED, 'A'],
    ['claude-opus-5-5 claude-sonnet-5-5', NAMED, NO_FORCED, 'A'],
    [
      'claude-fable-5 claude-haiku-5-5 claude-opus-5 claude-sonnet-5 claude-opus-4-8 claude-opus-4-7 claude-opus-4-6',
      FORCED,
      null,
      'A',
    ],
    [
      'claude-opus-4-6 claude-opus-4-5 claude-sonnet-4-5 claude-opus-4-1',
      { ...E, ...FORCED },
      NO_FORCED_E,
      'R',
    ],
    ['claude-opus-5-5', { tools: [TOOL], tool_choice: { type: 'auto' } }, null, 'A'],
    [
      'claude-fable-5-1 claude-fable-5-2 claude-fable-5 claude-opus-5-5 claude-sonnet-5-5 claude-haiku-5-5 claude-opus-5 claude-opus-4-8',
      PREFILL,
      NO_PREFILL,
      'A',
    ],
    ['claude-opus-4-6', PREFILL, NO_PREFILL, 'A'],
    ['claude-opus-4-5 claude-sonnet-4-5 claude-opus-4-1', PREFILL, null, 'A'],
    ['claude-opus-4-5 claude-haiku-4-5 claude-opus-4-1', { ...E, ...PREFILL }, NO_PREFILL, 'A'],
    [
      'claude-fable-5-1 claude-fable-5-2 claude-fable-5 claude-opus-5-5 claude-sonnet-5-5 claude-haiku-5-5 claude-opus-5 claude-opus-4-8 claude-opus-4-6',
      { max_tokens: 128_001 },
      `128001 > 128000, ${OVER}`,
      'R',
    ],
    ['claude-opus-5-5 claude-opus-4-6 claude-fable-5-2', { max_tokens: 128_000 }, null, 'A'],
    [
      'claude-opus-4-5 claude-sonnet-4-5 claude-haiku-4-5',
      { max_tokens: 64_001 },
      `64001 > 64000, ${OVER}`,
      'R',
    ],
    ['claude-opus-4-1', { max_tokens: 32_001 }, `32001 > 32000, ${OVER}`, 'R'],
    [
      'claude-haiku-4-5',
      { ...E, max_tokens: 2048 },
      '`max_tokens` must be greater than `thinking.budget_tokens`.',
      'R',
    ],
    ['claude-opus-4-5 claude-haiku-4-5 claude-opus-4-1', long(201_000), 'prompt is too long: ', 'R'],
    ['claude-opus-4-6 claude-opus-5-5', long(201_000), null, 'A'],
    [
      'claude-fable-5-1 claude-fable-5-2 claude-fable-5 claude-opus-5-5 claude-sonnet-5-5 claude-haiku-5-5 claude-opus-5 claude-opus-4-8 claude-opus-4-6',
      long(1_001_000),
      'prompt is too long: ',
      'R',
    ],
    [
      'claude-opus-5-5 claude-sonnet-5-5 claude-fable-5-2',
      { tools: [{ type: 'computer_20251124', name: 'computer' }] },
      'does not support tool types: computer_20251124',
      'A',
    ],
    ['claude-opus-5', { tools: [{ type: 'computer_20251124', name: 'computer' }] }, null, 'A'],
    ['claude-mythos-5-1 claude-mythos-5 claude-sonnet-4-6 claude-haiku-4-5-20251001', {}, null, 'A'],
    ['claude-3-7-sonnet-20250219 claude-of-nobody', {}, 'model: claude-', 'A', 404],
  ],
)

const COUNTED = rows('anthropic', 'messages/count_tokens', (fields) => ({ messages: ASKED, ...fields }), [
  ['claude-opus-5-5 claude-sonnet-5-5', FORCED, NO_FORCED, 'A'],
  ['claude-opus-5', FORCED, null, 'A'],
])

const NO_SAMPLING = "Unsupported parameter: 'temperature' is not supported with this model."
const NO_TOOLS = 'Please use /v1/responses instead.'
const NO_TOOLS_UNLESS = "To use function tools, use /v1/responses or set reasoning_effort to 'none'."
const NO_MAX = "Unsupported parameter: 'max_tokens' is not supported with this model."
const COOL = { temperature: 0.5 }
const TOOLS = { tools: [FUNCTION] }
const level = (reasoning_effort: string) => ({ reasoning_effort })

const CHAT = rows('openai', 'chat/completions', (fields) => ({ messages: ASKED, ...fields }), [
  ['gpt-6-sol gpt-6-luna gpt-5.6-sol gpt-5.6-terra gpt-5.6-luna', TOOLS, NO_TOOLS_UNLESS, 'R'],
  ['gpt-6-sol gpt-5.6-sol', { ...TOOLS, ...level('low') }, NO_TOOLS_UNLESS, 'R'],
  ['gpt-6-sol gpt-6-luna gpt-5.6-sol', { ...TOOLS, ...level('none') }, null, 'R'],
  ['gpt-6-astra gpt-6.1-sol gpt-5.5 gpt-5.4 gpt-5.4-mini gpt-5.4-nano', TOOLS, NO_TOOLS, 'R'],
  ['gpt-6.1-terra', TOOLS, NO_TOOLS, 'O'],
  ['gpt-6.2-sol gpt-6.2-astra', TOOLS, null, 'X'],
  [
    'gpt-5.4',
    { ...TOOLS, ...level('low') },
    'Function tools with reasoning_effort are not supported for gpt-5.4 in /v1/chat/completions.',
    'R',
  ],
  ['gpt-5.1 gpt-5 gpt-5-mini o3 o4-mini gpt-4.1', TOOLS, null, 'R'],
  [
    'gpt-6-astra gpt-6.1-sol gpt-6.2-sol gpt-6.2-astra',
    level('none'),
    "'reasoning_effort' does not support 'none' with this model.",
    'R',
  ],
  [
    'gpt-6-sol gpt-6.1-terra gpt-6.2-sol gpt-5.6-sol gpt-5.4',
    level('minimal'),
    "'reasoning_effort' does not support 'minimal' with this model.",
    'R',
  ],
  ['gpt-6-sol gpt-6.1-terra gpt-6.2-sol gpt-5.6-sol gpt-6-astra', level('max'), null, 'R'],
  ['gpt-6.1-terra', level('none'), null, 'O'],
  ...accepted(
    'gpt-6-sol gpt-5.6-sol gpt-6-astra gpt-6.1-sol gpt-6.1-terra gpt-6.2-sol gpt-5.4 gpt-5.2',
    'low medium high xhigh',
    level,
    'R',
  ),
  ...accepted('gpt-5.1 gpt-5 o3 o4-mini', 'low medium high', level, 'R'),
  ['gpt-5.4 gpt-5.2 gpt-5.1 gpt-5 o3', level('max'), "does not support 'max' with this model.", 'R'],
  ['gpt-5.1 gpt-5 o3', level('xhigh'), "does not support 'xhigh' with this model.", 'R'],
  ['gpt-5 gpt-5-mini gpt-5-nano o3 o4-mini', level('none'), "does not support 'none' with this model.", 'R'],
  ['gpt-5 gpt-5-nano', level('minimal'), null, 'R'],
  ['gpt-5', level('none'), "Supported values are: 'minimal', 'low', 'medium', and 'high'.", 'R'],
  ['gpt-6-sol gpt-6-luna gpt-5.6-sol', COOL, NO_SAMPLING, 'R'],
  ['gpt-6-sol gpt-5.6-sol gpt-5.5 gpt-5.2 gpt-5.1', { ...COOL, ...level('low') }, NO_SAMPLING, 'R'],
  ['gpt-6-sol gpt-5.6-sol gpt-5.4 gpt-5.2 gpt-5.1', { ...COOL, ...level('none') }, null, 'R'],
  ['gpt-6-astra gpt-6.1-sol o3 o4-mini', COOL, NO_SAMPLING, 'R'],
  [
    'gpt-5 gpt-5-mini',
    COOL,
    "'temperature' does not support 0.5 with this model. Only the default (1) value is supported.",
    'R',
  ],
  ['gpt-5', { temperature: 1 }, null, 'R'],
  ['gpt-6-sol', { top_p: 0.5 }, "Unsupported parameter: 'top_p'", 'R'],
  ['gpt-6-sol gpt-6.1-sol gpt-5.6-sol gpt-5.4 gpt-5.2 gpt-5.1 gpt-5 o3', { max_tokens: 50 }, NO_MAX, 'R'],
  ['gpt-6-sol gpt-5.4 gpt-5-mini', { max_completion_tokens: 50 }, null, 'R'],
  ['gpt-4.1 gpt-4o gpt-4o-mini', { max_tokens: 50, ...COOL, ...TOOLS }, null, 'R'],
  ['gpt-6.1-terra gpt-6-rosalind gpt-5.5-pro gpt-4.1-mini gpt-4.1-nano gpt-5.4-2026-03-05', {}, null, 'O'],
  ['gpt-5.3-codex', TOOLS, null, 'R'],
  [
    'gpt-6-sol gpt-6-luna gpt-6-astra gpt-6.1-sol gpt-6.1-terra gpt-6.2-sol gpt-5.6-sol gpt-5.6-terra gpt-5.6-luna gpt-5.5 gpt-5.4 gpt-5.4-mini gpt-5.4-nano gpt-5.3-codex gpt-5.2 gpt-5.1',
    { max_completion_tokens: 128_001 },
    'max_completion_tokens is too large: 128001. This model supports at most 128000 completion tokens',
    'R',
  ],
  ['gpt-5 gpt-5-mini gpt-5-nano', { max_completion_tokens: 128_001 }, 'supports at most 128000', 'R'],
  ['gpt-6-sol gpt-6.1-terra gpt-6.2-sol gpt-5.4-mini', { max_completion_tokens: 128_000 }, null, 'R'],
  ['o3 o4-mini', { max_completion_tokens: 100_001 }, 'supports at most 100000', 'R'],
  ['gpt-4.1', { max_tokens: 32_768 }, null, 'R'],
  ['gpt-4.1 gpt-4.1-mini gpt-4.1-nano', { max_tokens: 32_769 }, 'max_tokens is too large: 32769', 'R'],
  ['gpt-4o gpt-4o-mini', { max_tokens: 16_385 }, 'supports at most 16384', 'R'],
  [
    'gpt-6-sol gpt-6.1-terra gpt-6.2-sol gpt-4.1',
    long(1_055_000),
    'Your input exceeds the context window of this model.',
    'R',
  ],
  [
    'gpt-5-mini gpt-5.2-pro gpt-5-pro',
    long(405_000),
    'Your input exceeds the context window of this model.',
    'R',
  ],
  ['o3 o3-pro', long(205_000), 'Your input exceeds the context window of this model.', 'R'],
  ['gpt-4o gpt-audio-mini', long(130_000), 'Your input exceeds the context window of this model.', 'R'],
  ['gpt-6-sol gpt-5-mini', long(205_000), null, 'R'],
  ['gpt-3.5-turbo gpt-of-nobody', {}, 'does not exist or you do not have access to it.', 'O', 404],
])

const LITE = rows(
  'openai',
  'responses',
  (fields) => ({ input: 'Where to?', ...fields }),
  [
    ['gpt-6-sol gpt-6-astra gpt-6.1-sol gpt-5.6-sol gpt-5.6-terra gpt-5.6-luna', {}, null, 'R'],
    ['gpt-6.1-terra gpt-6.2-sol gpt-6.2-astra gpt-6-rosalind', {}, null, 'X'],
    [
      'gpt-5.5 gpt-5.5-pro gpt-5.4 gpt-5.4-mini gpt-5.4-nano gpt-5.3-codex gpt-5.2 gpt-5.2-codex gpt-5.1 gpt-5 gpt-5-mini gpt-5-nano gpt-4.1 gpt-4.1-mini gpt-4.1-nano gpt-4o gpt-4o-mini',
      {},
      'not supported when using X-OpenAI-Internal-Codex-Responses-Lite',
      'R',
    ],
  ],
  { 'x-openai-internal-codex-responses-lite': 'true' },
)

const think = (word: string) => ({ reasoning: { effort: word } })

const RESPONSES = rows('openai', 'responses', (fields) => ({ input: 'Where to?', ...fields }), [
  [
    'gpt-6-sol gpt-6.1-sol gpt-5.6-sol gpt-5.4',
    { tools: [{ type: 'function', name: 'weather', parameters: SCHEMA, strict: false }] },
    null,
    'R',
  ],
  ['gpt-6-astra gpt-6.1-sol', think('none'), "'reasoning.effort' does not support 'none'", 'R'],
  ['gpt-6-sol gpt-5.6-sol', think('max'), null, 'R'],
  ['gpt-5.3-codex gpt-5.2-codex', think('none'), "'reasoning.effort' does not support 'none'", 'R'],
  ...accepted('gpt-5.3-codex gpt-5.2-codex', 'low medium high xhigh', think, 'R'),
  ['gpt-5.3-codex gpt-5.2-codex gpt-6-sol gpt-5.6-sol', COOL, NO_SAMPLING, 'R'],
  ['gpt-6-sol', { ...COOL, ...think('none') }, null, 'R'],
  ['gpt-5.4', { ...COOL, ...think('high') }, NO_SAMPLING, 'R'],
  ['gpt-of-nobody', {}, 'does not exist or you do not have access to it.', 'O', 404],
])

const budget = (tokens: number) => ({ generationConfig: { thinkingConfig: { thinkingBudget: tokens } } })
const thinks = (word: string) => ({ generationConfig: { thinkingConfig: { thinkingLevel: word } } })
const NO_LEVEL = 'Thinking level is not supported for this model.'
const NO_OFF = 'Budget 0 is invalid. This model only works in thinking mode.'
const called = (signature: object) => ({
  contents: [
    { role: 'user', parts: [{ text: 'Where to?' }] },
    { role: 'model', parts: [{ functionCall: { name: 'weather', args: {} }, ...signature }] },
    { role: 'user', parts: [{ functionResponse: { name: 'weather', response: { output: 'rain' } } }] },
  ],
})
/** Parallel calls and their responses in contents of their own. */
const calledBesides = () => {
  const { contents } = called({ thoughtSignature: 'c2lnbmVk' })
  const [said, call, response] = contents
  return { contents: [said, call, called({}).contents[1], response, response] }
}
const strict = (field: string) => ({
  tools: [
    { functionDeclarations: [{ name: 'weather', [field]: { ...SCHEMA, additionalProperties: false } }] },
  ],
})

/** Gemini's models that write text only. */
const WRITERS =
  'gemini-2.5-pro gemini-2.5-flash gemini-2.5-flash-lite gemini-3-pro-preview gemini-3-pro gemini-3-flash-preview gemini-3-flash gemini-3.1-pro-preview gemini-3.1-pro-preview-customtools gemini-3.1-pro gemini-3.1-flash-lite gemini-3.5-flash gemini-3.5-flash-lite gemini-3.6-flash gemini-3.7-flash gemini-3.8-flash'

const GEMINI = rows(
  'gemini',
  'models/{model}:generateContent',
  ({ model: _, ...fields }) => ({ contents: [{ role: 'user', parts: [{ text: 'Where to?' }] }], ...fields }),
  [
    [
      'gemini-omni-flash-preview gemini-omni-1.1-flash gemini-omni-1.2-flash',
      {},
      'This model only supports Interactions API.',
      'R',
    ],
    ['gemini-2.5-pro', budget(0), NO_OFF, 'R'],
    ['gemini-2.5-flash gemini-2.5-flash-lite', budget(0), null, 'G'],
    ['gemini-2.5-pro gemini-2.5-flash gemini-2.5-flash-lite', budget(-1), null, 'G'],
    ['gemini-2.5-pro gemini-2.5-flash-lite', budget(100), 'The thinking budget 100 is invalid.', 'G'],
    ['gemini-2.5-flash gemini-2.5-flash-lite', budget(30_000), 'The thinking budget 30000 is invalid.', 'G'],
    ['gemini-2.5-pro', budget(128), null, 'G'],
    ['gemini-2.5-pro', budget(32_768), null, 'G'],
    ['gemini-2.5-pro', budget(127), 'The thinking budget 127 is invalid.', 'G'],
    ['gemini-2.5-pro', budget(32_769), 'The thinking budget 32769 is invalid.', 'G'],
    ['gemini-2.5-flash', budget(1), null, 'G'],
    ['gemini-2.5-flash-lite', budget(512), null, 'G'],
    ['gemini-2.5-flash-lite', budget(511), 'The thinking budget 511 is invalid.', 'G'],
    ['gemini-2.5-flash gemini-2.5-flash-lite', budget(24_576), null, 'G'],
    ['gemini-2.5-flash gemini-2.5-flash-lite', budget(24_577), 'The thinking budget 24577 is invalid.', 'G'],
    ['gemini-2.5-pro gemini-2.5-flash gemini-2.5-flash-lite', thinks('LOW'), NO_LEVEL, 'R'],
    ['gemini-3-pro-preview gemini-3.1-pro-preview', budget(0), NO_OFF, 'R'],
    ['gemini-4-argon', budget(0), NO_OFF, 'G'],
    ['gemini-4-argon', thinks('MINIMAL'), NO_LEVEL, 'G'],
    ['gemini-4-argon', thinks('LOW'), null, 'G'],
    ['gemini-4-argon', thinks('MEDIUM'), null, 'G'],
    ['gemini-4-argon', thinks('HIGH'), null, 'G'],
    ['gemini-3-pro-preview gemini-3-pro', thinks('MEDIUM'), NO_LEVEL, 'G'],
    [
      'gemini-3-pro-preview gemini-3.1-pro gemini-3-flash-preview gemini-3.8-flash',
      thinks('HIGH'),
      null,
      'G',
    ],
    [
      'gemini-3.1-pro-preview gemini-3.1-pro gemini-3.7-flash gemini-3.8-flash',
      thinks('MINIMAL'),
      NO_LEVEL,
      'G',
    ],
    ['gemini-3-pro-preview gemini-3-flash', thinks('LOW'), null, 'G'],
    ['gemini-3.1-pro gemini-3.7-flash', thinks('LOW'), null, 'G'],
    ['gemini-3.1-pro gemini-3.7-flash gemini-3-flash', thinks('MEDIUM'), null, 'G'],
    ['gemini-3-flash-preview gemini-3-flash gemini-3.5-flash gemini-3.6-flash', thinks('MINIMAL'), null, 'G'],
    [
      'gemini-3-flash-preview gemini-3-flash gemini-3.5-flash gemini-3.6-flash',
      thinks('XHIGH'),
      NO_LEVEL,
      'G',
    ],
    [
      'gemini-3-pro-preview gemini-3-flash-preview gemini-3.8-flash',
      called({}),
      'Function call is missing a thought_signature in functionCall parts.',
      'R',
    ],
    ['gemini-3-pro-preview gemini-3.8-flash', called({ thoughtSignature: 'c2lnbmVk' }), null, 'R'],
    ['gemini-3-pro-preview gemini-3.8-flash', calledBesides(), null, 'R'],
    ['gemini-2.5-pro gemini-2.5-flash', called({}), null, 'R'],
    [WRITERS, strict('parameters'), 'Unknown name "additionalProperties"', 'R'],
    ['gemini-2.5-pro gemini-3.1-pro', strict('parametersJsonSchema'), null, 'G'],
    [
      WRITERS,
      { generationConfig: { maxOutputTokens: 65_537 } },
      'maxOutputTokens value of 65537 but the supported range is from 1 (inclusive) to 65537 (exclusive)',
      'R',
    ],
    ['gemini-2.5-pro gemini-3.8-flash', { generationConfig: { maxOutputTokens: 65_536 } }, null, 'G'],
    [
      'gemini-3.8-flash gemini-4-argon',
      { contents: [{ role: 'user', parts: [{ text: 'word '.repeat(840_000) }] }] },
      'exceeds the maximum number of tokens allowed (1048576)',
      'R',
    ],
    ['gemini-of-nobody', {}, 'models/gemini-of-nobody is not found', 'G', 404],
  ],
)

const CALLED = [
  ...ASKED,
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'c1', type: 'function', function: { name: 'weather', arguments: '{}' } }],
  },
  { role: 'tool', tool_call_id: 'c1', content: 'rain' },
]
const OTHERS = [
  ...rows('xai', 'chat/completions', (fields) => ({ messages: ASKED, ...fields }), [
    ['grok-4.5', level('none'), "does not support 'none' with this model.", 'X'],
    ...accepted('grok-4.5', 'low medium high', level, 'X'),
    [
      'grok-4 grok-4-1-fast grok-code-fast-1',
      level('low'),
      'Model does not support parameter reasoningEffort',
      'X',
    ],
  ]),
  ...rows('deepseek', 'chat/completions', (fields) => ({ messages: CALLED, ...fields }), [
    [
      'deepseek-v4-pro deepseek-v4-flash',
      {},
      'The reasoning_content in the thinking mode must be passed back to the API',
      'X',
    ],
    ['deepseek-v4-pro', { thinking: { type: 'disabled' } }, null, 'X'],
    [
      'deepseek-v4-flash',
      {
        messages: CALLED.map((each) => ('tool_calls' in each ? { ...each, reasoning_content: 'Hm.' } : each)),
      },
      null,
      'X',
    ],
  ]),
]

const NOT_THERE = 'does not exist or you do not have access to it.'
const TRANSCRIBERS = 'gpt-transcribe gpt-4o-transcribe gpt-4o-mini-transcribe gpt-4o-transcribe-diarize'
const PAINTERS =
  'gpt-image-1 gpt-image-1-mini gpt-image-1.5 gpt-image-2 gpt-image-2.5-sunburst gpt-image-2.5-flare gpt-image-2.6-sunburst gpt-image-2.6-flare chatgpt-image-latest dall-e-3'
const SOUND = { file: new Blob(['RIFF']) }
const PICTURE = { image: new Blob(['png']) }

/**
 * Makes the rows of an endpoint without a conversation: the models that it serves, and some models that it
 * does not serve.
 */
const served = (endpoint: string, models: string, others: string, body: Fields): Row[] =>
  rows('openai', endpoint, (fields) => ({ ...body, ...fields }), [
    [models, {}, null, 'O'],
    [`${others} gpt-6-luna model-of-nobody`, {}, NOT_THERE, 'O', 404],
  ])

/** Endpoints without a conversation. */
const WITHOUT_CONVERSATION: readonly Row[] = [
  ...served('audio/speech', 'tts-1 tts-1-hd gpt-4o-mini-tts gpt-4o-mini-tts-2025-12-15', 'whisper-1', {
    ...{ input: 'hi', voice: 'alloy' },
  }),
  ...served('audio/transcriptions', `whisper-1 ${TRANSCRIBERS}`, 'tts-1', SOUND),
  ...served('audio/translations', 'whisper-1', TRANSCRIBERS, SOUND),
  ...served('images/generations', `dall-e-2 ${PAINTERS}`, 'tts-1', { prompt: 'blue' }),
  ...served('images/edits', `dall-e-2 ${PAINTERS}`, 'tts-1', { prompt: 'blue', ...PICTURE }),
  ...served('images/variations', 'dall-e-2', PAINTERS, PICTURE),
  ...served(
    'moderations',
    'omni-moderation-latest omni-moderation-2024-09-26 text-moderation-latest text-moderation-stable',
    'tts-1',
    { input: 'hi' },
  ),
  ...served('embeddings', 'text-embedding-3-small text-embedding-3-large text-embedding-ada-002', 'tts-1', {
    input: 'hi',
  }),
  ...served('completions', 'gpt-3.5-turbo-instruct davinci-002 babbage-002', 'tts-1', { prompt: 'It' }),
  ...rows('openai', 'chat/completions', (fields) => ({ messages: ASKED, ...fields }), [
    ['tts-1 gpt-3.5-turbo-instruct', {}, NOT_THERE, 'O', 404],
  ]),
  ...rows('cohere', 'rerank', (fields) => ({ query: 'q', documents: ['a'], ...fields }), [
    [
      'rerank-v4.0-pro rerank-v4.0-fast rerank-v3.5 rerank-english-v3.0 rerank-multilingual-v3.0',
      ...([{}, null, 'X'] as const),
    ],
    ['jina-reranker-v3', {}, "model 'jina-reranker-v3' not found", 'X', 404],
  ]),
  ...rows('jina', 'rerank', (fields) => ({ query: 'q', documents: ['a'], ...fields }), [
    [
      'jina-reranker-v3 jina-reranker-m0 jina-reranker-v2-base-multilingual jina-reranker-v1-base-en jina-reranker-v1-turbo-en jina-reranker-v1-tiny-en jina-colbert-v2',
      ...([{}, null, 'X'] as const),
    ],
    ['rerank-v3.5', {}, 'rerank-v3.5 not found', 'X', 422],
  ]),
]

/** All rows; each is a request to one model. */
export const TABLE: readonly Row[] = [
  ...MESSAGES,
  ...COUNTED,
  ...CHAT,
  ...LITE,
  ...RESPONSES,
  ...GEMINI,
  ...OTHERS,
  ...WITHOUT_CONVERSATION,
]
