// Turns a request's content into keyed digests that can be recognised but not read. Pure; the caller passes
// the key. Anyone who has the key can test guesses.
import { createHmac, hash } from 'node:crypto'
import { z } from 'zod'
import { isMachineMade, placeholderOf } from '../redaction/placeholders.ts'
import { isStructural } from '../redaction/vocabulary.ts'
import { type Conversation, conversationOf, KINDS, type Part, ROLES } from './conversation.ts'
import { createVolatileMask } from './mask.ts'

const digest = z.string().regex(/^[\da-f]{16}$/, 'is not a digest of 16 hex digits; record it again')

/** Member `said` of a recording's request. */
export const saidSchema = z.strictObject({
  key: digest.describe('Names the key of the digests, without revealing it.'),
  rules: z.literal(1).describe('Version of the rules by which a request is read and masked.'),
  parts: z
    .array(
      z.strictObject({
        role: z.enum(ROLES),
        kind: z.enum(KINDS),
        digest: digest.describe('Of the text with its volatile parts masked.'),
        exact: digest.optional().describe('Of the text as it was, if anything in it was masked.'),
        shape: digest.optional().describe("Of a result's structure."),
        text: z.string().optional().describe('The masked text, with --keep-text.'),
      }),
    )
    .describe('Texts, calls, results and files of the conversation, in order.'),
  tools: z.array(digest).describe('Name and schema of each tool that is offered, in no order.'),
  settings: z.record(z.string(), digest).describe('Each other field that can change the answer.'),
})

export type Said = z.infer<typeof saidSchema>

/** Digests of a request, and the texts needed to describe a difference. */
export interface DigestedRequest {
  readonly said: Said
  /** Masked text of each part. */
  readonly texts: readonly string[]
  /** Name of each tool, in the order of `said.tools`. */
  readonly tools: readonly string[]
  readonly parts: readonly Part[]
}

/**
 * Digests a request's body that arrived at `now`. Returns null if the body is not a JSON object. `replay` changes the
 * words of the model to those that a replay of their recording says.
 */
export type Digester = (
  body: unknown,
  now: number,
  replay?: (text: string) => string,
) => DigestedRequest | null

const hmac = (key: string, text: string): string =>
  createHmac('sha256', key).update(text).digest('hex').slice(0, 16)

/** Returns the name of a key. The name is always the same for the same key, and does not reveal the key. */
export const keyName = (key: string): string => hmac(key, 'waybill recordings: name of the key')

/**
 * Creates the digester of a key. `masks` are the user's own patterns for text that changes from run to run;
 * `folders` are the program's working folder and the user's home.
 */
export function createDigester(
  key: string,
  masks: readonly RegExp[] = [],
  folders: readonly string[] = [],
): Digester {
  const name = keyName(key)
  return (body, now, replay = (text) => text) => {
    const conversation = conversationOf(body)
    if (!conversation) return null
    const mask = createVolatileMask(now, masks, folders)
    const parts = conversation.parts.map((part) =>
      part.role === 'assistant' ? { ...part, text: replay(part.text) } : part,
    )
    const texts = parts.map(({ kind, text }) => (kind === 'image' ? text : mask(text, kind === 'result')))
    const tools = conversation.tools.map((tool) => ({
      name: tool.name,
      digest: hmac(key, JSON.stringify(['tool', tool.name, tool.definition])),
    }))
    return {
      said: {
        key: name,
        rules: 1,
        parts: parts.map(({ role, kind, text }, i) => ({
          role,
          kind,
          digest: hmac(key, `${role} ${kind} ${asReplayed(texts[i]!, kind)}`),
          ...(texts[i] !== text && { exact: hmac(key, `${role} ${kind} ${asReplayed(text, kind)}`) }),
          ...(kind === 'result' && { shape: hmac(key, shapeOf(text)) }),
        })),
        tools: tools.map((tool) => tool.digest),
        settings: settingsOf(conversation, key),
      },
      texts,
      tools: tools.map((tool) => tool.name),
      parts,
    }
  }
}

/** Words that may be ids; the digest of a file's content is none. */
const WORD = /(?<!sha256 )\b[\w-]{12,}/g

/**
 * Replaces ids by the placeholders that a replay says in their place, so that both have one digest. In a text, only
 * ids with a provider's prefix are replaced. A file, a setting or an unknown block may be named by any id.
 */
function asReplayed(text: string, kind?: Part['kind']): string {
  const isText = /^(?:text|reasoning|call|result)$/.test(kind ?? '')
  return text.replace(WORD, (word) => {
    const placeholder = isMachineMade(word) ? placeholderOf(word) : word
    return isText && /^(?:REDACTED|0)/.test(placeholder) ? word : placeholder
  })
}

/** Digests the settings. Names outside the public interface could reveal something, so they share one digest. */
function settingsOf({ settings }: Conversation, key: string): Said['settings'] {
  const known = Object.entries(settings).filter(([name]) => isStructural(name))
  const others = Object.entries(settings).filter(([name]) => !isStructural(name))
  const all = others.length > 0 ? [...known, ['others', JSON.stringify(others)] as const] : known
  return Object.fromEntries(all.map(([name, value]) => [name, hmac(key, `${name} ${asReplayed(value)}`)]))
}

/** Returns the structure of a JSON result (names and types), or `text` for any other result. */
function shapeOf(text: string): string {
  try {
    return JSON.stringify(typesOf(JSON.parse(text)))
  } catch {
    return 'text'
  }
}

function typesOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(typesOf)
  if (typeof value !== 'object' || value === null) return typeof value
  return Object.entries(value)
    .map(([name, inner]) => [name, typesOf(inner)])
    .sort(([a], [b]) => (String(a) < String(b) ? -1 : 1))
}

/**
 * Returns an id that is equal for two requests with the same content: `exact` for an exact match, `masked`
 * for a match that ignores text that changes from run to run.
 */
export function idOf({ parts, tools, settings }: Said, how: 'exact' | 'masked'): string {
  const own = parts.map((part) => [
    part.role,
    part.kind,
    how === 'exact' ? (part.exact ?? part.digest) : part.digest,
  ])
  return hash('sha256', JSON.stringify([own, [...tools].sort(), Object.entries(settings).sort()]))
}
