// DeepSeek: OpenAI's dialect, with and without `/v1` in the path.
import { type Address, openAiDialect, type Provider } from '../provider.ts'

const address = {
  name: 'deepseek',
  origin: 'https://api.deepseek.com',
  basePaths: ['/v1', ''],
} satisfies Address

/** The stand-in for DeepSeek. */
export const deepseek = { ...address, handlers: openAiDialect(address) } satisfies Provider
