// Refusals of providers that are not the client's fault. Reads refusals.yaml, and finds the row for an answer by its
// status, its codes and its sentences. Independent of particular providers and dialects.
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { z } from 'zod'
import { packageFile } from '../shared/package-root.ts'

const row = z.strictObject({
  /** Who was seen to send it. */
  provider: z.string().min(1),
  /**
   * `model`: unknown, retired, not offered or not served. `content`: the client's own fault, in spite of a status that
   * stands for the account, or for a fault of the server. `key`: the sentence is not shown, because it may contain a part of
   * the key. Every other cause concerns the account or its place.
   */
  cause: z.enum(['credit', 'limit', 'account', 'key', 'region', 'model', 'content']),
  status: z.array(z.int().min(400).max(599)).min(1),
  /** Values of `code`, `type`, `status` or `reason`. */
  codes: z.array(z.string().min(1)).default([]),
  /** Beginning of the sentence, in any case. */
  says: z.string().min(3).optional(),
  source: z.url(),
  /** Day of the report, if known. */
  date: z.iso.date().optional(),
  sent: z.record(z.string(), z.unknown()),
})
const file = z.strictObject({
  refusals: z.array(row.refine(({ codes, says }) => codes.length > 0 || says !== undefined)),
})

type RefusalRow = z.output<typeof row>

/** A provider's answer that refuses a request. */
interface Refusing {
  /** Null if the answer names none. */
  readonly status: number | null
  /** The parsed body, or the sentence alone. */
  readonly body: unknown
}

/** A recognized refusal. */
export interface KnownRefusal {
  readonly cause: RefusalRow['cause']
  /** The provider's sentence. */
  readonly sentence: string
  readonly code: string | null
}

interface Rule extends RefusalRow {
  readonly pattern: RegExp | null
}

let rules: readonly Rule[] | undefined

/** Returns all rows. */
export function refusalRows(): readonly Rule[] {
  rules ??= file
    .parse(parse(readFileSync(packageFile('src/models/refusals.yaml'), 'utf8')))
    .refusals.map((each) => ({ ...each, pattern: each.says === undefined ? null : patternOf(each.says) }))
  return rules
}

/**
 * Words before the sentence, of a program that passes it on. They contain no quotation marks, so that a quotation of
 * the client's own text is no refusal of the account.
 */
const WRAPPER = String.raw`^(?:[^"'\x60]{0,120}?\b(?:error|exception|errors|provider)\b[^"'\x60]{0,40}?(?::| -) ?)?`

const patternOf = (says: string): RegExp =>
  new RegExp(WRAPPER + says.replace(/[.+?^${}()|[\]\\]/g, String.raw`\$&`).replaceAll('*', '.{0,200}?'), 'iu')

/** Returns the refusal; null if it may be the client's fault. */
export function refusalIn({ status, body }: Refusing): KnownRefusal | null {
  const { codes, sentences } = wordsIn(body)
  const found = refusalRows().find(
    (rule) =>
      (status === null || rule.status.includes(status)) &&
      (rule.codes.some((each) => codes.includes(each)) || sentences.some((each) => rule.pattern?.test(each))),
  )
  if (!found) return null
  const said = sentences.find((each) => found.pattern?.test(each)) ?? sentences[0] ?? ''
  return {
    cause: found.cause,
    sentence: said,
    code: found.codes.find((each) => codes.includes(each)) ?? codes[0] ?? null,
  }
}

const CODES = ['code', 'type', 'status', 'reason']
const SENTENCES = ['message', 'error', 'detail', 'msg', 'raw']
/** Members with further members of the same kinds. */
const INNER = ['error', 'errors', 'detail', 'details', 'metadata', 'raw', 'message']

const MAX_DEPTH = 8
const MAX_WORDS = 64
/** Maximum characters of a sentence that are searched. */
const MAX_SENTENCE_LENGTH = 8_192

interface Words {
  readonly codes: string[]
  readonly sentences: string[]
}

/** Returns the codes and the sentences of an error, in the order in which they are found. */
function wordsIn(body: unknown, words: Words = { codes: [], sentences: [] }, depth = 0): Words {
  if (depth > MAX_DEPTH || words.sentences.length > MAX_WORDS || words.codes.length > MAX_WORDS) return words
  if (typeof body === 'string') {
    words.sentences.push(body.slice(0, MAX_SENTENCE_LENGTH))
    const inner = jsonInside(body)
    if (inner !== undefined) wordsIn(inner, words, depth + 1)
  } else if (Array.isArray(body)) {
    for (const each of body.slice(0, MAX_WORDS)) if (isObject(each)) wordsIn(each, words, depth + 1)
  } else if (isObject(body)) {
    for (const name of CODES) {
      const value = body[name]
      if (typeof value === 'string' || typeof value === 'number') words.codes.push(String(value))
    }
    for (const name of new Set([...SENTENCES, ...INNER])) {
      const value = body[name]
      if (typeof value === 'string' ? SENTENCES.includes(name) : INNER.includes(name))
        wordsIn(value, words, depth + 1)
    }
  }
  return words
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns the JSON that begins in a text, as when a gateway passes on an error; undefined if there is none. */
function jsonInside(text: string): unknown {
  const start = text.slice(0, 200).indexOf('{')
  if (start < 0 || text.length > MAX_SENTENCE_LENGTH) return undefined
  try {
    return JSON.parse(text.slice(start, text.lastIndexOf('}') + 1))
  } catch {
    return undefined
  }
}
