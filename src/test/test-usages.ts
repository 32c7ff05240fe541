// Usages as providers report them, with the cost of each. A cost is counts times rates, written by hand from
// the providers' price lists. Shares no code and no price with the gateway.

/** A million tokens, the unit of the rates. */
const M = 1_000_000

export interface UsageRow {
  readonly name: string
  /** A provider of the test's configuration. */
  readonly provider: string
  readonly model: string
  readonly usage: Readonly<Record<string, unknown>>
  /** Cost on record, US dollars; null if unknown. */
  readonly usd: number | null
  /** Words of `cost_missing`. */
  readonly missing?: readonly string[]
  /** Tier that the answer states next to its usage. */
  readonly tier?: string
  /** Response headers. */
  readonly headers?: Readonly<Record<string, string>>
  /** Output items of a response in addition to its message. */
  readonly items?: readonly object[]
  readonly stopReason?: string
  /** Model that the answer names, if it is not the requested name. A stream with a hand-over begins with the latter. */
  readonly served?: string
  /** Members that a request in the provider's own dialect has besides. */
  readonly request?: object
  /** Members of the record that are also checked. */
  readonly record?: Readonly<Record<string, unknown>>
}

const claude = (
  name: string,
  model: string,
  usage: object,
  usd: number | null,
  more: Partial<UsageRow> = {},
): UsageRow => ({
  name,
  provider: 'anthropic',
  model,
  usage: { cache_creation_input_tokens: 0, cache_read_input_tokens: 0, service_tier: 'standard', ...usage },
  usd,
  ...more,
})
const write = (m5: number, h1: number) => ({
  cache_creation_input_tokens: m5 + h1,
  cache_creation: { ephemeral_5m_input_tokens: m5, ephemeral_1h_input_tokens: h1 },
})
const tokens = (input_tokens: number, output_tokens: number) => ({ input_tokens, output_tokens })

const ANTHROPIC: readonly UsageRow[] = [
  claude('1 Sonnet 5, plain', 'claude-sonnet-5', tokens(1_000, 500), (1_000 * 2 + 500 * 10) / M, {
    record: { service_tier: 'standard' },
  }),
  claude(
    '2 Opus 5.5, written for five minutes',
    'claude-opus-5-5',
    { ...tokens(200, 800), ...write(10_000, 0) },
    (200 * 4 + 10_000 * 5 + 800 * 20) / M,
  ),
  claude(
    '3 Opus 5.5, written for an hour',
    'claude-opus-5-5',
    { ...tokens(200, 800), ...write(0, 10_000) },
    (200 * 4 + 10_000 * 8 + 800 * 20) / M,
    { record: { 'usage.cache_write_1h': 10_000 } },
  ),
  claude(
    '4 Opus 5, both lifetimes and a read',
    'claude-opus-5',
    { ...tokens(100, 1_000), ...write(4_000, 6_000), cache_read_input_tokens: 50_000 },
    (100 * 5 + 4_000 * 6.25 + 6_000 * 10 + 50_000 * 0.5 + 1_000 * 25) / M,
  ),
  claude(
    '5 Fable 5.1, a read',
    'claude-fable-5-1',
    { ...tokens(50, 2_000), cache_read_input_tokens: 200_000 },
    (50 * 10 + 200_000 * 0.25 + 2_000 * 50) / M,
  ),
  claude(
    '6 Opus 5, fast',
    'claude-opus-5',
    { ...tokens(1_000, 2_000), speed: 'fast' },
    (1_000 * 10 + 2_000 * 50) / M,
    { record: { speed: 'fast' } },
  ),
  claude(
    '7 Opus 5, fast with a read',
    'claude-opus-5',
    { ...tokens(500, 1_000), cache_read_input_tokens: 100_000, speed: 'fast' },
    (500 * 10 + 100_000 * 1 + 1_000 * 50) / M,
  ),
  claude(
    '8 the same in the US',
    'claude-opus-5',
    { ...tokens(500, 1_000), cache_read_input_tokens: 100_000, speed: 'fast', inference_geo: 'us' },
    0.1705,
    { record: { region: 'us' } },
  ),
  claude(
    '9 Opus 5.5, fast',
    'claude-opus-5-5',
    { ...tokens(1_000, 2_000), speed: 'fast' },
    (1_000 * 8 + 2_000 * 40) / M,
  ),
  claude(
    '10 Sonnet 5 in the US',
    'claude-sonnet-5',
    { ...tokens(10_000, 1_000), ...write(2_000, 0), cache_read_input_tokens: 30_000, inference_geo: 'us' },
    0.0451,
  ),
  claude('11 Opus 5.5, batch', 'claude-opus-5-5', { ...tokens(50_000, 4_000), service_tier: 'batch' }, 0.14, {
    record: { service_tier: 'batch' },
  }),
  claude(
    '12 Sonnet 5, batch, for an hour, in the US',
    'claude-sonnet-5',
    { ...tokens(1_000, 2_000), ...write(0, 20_000), service_tier: 'batch', inference_geo: 'us' },
    0.0561,
  ),
  claude(
    '13 Sonnet 5, three searches',
    'claude-sonnet-5',
    { ...tokens(20_000, 1_500), server_tool_use: { web_search_requests: 3, web_fetch_requests: 0 } },
    0.085,
    { record: { 'usage.tools': { web_search: 3 } } },
  ),
  claude(
    '14 Sonnet 5, a fetch',
    'claude-sonnet-5',
    { ...tokens(20_000, 1_500), server_tool_use: { web_fetch_requests: 1 } },
    0.055,
  ),
  claude(
    '15 Opus 5, compaction',
    'claude-opus-5',
    {
      ...tokens(23_000, 1_000),
      iterations: [
        { type: 'compaction', ...tokens(180_000, 3_500) },
        { type: 'message', ...tokens(23_000, 1_000) },
      ],
    },
    1.1275,
    { record: { 'tokens.input': 203_000, 'tokens.output': 4_500 } },
  ),
  claude(
    '16 Sonnet 5 with an advisor',
    'claude-sonnet-5',
    {
      ...tokens(1_760, 531),
      iterations: [
        { type: 'message', ...tokens(412, 89) },
        { type: 'advisor_message', model: 'claude-opus-5', ...tokens(823, 1_612) },
        { type: 'message', ...tokens(1_348, 442) },
      ],
    },
    0.053245,
  ),
  claude(
    '17 declined before any output',
    'claude-fable-5',
    {
      ...tokens(5_000, 900),
      iterations: [
        { type: 'message', model: 'claude-fable-5', ...tokens(5_000, 0) },
        { type: 'fallback_message', model: 'claude-opus-4-8', ...tokens(5_000, 900) },
      ],
    },
    0.0475,
    {
      served: 'claude-opus-4-8',
      record: { response_model: 'claude-opus-4-8', 'tokens.input': 10_000, 'tokens.output': 900 },
    },
  ),
  claude(
    '17b declined by every model',
    'claude-fable-5',
    {
      ...tokens(5_000, 0),
      iterations: [
        { type: 'message', model: 'claude-fable-5', ...tokens(5_000, 0), cache_read_input_tokens: 40 },
        { type: 'fallback_message', model: 'claude-opus-4-8', ...tokens(5_000, 0) },
      ],
    },
    0,
    {
      stopReason: 'refusal',
      served: 'claude-opus-4-8',
      record: { 'tokens.input': 10_040, 'tokens.cached_input': 40, 'tokens.output': 0 },
    },
  ),
  claude(
    '18 declined half-way',
    'claude-fable-5',
    {
      ...tokens(5_300, 700),
      iterations: [
        { type: 'message', model: 'claude-fable-5', ...tokens(5_000, 300) },
        { type: 'fallback_message', model: 'claude-opus-4-8', ...tokens(5_300, 700) },
      ],
    },
    0.109,
    { served: 'claude-opus-4-8', record: { response_model: 'claude-opus-4-8', 'tokens.output': 1_000 } },
  ),
  claude('19 refused before any output', 'claude-fable-5', tokens(5_000, 0), 0, {
    stopReason: 'refusal',
    record: { 'usage.uncharged': true },
  }),
  claude(
    '20 a retry with credit',
    'claude-opus-4-8',
    {
      ...tokens(50, 1_000),
      cache_read_input_tokens: 100_000,
      fallback_credit: { status: { type: 'redeemed' } },
    },
    0.07525,
    { record: { 'usage.other': { fallback_credit: { status: { type: 'redeemed' } } } } },
  ),
  claude(
    '21 Sonnet 4.5, long',
    'claude-sonnet-4-5',
    tokens(250_000, 2_000),
    (250_000 * 6 + 2_000 * 22.5) / M,
  ),
  claude(
    '21b Sonnet 4.5, long and mostly cached',
    'claude-sonnet-4-5',
    { ...tokens(10_000, 1_000), cache_read_input_tokens: 240_000 },
    (10_000 * 6 + 240_000 * 0.6 + 1_000 * 22.5) / M,
  ),
  claude('22 Opus 4.8, long', 'claude-opus-4-8', tokens(900_000, 1_000), 4.525),
  claude('23 Haiku 5.5, short', 'claude-haiku-5-5', tokens(90_000, 1_000), 0.0095),
  claude('24 Haiku 5.5, long', 'claude-haiku-5-5', tokens(120_000, 1_000), 0.0625),
  claude(
    '26 Sonnet 5.5, a read',
    'claude-sonnet-5-5',
    { ...tokens(100, 500), cache_read_input_tokens: 50_000 },
    0.0102,
  ),
  claude(
    '26b Haiku 4.5',
    'claude-haiku-4-5-20251001',
    { ...tokens(1_000, 100), cache_read_input_tokens: 5_000 },
    (1_000 * 1 + 5_000 * 0.1 + 100 * 5) / M,
  ),
  claude(
    'a tier that is not known',
    'claude-sonnet-5',
    { ...tokens(1_000, 500), service_tier: 'platinum' },
    null,
    { missing: ['service_tier'], record: { service_tier: 'platinum' } },
  ),
  claude(
    'a speed that the model does not have',
    'claude-sonnet-5',
    { ...tokens(1_000, 500), speed: 'fast' },
    null,
    { missing: ['speed'] },
  ),
  claude(
    'a region that is not known',
    'claude-sonnet-5',
    { ...tokens(1_000, 500), inference_geo: 'moon' },
    null,
    { missing: ['region'] },
  ),
  claude(
    'a tool whose fee is not known',
    'claude-sonnet-5',
    { ...tokens(1_000, 500), server_tool_use: { code_execution_requests: 2 } },
    0.007,
    { missing: ['tools'] },
  ),
  claude('a later version of a known model', 'claude-opus-5-9', tokens(1_000, 500), null, {
    missing: ['price'],
  }),
  claude(
    'parts that do not add up',
    'claude-opus-5',
    { ...tokens(1_000, 1_000), iterations: [{ type: 'message', ...tokens(1_000, 400) }] },
    0.03,
    { missing: ['iterations'], record: { 'usage.doubts': ['iterations'] } },
  ),
  claude(
    'a part of an unknown kind',
    'claude-opus-5',
    {
      ...tokens(1_000, 1_000),
      iterations: [
        { type: 'message', ...tokens(1_000, 1_000) },
        { type: 'daydream', ...tokens(10, 10) },
      ],
    },
    0.0303,
    { missing: ['iterations'] },
  ),
  claude(
    'counts of wrong types',
    'claude-sonnet-5',
    {
      input_tokens: [1_000],
      output_tokens: true,
      cache_creation: 'none',
      service_tier: 7,
      iterations: 'two',
    },
    null,
    { missing: ['usage'] },
  ),
  claude(
    'no region, and a global one',
    'claude-sonnet-5',
    { ...tokens(1_000, 500), inference_geo: 'global', speed: 'standard' },
    0.007,
  ),
]

/** Usage of OpenAI's chat API and similar providers. */
const chat = (input: number, output: number, more: object = {}, details: object = {}) => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
  ...(Object.keys(more).length > 0 && { prompt_tokens_details: more }),
  ...(Object.keys(details).length > 0 && { completion_tokens_details: details }),
})

const CHAT: readonly UsageRow[] = [
  {
    name: '28 gpt-6-sol, read and write',
    provider: 'openai',
    model: 'gpt-6-sol',
    usage: chat(10_000, 1_000, { cached_tokens: 4_000, cache_write_tokens: 2_000 }),
    usd: 0.0238,
  },
  {
    name: '29 gpt-6-sol, long',
    provider: 'openai',
    model: 'gpt-6-sol',
    usage: chat(300_000, 2_000),
    usd: 1.23,
  },
  {
    name: '30 gpt-5.5, flex',
    provider: 'openai',
    model: 'gpt-5.5',
    tier: 'flex',
    usage: chat(10_000, 1_000),
    usd: 0.04,
    record: { service_tier: 'flex' },
  },
  {
    name: '31 gpt-5.4-mini, batch',
    provider: 'openai',
    model: 'gpt-5.4-mini',
    tier: 'batch',
    usage: chat(100_000, 10_000),
    usd: 0.06,
  },
  {
    name: '32 gpt-5.5, priority with a read',
    provider: 'openai',
    model: 'gpt-5.5',
    tier: 'priority',
    usage: chat(10_000, 1_000, { cached_tokens: 5_000 }),
    usd: 0.14375,
    record: { service_tier: 'priority' },
  },
  {
    name: '33 gpt-5.4, priority',
    provider: 'openai',
    model: 'gpt-5.4',
    tier: 'priority',
    usage: chat(10_000, 1_000),
    usd: 0.08,
  },
  {
    name: '34 gpt-5.4, default',
    provider: 'openai',
    model: 'gpt-5.4',
    tier: 'default',
    usage: chat(10_000, 1_000),
    usd: 0.04,
    record: { service_tier: 'default' },
  },
  {
    name: '35 gpt-6-astra, ultrafast',
    provider: 'openai',
    model: 'gpt-6-astra',
    tier: 'ultrafast',
    usage: chat(10_000, 2_000, { cached_tokens: 8_000 }),
    usd: 0.768,
  },
  {
    name: '39 o3, with reasoning',
    provider: 'openai',
    model: 'o3',
    usage: chat(2_000, 6_000, {}, { reasoning_tokens: 5_200 }),
    usd: 0.052,
  },
  {
    name: '40 gpt-4.1, a prediction',
    provider: 'openai',
    model: 'gpt-4.1',
    usage: chat(1_000, 900, {}, { rejected_prediction_tokens: 150 }),
    usd: 0.0092,
  },
  {
    name: '41 gpt-audio',
    provider: 'openai',
    model: 'gpt-audio',
    usage: chat(2_500, 1_700, { audio_tokens: 2_000 }, { audio_tokens: 1_500 }),
    usd: 0.16325,
    record: { 'usage.input_audio': 2_000, 'usage.output_audio': 1_500 },
  },
  {
    name: '42 gpt-realtime, cached sound',
    provider: 'openai',
    model: 'gpt-realtime',
    usage: chat(
      5_300,
      900,
      { audio_tokens: 5_000, cached_tokens: 4_000, cached_tokens_details: { audio_tokens: 4_000 } },
      { audio_tokens: 800 },
    ),
    usd: 0.0876,
  },
  {
    name: 'gpt-5.5, a tier without a price',
    provider: 'openai',
    model: 'gpt-5.5',
    tier: 'scale',
    usage: chat(10_000, 1_000),
    usd: null,
    missing: ['service_tier'],
  },
  {
    name: 'gpt-4.1, a tier only asked for',
    provider: 'openai',
    model: 'gpt-4.1',
    tier: 'auto',
    usage: chat(1_000, 900),
    usd: 0.0092,
    record: { service_tier: null },
  },
  {
    name: '52 grok-4.5, by its own figure',
    provider: 'xai',
    model: 'grok-4.5',
    usage: { ...chat(600, 100), cost_in_usd_ticks: 37_756_000 },
    usd: 0.0037756,
    record: {
      reported_usd: 0.0037756,
      priced_usd: (600 * 2 + 100 * 6) / M,
      'usage.doubts': ['reported_usd'],
    },
  },
  { name: '54 grok-4.3, long', provider: 'xai', model: 'grok-4.3', usage: chat(220_000, 1_000), usd: 0.555 },
  {
    name: 'grok-4.5, reasoning beside the completion',
    provider: 'xai',
    model: 'grok-4.5',
    usage: { ...chat(1_000, 200, {}, { reasoning_tokens: 300 }), total_tokens: 1_500 },
    usd: (1_000 * 2 + 500 * 6) / M,
    record: { 'tokens.output': 500 },
  },
  {
    name: '55 OpenRouter, by its own figure',
    provider: 'openrouter',
    model: 'openai/gpt-4o-mini',
    usage: { ...chat(1_000, 1_050), cost: 0.00078, cost_details: { upstream_inference_cost: null } },
    usd: 0.00078,
    record: { reported_usd: 0.00078 },
  },
  {
    name: '56 OpenRouter with a key of one’s own',
    provider: 'openrouter',
    model: 'openai/gpt-4o-mini',
    usage: {
      ...chat(1_000, 1_000),
      cost: 0.0005,
      is_byok: true,
      cost_details: { upstream_inference_cost: 0.01 },
    },
    usd: 0.0105,
  },
  {
    name: 'OpenRouter, a figure that is none',
    provider: 'openrouter',
    model: 'openai/gpt-4o-mini',
    usage: { ...chat(1_000, 1_000), cost: -3 },
    usd: (1_000 * 0.15 + 1_000 * 0.6) / M,
    record: { reported_usd: null, 'usage.doubts': ['reported_usd'] },
  },
  {
    name: '58 Groq gpt-oss-120b',
    provider: 'groq',
    model: 'openai/gpt-oss-120b',
    tier: 'on_demand',
    usage: chat(5_000, 800, { cached_tokens: 2_000 }),
    usd: 0.00108,
  },
  {
    name: '61 Mistral medium',
    provider: 'mistral',
    model: 'mistral-medium-latest',
    usage: chat(4_000, 1_000),
    usd: 0.0135,
  },
  {
    name: 'counts that contradict each other',
    provider: 'openai',
    model: 'gpt-4.1',
    usage: chat(1_000, 900, { cached_tokens: 5_000 }),
    usd: null,
    missing: ['usage'],
  },
  {
    name: 'a negative count',
    provider: 'openai',
    model: 'gpt-4.1',
    usage: chat(-5, 900),
    usd: null,
    missing: ['usage'],
  },
  {
    name: 'a count that is text',
    provider: 'openai',
    model: 'gpt-4.1',
    usage: { ...chat(1_000, 900), prompt_tokens: '1000' },
    usd: 0.0092,
  },
  {
    name: 'a count beyond what a number holds exactly',
    provider: 'openai',
    model: 'gpt-4.1',
    usage: { ...chat(1_000, 900), completion_tokens: 1e30 },
    usd: null,
    missing: ['usage'],
  },
  {
    name: 'members that nobody knows',
    provider: 'openai',
    model: 'gpt-4.1',
    usage: {
      ...chat(1_000, 900),
      moon_tokens: 7,
      prompt_tokens_details: { cached_tokens: 0, star_tokens: 2 },
    },
    usd: 0.0092,
    missing: ['unknown_usage'],
    record: { 'usage.other': { moon_tokens: 7, 'prompt_tokens_details.star_tokens': 2 } },
  },
]

const responses = (input: number, output: number, more: object = {}) => ({
  input_tokens: input,
  output_tokens: output,
  total_tokens: input + output,
  ...more,
})
const search = (type = 'search') => ({
  type: 'web_search_call',
  id: 'ws_1',
  status: 'completed',
  action: { type },
})

const RESPONSES: readonly UsageRow[] = [
  {
    name: '37 gpt-5.5, two searches',
    provider: 'openai-responses',
    model: 'gpt-5.5',
    tier: 'default',
    usage: responses(8_000, 500),
    items: [search(), search('open_page'), search()],
    usd: 0.075,
    record: { 'usage.tools': { web_search: 2 } },
  },
  {
    name: '38 gpt-5.4-mini, three file searches',
    provider: 'openai-responses',
    model: 'gpt-5.4-mini',
    usage: responses(6_000, 300),
    items: [1, 2, 3].map((n) => ({
      type: 'file_search_call',
      id: `fs_${n}`,
      status: 'completed',
      queries: [],
    })),
    usd: 0.01335,
  },
  {
    name: '38b gpt-5.4, code, whose fee is not known',
    provider: 'openai-responses',
    model: 'gpt-5.4',
    usage: responses(1_000, 100),
    items: [
      { type: 'code_interpreter_call', id: 'ci_1', status: 'completed', container_id: 'c_1', code: '1' },
    ],
    usd: 0.004,
    missing: ['tools'],
  },
  {
    name: '30b gpt-5.5, flex',
    provider: 'openai-responses',
    model: 'gpt-5.5',
    tier: 'flex',
    usage: responses(10_000, 1_000),
    usd: 0.04,
    record: { service_tier: 'flex' },
  },
  {
    name: '32b gpt-5.5, priority',
    provider: 'openai-responses',
    model: 'gpt-5.5',
    tier: 'priority',
    usage: responses(10_000, 1_000, { input_tokens_details: { cached_tokens: 5_000 } }),
    usd: 0.14375,
  },
  {
    name: '29b gpt-6-sol, long',
    provider: 'openai-responses',
    model: 'gpt-6-sol',
    tier: 'default',
    usage: responses(300_000, 2_000),
    usd: 1.23,
  },
]

const gemini = (prompt: number, candidates: number, more: object = {}) => ({
  promptTokenCount: prompt,
  candidatesTokenCount: candidates,
  totalTokenCount: prompt + candidates,
  ...more,
})
const tier = (name: string) => ({ 'x-gemini-service-tier': name })

const GEMINI: readonly UsageRow[] = [
  {
    name: '44 2.5 Flash, thoughts',
    provider: 'gemini',
    model: 'gemini-2.5-flash',
    usage: gemini(10_000, 500, { cachedContentTokenCount: 4_000, thoughtsTokenCount: 1_200 }),
    usd: 0.00617,
  },
  {
    name: '45 2.5 Pro, long',
    provider: 'gemini',
    model: 'gemini-2.5-pro',
    usage: gemini(250_000, 1_000, { thoughtsTokenCount: 2_000 }),
    usd: 0.67,
  },
  {
    name: '46 3.5 Flash, results of tools',
    provider: 'gemini',
    model: 'gemini-3.5-flash',
    usage: gemini(1_000, 400, { toolUsePromptTokenCount: 9_000, thoughtsTokenCount: 600 }),
    usd: 0.024,
  },
  {
    name: '47 2.5 Flash, sound',
    provider: 'gemini',
    model: 'gemini-2.5-flash',
    usage: gemini(3_200, 300, {
      promptTokensDetails: [
        { modality: 'TEXT', tokenCount: 200 },
        { modality: 'AUDIO', tokenCount: 3_000 },
      ],
    }),
    usd: 0.00381,
    record: { 'usage.input_audio': 3_000 },
  },
  {
    name: '48 3.5 Flash, flex',
    provider: 'gemini',
    model: 'gemini-3.5-flash',
    headers: tier('flex'),
    usage: gemini(10_000, 1_000),
    usd: 0.012,
    record: { service_tier: 'flex' },
  },
  {
    name: '49 2.5 Pro, priority',
    provider: 'gemini',
    model: 'gemini-2.5-pro',
    headers: tier('priority'),
    usage: gemini(10_000, 1_000),
    usd: 0.0405,
  },
  {
    name: '50 the same, served as standard',
    provider: 'gemini',
    model: 'gemini-2.5-pro',
    headers: tier('standard'),
    usage: gemini(10_000, 1_000),
    usd: 0.0225,
    record: { service_tier: 'standard' },
  },
  {
    name: '51 2.5 Flash Image',
    provider: 'gemini',
    model: 'gemini-2.5-flash-image',
    usage: gemini(300, 1_290, { candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 1_290 }] }),
    usd: 0.03879,
  },
  {
    name: '48b 3.5 Flash, flex of Vertex AI',
    provider: 'gemini',
    model: 'gemini-3.5-flash',
    usage: gemini(10_000, 1_000, { trafficType: 'ON_DEMAND_FLEX' }),
    usd: 0.012,
  },
  {
    name: 'a tier without a price',
    provider: 'gemini',
    model: 'gemini-2.5-pro',
    usage: gemini(10_000, 1_000, { trafficType: 'PROVISIONED_THROUGHPUT' }),
    usd: null,
    missing: ['service_tier'],
  },
]

export const USAGE_ROWS: readonly UsageRow[] = [...ANTHROPIC, ...CHAT, ...RESPONSES, ...GEMINI]
