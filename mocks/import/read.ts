// Picks the reader of a foreign recording by content, not by file name, and reads each exchange separately.
// Rejects a broken exchange with an error that names it, and a truncated file as a whole.
import { ZodError } from 'zod'
import { decodeText } from './decode.ts'
import { goVcr } from './go-vcr.ts'
import { har } from './har.ts'
import { httpmock } from './httpmock.ts'
import type { ImportFormat, Interaction, Unreadable } from './interaction.ts'
import { rubyVcr } from './ruby-vcr.ts'
import { vcrpy } from './vcrpy.ts'
import { yamlDocuments, yamlList } from './yaml.ts'

export interface Foreign {
  readonly format: string
  readonly exchanges: readonly (Interaction | Unreadable)[]
}

/** Throws if no reader knows the format or the file is truncated; the message begins with the file's name. */
export function readForeign(file: string, content: string | Buffer): Foreign {
  try {
    const text = typeof content === 'string' ? content.replace(/^\ufeff/, '') : decodeText(content)
    const { format, items } = contentOf(text)
    const missing = /^\s*\{/.test(text) ? null : format.cut(text, items.at(-1))
    if (missing) throw new Error(`is truncated: ${missing}; record it again or use a complete copy`)
    return { format: format.name, exchanges: items.map((item) => exchangeOf(format, item)) }
  } catch (cause) {
    throw new Error(`${file}: ${reasonOf(cause)}`, { cause })
  }
}

/** Returns the exchanges of a file that must be complete. Throws if one cannot be read. */
export function exchangesOf(file: string, content: string | Buffer): Interaction[] {
  return readForeign(file, content).exchanges.map((one, i) => {
    if ('refused' in one) throw new Error(`${file}: exchange ${i + 1}: ${one.refused}`)
    return one
  })
}

interface Content {
  readonly format: ImportFormat
  readonly items: readonly unknown[]
}

function contentOf(text: string): Content {
  if (/^\s*\{/.test(text)) return jsonContent(text)
  if (/^http_interactions:/m.test(text))
    return { format: rubyVcr, items: yamlList(text, 'http_interactions') }
  if (/^interactions:/m.test(text)) {
    // Both formats use the same name for the list; vcrpy stores addresses under `uri`, go-vcr under `url`.
    const format = /^[ \t]+(?:- )?uri:/m.test(text) ? vcrpy : goVcr
    return { format, items: yamlList(text, 'interactions') }
  }
  if (/^when:/m.test(text) && /^then:/m.test(text)) return { format: httpmock, items: yamlDocuments(text) }
  throw new Error('no known recording format (vcrpy, Ruby VCR, go-vcr, HAR, httpmock)')
}

interface Json {
  readonly log?: { readonly entries?: unknown }
  readonly http_interactions?: unknown
  readonly interactions?: unknown
}

function jsonContent(text: string): Content {
  const json = parsed(text)
  const lists: [ImportFormat, unknown, string][] = [
    [har, json.log?.entries, 'log.entries'],
    [rubyVcr, json.http_interactions, 'http_interactions'],
    [vcrpy, json.interactions, 'interactions'],
  ]
  for (const [format, items] of lists) if (Array.isArray(items)) return { format, items }
  if ('log' in json) throw new Error('log.entries is not a list; export it again')
  throw new Error('no known recording format (vcrpy, Ruby VCR, go-vcr, HAR, httpmock)')
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text)
  } catch {
    // The parser's message quotes several lines of the file.
    throw new Error('is not JSON, or is truncated; export it again')
  }
}

function exchangeOf(format: ImportFormat, item: unknown): Interaction | Unreadable {
  if (typeof item === 'object' && item !== null && 'refused' in item) return item as Unreadable
  try {
    const read = format.read(item)
    return { ...read, method: read.method.toUpperCase() }
  } catch (error) {
    return { refused: reasonOf(error) }
  }
}

/** Returns the reason in one line; for an invalid format, the first violation only. */
function reasonOf(cause: unknown): string {
  if (!(cause instanceof ZodError))
    return (cause as Error).message.replace(/\s*\n[\s\S]*$/, '').replace(/:$/, '')
  const [{ path, message }] = cause.issues as [ZodError['issues'][0]]
  return `${path.join('.') || 'the whole'}: ${message}`
}
