// Every provider that has a stand-in; the first one answers a path that belongs to none. A new one is a file in
// providers/ and a line here.
import type { Provider } from './provider.ts'
import { deepseek } from './providers/deepseek.ts'
import { groq } from './providers/groq.ts'
import { openai } from './providers/openai.ts'
import { openrouter } from './providers/openrouter.ts'

export const providers: readonly Provider[] = [openai, groq, openrouter, deepseek]
