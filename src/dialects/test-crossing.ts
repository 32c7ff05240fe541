// Translations without sockets, for tests of any pair of dialects. Translates a request, a whole answer or a
// stream, and returns the result as bytes and as blocks.
import assert from 'node:assert/strict'
import type { Tokens } from '../core/call.ts'
import { Losses } from '../core/losses.ts'
import { EventReader } from '../providers/event-reader.ts'
import { parseExact } from '../shared/exact-json.ts'
import { AnswerParts } from './answer-parts.ts'
import type { AnswerBlocks, Conversation, Peer } from './blocks.ts'
import type { StreamReader, Translation } from './dialect.ts'
import type { Json } from './json.ts'
import { DIALECTS } from './registry.ts'
import { PLAIN_REQUESTS } from './test-loss-cases.ts'
import { isTranslatable, type Translatable, translating } from './translate.ts'

const dialects: Record<string, unknown> = DIALECTS

export function dialectOf(name: string): Translatable {
  const dialect = dialects[name] as (typeof DIALECTS)['chat']
  assert.ok(isTranslatable(dialect), `${name} has no blocks`)
  return dialect
}

/** Names of all dialects with a translation. */
const TRANSLATED = Object.keys(DIALECTS).filter((name) =>
  isTranslatable((dialects as typeof DIALECTS)[name as 'chat']),
)

/** All pairs of a client's dialect and a different provider's dialect. */
export const PAIRS = TRANSLATED.flatMap((from) =>
  TRANSLATED.flatMap((to) => (from === to ? [] : [[from, to] as const])),
)

const NOWHERE = { basePath: '', key: null }
const OWN_FAMILY = 'own'

/** Returns the translation of one attempt after its request. */
export function crossed(
  client: string,
  provider: string,
  {
    request = {},
    stream = false,
    forwarded = [] as readonly string[],
    wantsUsage = true,
    family = OWN_FAMILY,
  } = {},
): { translation: Translation; sent: Json } {
  const upstream = translating(dialectOf(client), dialectOf(provider), {
    family,
    host: 'localhost',
    factsOf: () => ({}),
  })
  const translation = upstream.translation!()
  const text = JSON.stringify({ ...PLAIN_REQUESTS[client], ...request })
  const { body } = translation.request(
    { model: 'm', stream, text, wantsUsage, forwarded, query: '' },
    'm',
    NOWHERE,
  )
  return { translation, sent: parseExact(body) as Json }
}

export const peer = (family = OWN_FAMILY): Peer => ({
  family,
  host: 'localhost',
  model: 'm',
  facts: {},
  returnsReasoning: true,
})

/** Returns a client's request as blocks. */
export const asBlocks = (dialect: string, json: Json): Conversation =>
  dialectOf(dialect).blocks.parseRequest(json, { forwarded: [] }, new Losses())

export interface Read extends AnswerBlocks {
  readonly tokens: Tokens | null
  readonly errors: readonly string[]
  readonly done: boolean
}

/** Returns the content of a whole answer. */
export function readAnswer(dialect: string, text: string, family = OWN_FAMILY): Read {
  const parts = new AnswerParts(peer(family), new Losses())
  const { tokens, error } = dialectOf(dialect).upstream.readAnswer(text, parts)
  return { ...parts.answer(), tokens, errors: error ? [error.message] : [], done: true }
}

/** Reads a stream in chunks of `size` and returns the parsed parts. */
export function partsOf(reader: StreamReader, bytes: Buffer, size = bytes.length || 1) {
  const events = new EventReader(reader)
  const parts = []
  for (let at = 0; at < bytes.length; at += size)
    parts.push(...events.push(Buffer.from(bytes.subarray(at, at + size))))
  parts.push(...events.rest())
  return parts
}

/** Returns the content of a stream. */
export function readStream(dialect: string, bytes: Buffer, family = OWN_FAMILY): Read {
  const parts = new AnswerParts(peer(family), new Losses())
  const parsed = partsOf(dialectOf(dialect).upstream.openStream(parts), bytes).flatMap(
    (part) => part.parsed ?? [],
  )
  return {
    ...parts.answer(),
    tokens: parsed.reduce<Tokens | null>((last, { tokens }) => tokens ?? last, null),
    errors: parsed.flatMap(({ error }) => (error ? [error.message] : [])),
    done: parsed.some(({ done, complete }) => done || complete),
  }
}

/** Translates a provider's stream for a client of another dialect. */
export function crossStream(
  client: string,
  provider: string,
  bytes: Buffer,
  {
    size,
    wantsUsage = true,
    family = OWN_FAMILY,
  }: { size?: number; wantsUsage?: boolean; family?: string } = {},
) {
  const { translation } = crossed(client, provider, { stream: true, wantsUsage, family })
  const parts = partsOf(translation.openStream(), bytes, size)
  const done = parts.findIndex(({ parsed }) => parsed?.done)
  const relayed = done < 0 ? parts : parts.slice(0, done + 1)
  return {
    bytes: Buffer.concat(relayed.map(({ bytes, parsed }) => (parsed?.error ? Buffer.alloc(0) : bytes))),
    errors: relayed.flatMap(({ parsed }) => (parsed?.error ? [parsed.error.message] : [])),
    losses: translation.losses,
  }
}

/** Translates a provider's whole answer for a client of another dialect. */
export function crossAnswer(client: string, provider: string, text: string, family = OWN_FAMILY) {
  const { translation } = crossed(client, provider, { family })
  const parsed = translation.readAnswer(text)
  return { text: parsed.sent?.toString('utf8') ?? '', error: parsed.error, losses: translation.losses }
}
