// OpenRouter: OpenAI's dialect, with the provider and the cost of each answer added.
import { type Address, openAiDialect, type Provider } from '../provider.ts'

const address = {
  name: 'openrouter',
  origin: 'https://openrouter.ai',
  basePaths: ['/api/v1'],
} satisfies Address

/** The stand-in for OpenRouter. */
export const openrouter = { ...address, handlers: openAiDialect(address) } satisfies Provider
