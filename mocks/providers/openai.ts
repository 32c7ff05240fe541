// OpenAI itself: the dialect that the others follow.
import { type Address, openAiDialect, type Provider } from '../provider.ts'

const address = { name: 'openai', origin: 'https://api.openai.com', basePaths: ['/v1'] } satisfies Address

/** The stand-in for OpenAI. */
export const openai = { ...address, handlers: openAiDialect(address) } satisfies Provider
