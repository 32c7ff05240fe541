// Groq: OpenAI's dialect below a base path of its own.
import { type Address, openAiDialect, type Provider } from '../provider.ts'

const address = { name: 'groq', origin: 'https://api.groq.com', basePaths: ['/openai/v1'] } satisfies Address

/** The stand-in for Groq. */
export const groq = { ...address, handlers: openAiDialect(address) } satisfies Provider
