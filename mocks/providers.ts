// Every provider that has a stand-in; the first one answers a path that belongs to none. A new one is a file in
// providers/ and a line here.
import type { Provider } from './provider.ts'
import { anthropic } from './providers/anthropic.ts'
import { azure } from './providers/azure.ts'
import { deepseek } from './providers/deepseek.ts'
import { gemini } from './providers/gemini.ts'
import { groq } from './providers/groq.ts'
import { mistral } from './providers/mistral.ts'
import { ollama } from './providers/ollama.ts'
import { openai } from './providers/openai.ts'
import { openrouter } from './providers/openrouter.ts'
import { xai } from './providers/xai.ts'

export const providers: readonly Provider[] = [
  openai,
  anthropic,
  gemini,
  groq,
  openrouter,
  deepseek,
  mistral,
  xai,
  azure,
  ollama,
]
