// Providers that `waybill init` offers: base URL, dialect, usual environment variable of the key, and one or
// two models to start with. All models are in the price table. Independent of the user's machine.
import type { DIALECT_NAMES, STRATEGIES } from './schema.ts'

interface Preset {
  readonly name: string
  readonly dialect: readonly (typeof DIALECT_NAMES)[number][]
  readonly baseUrl: string
  /** Environment variable that the provider's own tools read. */
  readonly keyVariable: string
  /** Models: the first for everyday work, the last for cheap tasks. */
  readonly models: readonly [string, ...string[]]
}

export const PRESETS: readonly Preset[] = [
  {
    name: 'openai',
    dialect: ['chat', 'responses'],
    baseUrl: 'https://api.openai.com/v1',
    keyVariable: 'OPENAI_API_KEY',
    models: ['gpt-6-sol', 'gpt-6-luna'],
  },
  {
    name: 'anthropic',
    dialect: ['messages'],
    baseUrl: 'https://api.anthropic.com',
    keyVariable: 'ANTHROPIC_API_KEY',
    models: ['claude-sonnet-5-5', 'claude-haiku-5-5'],
  },
  {
    name: 'gemini',
    dialect: ['gemini', 'interactions'],
    baseUrl: 'https://generativelanguage.googleapis.com',
    keyVariable: 'GEMINI_API_KEY',
    models: ['gemini-3.1-pro-preview', 'gemini-3.8-flash'],
  },
  {
    name: 'groq',
    dialect: ['chat'],
    baseUrl: 'https://api.groq.com/openai/v1',
    keyVariable: 'GROQ_API_KEY',
    models: ['openai/gpt-oss-120b', 'openai/gpt-oss-20b'],
  },
  {
    name: 'deepseek',
    dialect: ['chat'],
    baseUrl: 'https://api.deepseek.com',
    keyVariable: 'DEEPSEEK_API_KEY',
    models: ['deepseek-v4-pro', 'deepseek-v4-flash'],
  },
  {
    name: 'mistral',
    dialect: ['chat'],
    baseUrl: 'https://api.mistral.ai/v1',
    keyVariable: 'MISTRAL_API_KEY',
    models: ['mistral-large-latest', 'mistral-small-latest'],
  },
  {
    name: 'xai',
    dialect: ['chat', 'responses'],
    baseUrl: 'https://api.x.ai/v1',
    keyVariable: 'XAI_API_KEY',
    models: ['grok-4.5', 'grok-4.3'],
  },
  {
    name: 'openrouter',
    dialect: ['chat'],
    baseUrl: 'https://openrouter.ai/api/v1',
    keyVariable: 'OPENROUTER_API_KEY',
    models: ['openai/gpt-oss-120b'],
  },
  {
    name: 'cerebras',
    dialect: ['chat'],
    baseUrl: 'https://api.cerebras.ai/v1',
    keyVariable: 'CEREBRAS_API_KEY',
    models: ['gpt-oss-120b', 'llama3.1-8b'],
  },
  {
    name: 'cohere',
    dialect: ['chat'],
    baseUrl: 'https://api.cohere.ai/compatibility/v1',
    keyVariable: 'COHERE_API_KEY',
    models: ['command-a-03-2025', 'command-r7b-12-2024'],
  },
  {
    name: 'fireworks',
    dialect: ['chat'],
    baseUrl: 'https://api.fireworks.ai/inference/v1',
    keyVariable: 'FIREWORKS_API_KEY',
    models: ['accounts/fireworks/models/gpt-oss-120b', 'accounts/fireworks/models/gpt-oss-20b'],
  },
  {
    name: 'moonshot',
    dialect: ['chat'],
    baseUrl: 'https://api.moonshot.ai/v1',
    keyVariable: 'MOONSHOT_API_KEY',
    models: ['kimi-k2-0905-preview'],
  },
  {
    name: 'perplexity',
    dialect: ['chat'],
    baseUrl: 'https://api.perplexity.ai',
    keyVariable: 'PERPLEXITY_API_KEY',
    models: ['sonar-pro', 'sonar'],
  },
]

/** Programs that serve models on the user's own machine, each with its usual port. They need no key. */
export const LOCAL_SERVERS = [
  // Its list has no windows; two other endpoints of it tell them.
  { name: 'ollama', port: 11_434, owner: /./, list: '/v1/models' },
  // Its own list also tells the windows of models.
  { name: 'lm-studio', port: 1_234, owner: /./, list: '/api/v0/models' },
  { name: 'vllm', port: 8_000, owner: /vllm/i, list: '/v1/models' },
  { name: 'llama-cpp', port: 8_080, owner: /llama/i, list: '/v1/models' },
] as const

/** Preferences for everyday calls, each with the resulting strategy. */
export const PREFERENCES = ['order', 'price', 'speed'] as const
export type Preference = (typeof PREFERENCES)[number]

export const STRATEGY_FOR = {
  order: 'priority',
  price: 'cheapest',
  speed: 'fastest',
} as const satisfies Record<Preference, (typeof STRATEGIES)[number]>
