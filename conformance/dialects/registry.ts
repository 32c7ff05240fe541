// Every dialect by its name; finds that of an exchange or a provider's request, and narrows a target to one
// dialect.
import type { LedgerEntry } from '../../mocks/ledger.ts'
import type { Exchange } from '../evidence/evidence.ts'
import type { Target } from '../target/schema.ts'
import { chat } from './chat.ts'
import type { Reading, Surface, SurfaceName } from './dialect.ts'
import { embeddings } from './embeddings.ts'
import { messages } from './messages.ts'
import { responses } from './responses.ts'

export const surfaces: Readonly<Record<SurfaceName, Surface>> = { chat, messages, responses, embeddings }

const all = Object.values(surfaces)
const NAMES = new Map(all.map((surface) => [surface.path.replace(/^\/v1/, ''), surface]))

/** Matches the end of a path, so that a prefix does not matter; chat by default. */
function surfaceAt(path: string): Surface {
  const bare = `/${path.split('?')[0]}`
  return [...NAMES].find(([end]) => bare.endsWith(end))?.[1] ?? chat
}

/** Returns the dialect of a call. */
export const surfaceOf = ({ request }: Pick<Exchange, 'request'>): Surface => surfaceAt(request.path)
/** Returns the dialect in which a provider was called. */
export const dialectOf = ({ endpoint }: Pick<LedgerEntry, 'endpoint'>): Surface => surfaceAt(endpoint)

/** Reads the answer that the client received. */
export const readAnswer = (exchange: Pick<Exchange, 'request' | 'body'>): Reading =>
  surfaceOf(exchange).read(exchange.body)

/** Reads the provider's answer; empty without one. */
export const readSent = (entry: Pick<LedgerEntry, 'endpoint' | 'answer'> | null | undefined): Reading =>
  entry ? dialectOf(entry).read(entry.answer.body ?? '') : chat.read('')

/** Returns true if the client's answer was translated. */
export const isCrossed = (
  exchange: Pick<Exchange, 'request'>,
  entry: Pick<LedgerEntry, 'endpoint'>,
): boolean => surfaceOf(exchange) !== dialectOf(entry)

/** Returns a target as a check of this dialect sees it: with the models that can be called there. */
export const onSurface = (target: Target, name: SurfaceName): Target => ({
  ...target,
  models: (name === 'chat' ? undefined : target.surfaces[name]?.models) ?? target.models,
})
