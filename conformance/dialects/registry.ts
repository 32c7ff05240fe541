// All dialects by name. Finds the dialect of an exchange or a provider's request, and narrows a target to one
// dialect.
import type { LedgerEntry } from '../../mocks/ledger.ts'
import type { Exchange } from '../evidence/evidence.ts'
import type { Target } from '../target/schema.ts'
import { chat } from './chat.ts'
import type { Dialect, DialectName, Reading } from './dialect.ts'
import { embeddings, pictures } from './embeddings.ts'
import { gemini } from './gemini.ts'
import { stepwise } from './interactions.ts'
import { messages } from './messages.ts'
import { responses } from './responses.ts'

export const dialects: Readonly<Record<DialectName, Dialect>> = {
  ...{ chat, messages, responses, gemini, interactions: stepwise, embeddings, images: pictures },
}

const all = Object.values(dialects)

/** Matches the end of a path, so that prefixes are ignored; default: chat. */
function dialectAt(path: string): Dialect {
  const bare = `/${path.split('?')[0]}`
  return all.find(({ path, calls }) => calls?.test(bare) ?? bare.endsWith(path.replace(/^\/v1/, ''))) ?? chat
}

/** Returns the dialect of a call. */
export const dialectOf = ({ request }: Pick<Exchange, 'request'>): Dialect => dialectAt(request.path)
/** Returns the dialect of a request to a provider. */
export const providerDialectOf = ({ endpoint }: Pick<LedgerEntry, 'endpoint'>): Dialect => dialectAt(endpoint)

/** Reads the answer that the client received. */
export const readAnswer = (exchange: Pick<Exchange, 'request' | 'body'>): Reading =>
  dialectOf(exchange).read(exchange.body)

/** Reads the provider's answer; empty if there is none. */
export const readSent = (entry: Pick<LedgerEntry, 'endpoint' | 'answer'> | null | undefined): Reading =>
  entry ? providerDialectOf(entry).read(entry.answer.body ?? '') : chat.read('')

/** Returns true if the client's answer was translated. */
export const isCrossed = (
  exchange: Pick<Exchange, 'request'>,
  entry: Pick<LedgerEntry, 'endpoint'>,
): boolean => dialectOf(exchange) !== providerDialectOf(entry)

/** Returns a target with only the models that can be called in this dialect. */
export const inDialect = (target: Target, name: DialectName): Target => ({
  ...target,
  models: (name === 'chat' ? undefined : target.dialects[name]?.models) ?? target.models,
})
