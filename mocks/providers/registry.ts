// All mock providers; the first one answers paths that belong to no provider. A new provider is a file in
// providers/ and a line here.
import type { MockProvider } from '../provider.ts'
import { anthropic } from './anthropic.ts'
import { azure } from './azure.ts'
import { bedrock } from './bedrock.ts'
import { cohere } from './cohere.ts'
import { deepseek } from './deepseek.ts'
import { gemini } from './gemini.ts'
import { groq } from './groq.ts'
import { jina } from './jina.ts'
import { mistral } from './mistral.ts'
import { ollama } from './ollama.ts'
import { openai } from './openai.ts'
import { openrouter } from './openrouter.ts'
import { vertex } from './vertex.ts'
import { xai } from './xai.ts'

export const providers: readonly MockProvider[] = [
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
  bedrock,
  vertex,
  cohere,
  jina,
]
