// Usages of calls that another model answered than the one that was asked, or the same one under another name, and
// usages with unknown counters, with the cost of each. A cost is counts times rates, written by hand from the providers'
// price lists. Shares no code and no price with the gateway.
import type { UsageRow } from './test-usages.ts'

/** A million tokens, the unit of the rates. */
const M = 1_000_000

type Rates = readonly [input: number, output: number]

const OPUS: Rates = [4, 20] // Opus 5.5
const HAIKU: Rates = [1, 5] // Haiku 4.5
const OPUS_4_8: Rates = [5, 25]
const FABLE: Rates = [10, 50]
const SOL: Rates = [2, 10] // gpt-6-sol
const V4_FLASH: Rates = [0.105, 0.21] // DeepSeek V4 Flash at OpenRouter, since 9 November 2026
const OSS_GROQ: Rates = [0.15, 0.6]
/** The operator's price for a deployment. */
const OWN: Rates = [3, 7]

const at = ([input, output]: Rates, [read, wrote] = [1_000, 1_000]) => (read! * input + wrote! * output) / M

const USAGES = {
  chat: { prompt_tokens: 1_000, completion_tokens: 1_000, total_tokens: 2_000 },
  messages: { input_tokens: 1_000, output_tokens: 1_000 },
  responses: { input_tokens: 1_000, output_tokens: 1_000, total_tokens: 2_000 },
  gemini: { promptTokenCount: 1_000, candidatesTokenCount: 1_000, totalTokenCount: 2_000 },
} as const

/** Dialects of the providers in this table. */
export const OTHER_MODEL_DIALECTS: Readonly<Record<string, keyof typeof USAGES>> = {
  anthropic: 'messages',
  openai: 'chat',
  openai_responses: 'responses',
  gemini: 'gemini',
  xai: 'chat',
  openrouter: 'chat',
  deepseek: 'chat',
  groq: 'chat',
  mistral: 'chat',
  azure: 'chat',
  aws: 'messages',
  vercel: 'chat',
  local: 'chat',
  reseller: 'messages',
}

/** Prices of the test's configuration, besides those that Waybill knows. */
export const OTHER_MODEL_PRICES = `models:
  local/default: { price: { input: 3, output: 7 } }
  local/gemma-3-4b-it: { price: { input: 3, output: 7 } }
  local/qwen/qwen3-8b: { price: { input: 3, output: 7 } }
  "local/qwen3:8b": { price: { input: 3, output: 7 } }
  azure/prod-eu: { price: { input: 3, output: 7 } }
  azure/gpt-4o: { price: { input: 3, output: 7 } }
  "aws/arn:aws:bedrock:eu-central-1:1:application-inference-profile/k3v9": { price: { input: 3, output: 7 } }
  openai/ft:gpt-4.1-mini:acme::b1: { price: { input: 3, output: 7 } }
  vercel/anthropic/claude-haiku-4.5: { price: { input: 1, output: 5 } }
  vercel/anthropic/claude-opus-5.5: { price: { input: 4, output: 20 } }
  reseller/claude-opus-5-5: { price: { input: 3, output: 7 } }
  reseller/mine: { price: { input: 3, output: 7 } }
  reseller/claude-haiku-4-5: { price: { input: 1, output: 5 } }
`

/** Makes a row of 1,000 tokens in and 1,000 out. `rates`: those of who answered; null if its price is unknown. */
const row = (
  provider: string,
  model: string,
  served: string,
  rates: Rates | null,
  more: Partial<UsageRow> = {},
): UsageRow => ({
  name: `${provider}/${model} answered by ${served}`,
  provider,
  model,
  served,
  usage: USAGES[OTHER_MODEL_DIALECTS[provider]!],
  usd: rates && at(rates),
  ...(rates === null && { missing: ['model'] }),
  ...more,
})

const OTHERS: readonly UsageRow[] = [
  // OpenRouter: models, route, provider, variants, auto.
  row('openrouter', 'deepseek/deepseek-v4-flash', 'deepseek/deepseek-v4-flash', V4_FLASH),
  row('openrouter', 'deepseek/deepseek-v4-flash', 'anthropic/claude-opus-5-5', OPUS, {
    request: { models: ['deepseek/deepseek-v4-flash', 'anthropic/claude-opus-5-5'], route: 'fallback' },
    record: { 'price.model': 'anthropic/claude-opus-5.5', response_model: 'anthropic/claude-opus-5-5' },
  }),
  row('openrouter', 'deepseek/deepseek-v4-flash', 'anthropic/claude-5.5-opus-20260922', OPUS),
  row('openrouter', 'deepseek-v4-flash', 'deepseek/deepseek-v4-flash', V4_FLASH),
  row('openrouter', 'anthropic/claude-haiku-4.5', 'anthropic/claude-4.5-haiku-20251001', HAIKU),
  row('openrouter', 'anthropic/claude-opus-5.5', 'anthropic/claude-haiku-4.5', HAIKU),
  row('openrouter', 'openrouter/auto', 'anthropic/claude-opus-5.5', OPUS),
  row('openrouter', 'openrouter/auto', 'acme/dream-9', null),
  row('openrouter', 'deepseek/deepseek-v4-flash', 'acme/dream-9', null),
  row('openrouter', 'deepseek/deepseek-v4-flash:nitro', 'deepseek/deepseek-v4-flash', V4_FLASH),
  row('openrouter', 'deepseek/deepseek-v4-flash:floor', 'anthropic/claude-opus-5.5', OPUS),
  row('openrouter', 'deepseek/deepseek-r1:free', 'deepseek/deepseek-r1:free', [0, 0]),
  row('openrouter', 'deepseek/deepseek-v4-flash', 'deepseek/deepseek-v4-flash:free', null),
  row('openrouter', 'google/gemma-4-31b-it:free', 'deepseek/deepseek-v4-flash', V4_FLASH),
  row('openrouter', 'deepseek/deepseek-v4-flash', 'anthropic/claude-opus-5.5', OPUS, {
    name: 'OpenRouter reports what Opus cost',
    usage: { ...USAGES.chat, cost: 0.024 },
    usd: 0.024,
    record: { reported_usd: 0.024, priced_usd: 0.024, 'usage.doubts': null },
  }),
  // Anthropic: fallbacks, sticky turns, advisors, dates.
  row('anthropic', 'claude-haiku-4-5', 'claude-haiku-4-5-20251001', HAIKU),
  row('anthropic', 'claude-haiku-4-5', 'claude-opus-5-5', OPUS, {
    request: { fallbacks: [{ model: 'claude-opus-5-5' }] },
    record: { response_model: 'claude-opus-5-5' },
  }),
  row('anthropic', 'claude-haiku-4-5', 'claude-opus-5-5-20260922', OPUS),
  row('anthropic', 'claude-haiku-4-5', 'claude-zeta-9', null),
  row('anthropic', 'claude-haiku-4-5-latest', 'claude-haiku-4-5-20251001', HAIKU),
  row('anthropic', 'claude-fable-5', 'claude-opus-4-8', OPUS_4_8, {
    name: 'a hand-over before any output',
    usage: {
      ...USAGES.messages,
      iterations: [
        { type: 'message', model: null, input_tokens: 1_000, output_tokens: 0 },
        { type: 'fallback_message', model: 'claude-opus-4-8', input_tokens: 1_000, output_tokens: 1_000 },
      ],
    },
  }),
  row('anthropic', 'claude-fable-5', 'claude-opus-4-8', null, {
    name: 'a hand-over half-way, the first attempt without a name',
    usage: {
      ...USAGES.messages,
      iterations: [
        { type: 'message', model: null, input_tokens: 1_000, output_tokens: 200 },
        { type: 'fallback_message', model: 'claude-opus-4-8', input_tokens: 1_000, output_tokens: 1_000 },
      ],
    },
    usd: at(FABLE, [1_000, 200]) + at(OPUS_4_8),
    missing: [],
  }),
  row('anthropic', 'claude-haiku-4-5', 'claude-haiku-4-5-20251001', null, {
    name: 'an advisor of another model, named by date',
    usage: {
      ...USAGES.messages,
      iterations: [
        { type: 'message', input_tokens: 1_000, output_tokens: 1_000 },
        { type: 'advisor_message', model: 'claude-opus-5-5-20260922', input_tokens: 500, output_tokens: 100 },
      ],
    },
    usd: at(HAIKU) + at(OPUS, [500, 100]),
    missing: [],
  }),
  row('anthropic', 'claude-haiku-4-5', 'claude-haiku-4-5', null, {
    name: 'an advisor whose price is unknown',
    usage: {
      ...USAGES.messages,
      iterations: [
        { type: 'message', input_tokens: 1_000, output_tokens: 1_000 },
        { type: 'advisor_message', model: 'claude-zeta-9', input_tokens: 500, output_tokens: 100 },
      ],
    },
    usd: at(HAIKU),
    missing: ['model'],
  }),
  // Redirects, versions and swaps.
  row('openai', 'gpt-6-sol', 'gpt-6-sol-2026-09-01', SOL),
  row('openai', 'gpt-4o', 'gpt-4o-2024-08-06', [2.5, 10]),
  row('openai', 'gpt-4o', 'gpt-4o-2024-05-13', [5, 15]),
  row('openai', 'gpt-4.1-mini', 'gpt-4.1-2025-04-14', [2, 8]),
  row('openai', 'gpt-6-sol', 'gpt-6-sol-mini', null),
  row('openai_responses', 'gpt-4.1', 'gpt-4.1-2025-04-14', [2, 8]),
  row('openai_responses', 'gpt-4.1', 'gpt-4.1-mini-2025-04-14', [0.4, 1.6]),
  row('openai_responses', 'gpt-4.1', 'gpt-dream', null),
  row('gemini', 'gemini-2.5-flash', 'models/gemini-2.5-flash', [0.3, 2.5]),
  row('gemini', 'gemini-2.5-flash', 'gemini-2.5-flash-001', [0.3, 2.5]),
  row('gemini', 'gemini-2.5-flash', 'gemini-2.5-pro', [1.25, 10]),
  row('gemini', 'gemini-flash-latest', 'gemini-2.5-flash', [0.3, 2.5]),
  row('gemini', 'gemini-2.5-flash', 'gemini-9-dream', null),
  row('xai', 'grok-4.5', 'grok-4.3', [1.25, 2.5]),
  row('groq', 'openai/gpt-oss-120b', 'openai/gpt-oss-120b', OSS_GROQ),
  row('groq', 'openai/gpt-oss-120b', 'gpt-oss-120b', OSS_GROQ),
  row('groq', 'openai/gpt-oss-120b', 'claude-haiku-4-5', null),
  row('mistral', 'mistral-medium-latest', 'mistral-medium-2508', [0.4, 2]),
  row('vercel', 'anthropic/claude-haiku-4.5', 'anthropic/claude-opus-5.5', OPUS, {
    request: { providerOptions: { gateway: { models: ['anthropic/claude-opus-5.5'] } } },
  }),
  row('vercel', 'anthropic/claude-haiku-4.5', 'claude-haiku-4-5-20251001', HAIKU),
  row('vercel', 'anthropic/claude-haiku-4.5', 'openai/gpt-6-sol', null),
  row('reseller', 'claude-opus-5-5', 'claude-haiku-4-5-20251001', HAIKU),
  row('reseller', 'claude-opus-5-5', 'gpt-6-sol', null),
  row('reseller', 'claude-opus-5-5', 'claude-opus-5-5-20260922', OWN),
  row('reseller', 'mine', 'claude-haiku-4-5', HAIKU),
  row('reseller', 'mine', 'whatever', OWN),
  // Deployments, files and fine-tuned models keep the operator's price.
  row('local', 'default', '/models/qwen3-8b-q4_k_m.gguf', OWN),
  row('local', 'default', 'qwen3-8b', OWN),
  row('local', 'default', 'claude-opus-5-5', OWN),
  row('local', 'gemma-3-4b-it', 'gemma-3-4b-it-Q4_K_M', OWN),
  row('local', 'gemma-3-4b-it', 'ggml-org/gemma-3-4b-it-GGUF', OWN),
  row('local', 'gemma-3-4b-it', 'C:\\models\\gemma.gguf', OWN),
  row('local', 'qwen/qwen3-8b', 'qwen3-8b-mlx', OWN),
  row('local', 'qwen3:8b', 'qwen3:8b', OWN),
  row('azure', 'prod-eu', 'gpt-6-sol-2026-09-01', OWN),
  row('azure', 'gpt-4o', 'gpt-4o-2024-08-06', OWN),
  row('azure', 'gpt-6-sol', 'gpt-6-sol-2026-09-01', SOL),
  row('azure', 'unpriced', 'gpt-6-sol-2026-09-01', SOL),
  row(
    'aws',
    'arn:aws:bedrock:eu-central-1:1:application-inference-profile/k3v9',
    'claude-haiku-4-5-20251001',
    OWN,
  ),
  row('aws', 'us.anthropic.claude-haiku-4-5-20251001-v1:0', 'claude-haiku-4-5-20251001', [1.1, 5.5]),
  row('openai', 'ft:gpt-4.1-mini:acme::b1', 'ft:gpt-4.1-mini-2025-04-14:acme::b1', OWN),
]

/** Makes a row with the price of the asked model and more members in the usage. */
const counted = (
  name: string,
  provider: string,
  model: string,
  usage: object,
  usd: number,
  doubts: readonly string[] | null,
  more: Partial<UsageRow> = {},
): UsageRow => ({
  name,
  provider,
  model,
  usage: { ...USAGES[OTHER_MODEL_DIALECTS[provider]!], ...usage },
  usd,
  missing: doubts ?? [],
  record: { 'usage.doubts': doubts },
  ...more,
})

const UNKNOWN = ['unknown_usage']

const COUNTERS: readonly UsageRow[] = [
  counted('chat: a counter', 'openai', 'gpt-6-sol', { hologram_tokens: 7 }, at(SOL), UNKNOWN),
  counted(
    'chat: a counter as large as the input',
    'openai',
    'gpt-6-sol',
    { dream_tokens: 1_000 },
    at(SOL),
    UNKNOWN,
  ),
  counted(
    'chat: a nested counter',
    'openai',
    'gpt-6-sol',
    { completion_tokens_details: { reasoning_tokens: 0, dream_tokens: 7 } },
    at(SOL),
    UNKNOWN,
  ),
  counted(
    'chat: a counter in a list',
    'openai',
    'gpt-6-sol',
    { dreams: [{ of: { tokens_seen: 7 } }] },
    at(SOL),
    UNKNOWN,
  ),
  counted(
    'chat: seconds of sound',
    'mistral',
    'mistral-medium-latest',
    { prompt_audio_seconds: 30 },
    at([1.5, 7.5]),
    UNKNOWN,
  ),
  counted('responses: a counter', 'openai_responses', 'gpt-4.1', { dream_units: 7 }, at([2, 8]), UNKNOWN),
  counted(
    'responses: another cache lifetime',
    'openai_responses',
    'gpt-6-sol',
    {
      input_tokens_details: { cache_write_tokens: 400, cache_write_tokens_details: { ttl_48h_tokens: 400 } },
    },
    (600 * 2 + 400 * 2.5 + 1_000 * 10) / M,
    UNKNOWN,
  ),
  counted('messages: a counter', 'anthropic', 'claude-haiku-4-5', { future_tokens: 7 }, at(HAIKU), UNKNOWN),
  counted(
    'messages: another cache lifetime',
    'anthropic',
    'claude-haiku-4-5',
    { cache_creation_input_tokens: 100, cache_creation: { ephemeral_24h_input_tokens: 100 } },
    at(HAIKU) + (100 * 1.25) / M,
    UNKNOWN,
  ),
  counted(
    'messages: a counter in a part',
    'anthropic',
    'claude-haiku-4-5',
    { iterations: [{ type: 'message', input_tokens: 1_000, output_tokens: 1_000, future_tokens: 7 }] },
    at(HAIKU),
    UNKNOWN,
  ),
  counted(
    'gemini: a counter',
    'gemini',
    'gemini-2.5-flash',
    { hologramTokenCount: 7 },
    at([0.3, 2.5]),
    UNKNOWN,
  ),
  counted(
    'gemini: a kind of tokens',
    'gemini',
    'gemini-2.5-flash',
    { promptTokensDetails: [{ modality: 'HOLOGRAM', tokenCount: 7 }] },
    at([0.3, 2.5]),
    UNKNOWN,
  ),
  counted(
    'OpenRouter reports the cost with the counter',
    'openrouter',
    'deepseek/deepseek-v4-flash',
    { hologram_tokens: 7, cost: 0.0003 },
    0.0003,
    UNKNOWN,
    { missing: [] },
  ),
  // Lifetimes of OpenAI's caches.
  counted(
    'cached for 30 minutes',
    'openai_responses',
    'gpt-6-sol',
    {
      input_tokens_details: {
        cache_write_tokens: 400,
        cache_write_tokens_details: { ttl_30m_tokens: 400, ttl_12h_tokens: 0 },
      },
    },
    (600 * 2 + 400 * 2.5 + 1_000 * 10) / M,
    null,
  ),
  counted(
    'cached for twelve hours',
    'openai_responses',
    'gpt-6-sol',
    {
      input_tokens_details: {
        cache_write_tokens: 400,
        cache_write_tokens_details: { ttl_30m_tokens: 100, ttl_12h_tokens: 300 },
      },
    },
    (600 * 2 + 400 * 2.5 + 1_000 * 10) / M,
    null,
    { missing: ['cache_write_12h'], record: { 'usage.cache_write_12h': 300, 'usage.doubts': null } },
  ),
  counted(
    'cached for twelve hours, in chat',
    'openai',
    'gpt-6-sol',
    {
      prompt_tokens_details: { cache_write_tokens: 400, cache_write_tokens_details: { ttl_12h_tokens: 400 } },
    },
    (600 * 2 + 400 * 2.5 + 1_000 * 10) / M,
    null,
    { missing: ['cache_write_12h'] },
  ),
  // Numbers that cost nothing of their own.
  counted(
    'Groq: times',
    'groq',
    'openai/gpt-oss-120b',
    { queue_time: 0.1, prompt_time: 0.2, total_time: 1.2 },
    at(OSS_GROQ),
    null,
  ),
  counted(
    'Azure: latencies',
    'azure',
    'gpt-6-sol',
    { latency_checkpoint: { engine_ttft_ms: 12, total_duration_ms: 800, service_tbt_ms: 3 } },
    at(SOL),
    null,
  ),
  counted(
    'DeepSeek: hits and misses',
    'openai',
    'gpt-6-sol',
    { prompt_cache_hit_tokens: 0, prompt_cache_miss_tokens: 1_000 },
    at(SOL),
    null,
  ),
  counted(
    'OpenAI: a prediction',
    'openai',
    'gpt-6-sol',
    { completion_tokens_details: { accepted_prediction_tokens: 20, rejected_prediction_tokens: 30 } },
    at(SOL),
    null,
  ),
  counted(
    'xAI: sources and uses of tools',
    'xai',
    'grok-4.5',
    {
      num_sources_used: 4,
      num_server_side_tools_used: 2,
      server_side_tool_usage_details: { web_search_calls: 2 },
      context_details: { input_tokens: 900, output_tokens: 200 },
      cost_in_usd_ticks: 120_000_000,
    },
    0.012,
    null,
  ),
  counted(
    'Vercel: the market’s cost',
    'vercel',
    'anthropic/claude-haiku-4.5',
    { cost: 0.006, market_cost: 0.006, is_byok: false },
    0.006,
    null,
  ),
  counted(
    'SambaNova: rates',
    'openai',
    'gpt-6-sol',
    { total_tokens_per_sec: 812.5, time_to_first_token: 0.2, acceptance_rate: 0.7, total_latency: 2 },
    at(SOL),
    null,
  ),
  counted(
    'Cohere: parts of the counts',
    'openai',
    'gpt-6-sol',
    { billed_units: { input_tokens: 900, output_tokens: 1_000 } },
    at(SOL),
    null,
  ),
  counted(
    'MiniMax: characters',
    'anthropic',
    'claude-haiku-4-5',
    { total_characters: 4_000 },
    at(HAIKU),
    null,
  ),
  counted(
    'zeros',
    'openai',
    'gpt-6-sol',
    { hologram_tokens: 0, dreams: { dream_tokens: 0 }, none: null },
    at(SOL),
    null,
  ),
]

export const OTHER_MODEL_ROWS: readonly UsageRow[] = [...OTHERS, ...COUNTERS]
