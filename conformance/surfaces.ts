// Every surface by its name, which of them an exchange or a provider's request belongs to, and what a target is on one.
import type { LedgerEntry } from '../mocks/ledger.ts'
import type { Exchange } from './evidence.ts'
import type { Reading, Surface, SurfaceName } from './surface.ts'
import { chat } from './surfaces/chat.ts'
import { embeddings } from './surfaces/embeddings.ts'
import { messages } from './surfaces/messages.ts'
import { responses } from './surfaces/responses.ts'
import type { Target } from './target.ts'

export const surfaces: Readonly<Record<SurfaceName, Surface>> = { chat, messages, responses, embeddings }

const all = Object.values(surfaces)
const NAMES = new Map(all.map((surface) => [surface.path.replace(/^\/v1/, ''), surface]))

/** By the end of a path, whatever stands before it; chat where it is none of the others. */
function surfaceAt(path: string): Surface {
  const bare = `/${path.split('?')[0]}`
  return [...NAMES].find(([end]) => bare.endsWith(end))?.[1] ?? chat
}

/** The surface of a call. */
export const surfaceOf = ({ request }: Pick<Exchange, 'request'>): Surface => surfaceAt(request.path)
/** The surface that a provider was asked on. */
export const dialectOf = ({ endpoint }: Pick<LedgerEntry, 'endpoint'>): Surface => surfaceAt(endpoint)

/** What the client was told. */
export const readAnswer = (exchange: Pick<Exchange, 'request' | 'body'>): Reading =>
  surfaceOf(exchange).read(exchange.body)

/** What the provider said; nothing where none was asked. */
export const readSent = (entry: Pick<LedgerEntry, 'endpoint' | 'answer'> | null | undefined): Reading =>
  entry ? dialectOf(entry).read(entry.answer.body ?? '') : chat.read('')

/** Whether what the client got had to be translated. */
export const isCrossed = (
  exchange: Pick<Exchange, 'request'>,
  entry: Pick<LedgerEntry, 'endpoint'>,
): boolean => surfaceOf(exchange) !== dialectOf(entry)

/** A target as a check on this surface sees it: with the models that can be called there. */
export const onSurface = (target: Target, name: SurfaceName): Target => ({
  ...target,
  models: (name === 'chat' ? undefined : target.surfaces[name]?.models) ?? target.models,
})
