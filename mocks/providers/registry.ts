// All mock providers; the first one answers paths that belong to no provider. A new provider is a file in
// providers/ and a line here.
import type { MockProvider } from '../provider.ts'
import { anthropic } from './anthropic.ts'
import { azure } from './azure.ts'
import { bedrock } from './bedrock.ts'
import { gemini } from './gemini.ts'
import { mistral } from './mistral.ts'
import { openai } from './openai.ts'
import { openrouter } from './openrouter.ts'
import { cohere, deepseek, groq, jina, ollama, xai } from './others.ts'
import { vertex } from './vertex.ts'

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
