// Foreign recordings become ours: read, redacted, written. Says of every exchange what became of it.
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import { hostName } from '../paths.ts'
import { placeAt } from '../places.ts'
import { providers } from '../providers.ts'
import { chunksByEvent, type Draft, draftRecording, writeRecording } from '../record.ts'
import { apiVersionOf } from '../recorder.ts'
import { scanRecordings } from '../recording.ts'
import { NOTE, UNDATED } from '../verify-head.ts'
import type { Interaction } from './interaction.ts'
import { type Foreign, readForeign } from './read.ts'

/** What became of one file. */
export interface Imported {
  readonly file: string
  readonly read: number
  readonly written: readonly Kept[]
  /** What an earlier import wrote already. */
  readonly known: readonly Kept[]
  /** Why, for the file or for each exchange that was not imported. */
  readonly refused: readonly string[]
}

/** An exchange of a file, by its number there, and the name of its recording. */
export interface Kept {
  readonly exchange: number
  readonly name: string
}

export interface ImportOptions {
  readonly out: string
  /** The date of an exchange that names none. */
  readonly today: string
  /** Whose recordings they are, where a file names no host. */
  readonly provider?: string | undefined
}

const MAX_FILE = 128 * 2 ** 20

const UNREADABLE: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'is a folder; name the files in it',
}

/** Imports files. A file that cannot be read, and an exchange that cannot be kept, is told and passed over. */
export function importRecordings(files: readonly string[], options: ImportOptions): Imported[] {
  const earlier = sourcesIn(options.out)
  const done = new Map<string, Imported>()
  return files.map((file) => {
    const written: Kept[] = []
    const known: Kept[] = []
    const refused: string[] = []
    let foreign: Foreign | null = null
    let digest = ''
    try {
      const bytes = readBounded(file)
      digest = digestOf(bytes)
      const same = done.get(digest)
      if (same) return { ...same, file, written: [], known: [...same.written, ...same.known] }
      foreign = readForeign(basename(file), bytes)
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      refused.push((UNREADABLE[code ?? ''] ?? message).replace(`${basename(file)}: `, ''))
    }
    for (const [i, interaction] of foreign?.exchanges.entries() ?? []) {
      const exchange = i + 1
      try {
        if ('refused' in interaction) throw new Error(interaction.refused)
        const source = digestOf(identityOf(interaction))
        // As often as it is there already: a session may hold the same exchange twice.
        const name = earlier.get(source)?.shift()
        if (name !== undefined) known.push({ exchange, name })
        else {
          const shape = `imported from a ${foreign!.format} file, sha256 ${digest}, exchange ${exchange}, sha256 ${source}`
          written.push({
            exchange,
            name: writeRecording(options.out, draftImport(interaction, { ...options, shape })),
          })
        }
      } catch (error) {
        refused.push(`exchange ${exchange}: ${(error as Error).message}`)
      }
    }
    const result = { file, read: foreign?.exchanges.length ?? 0, written, known, refused }
    if (foreign) done.set(digest, result)
    return result
  })
}

function readBounded(file: string): Buffer {
  const { size } = statSync(file)
  if (size > MAX_FILE)
    throw new Error(
      `has ${Math.round(size / 2 ** 20)} MiB, and at most ${MAX_FILE / 2 ** 20} are read; split it`,
    )
  return readFileSync(file)
}

/** The first half of a SHA-256: names a source without telling anything of it. */
const digestOf = (content: string | Buffer): string =>
  createHash('sha256').update(content).digest('hex').slice(0, 16)

const identityOf = ({ method, url, requestBody, status, responseBody }: Interaction): string =>
  JSON.stringify([method, url, requestBody, status, responseBody.toString('base64')])

/** The exchanges that an earlier import wrote to a folder: digest -> names, in their order. */
function sourcesIn(dir: string): Map<string, string[]> {
  const sources = new Map<string, string[]>()
  const recordings = existsSync(dir) ? scanRecordings(dir).recordings : []
  const inTurn = recordings.sort((a, b) => (a.request.order ?? 1) - (b.request.order ?? 1))
  for (const { name, shape } of inTurn) {
    const [, source] = /^imported from .*, sha256 ([\da-f]{16})$/.exec(shape) ?? []
    if (source === undefined) continue
    const names = sources.get(source) ?? []
    names.push(name)
    sources.set(source, names)
  }
  return sources
}

/** A foreign exchange as a recording, redacted. Throws when it cannot be one. */
export function draftImport(
  interaction: Interaction,
  { shape, today, provider }: { shape: string; today: string; provider?: string | undefined },
): Draft {
  const { responseHeaders, responseBody } = interaction
  const day = new Date(responseHeaders.date ?? '')
  const dated = !Number.isNaN(day.getTime())
  return draftRecording(interaction, {
    ...placeOf(interaction, provider),
    chunks: chunksByEvent(responseBody),
    date: dated ? day.toISOString().slice(0, 10) : today,
    apiVersion: apiVersionOf(interaction),
    shape,
    note: dated ? NOTE : `${NOTE} ${UNDATED}`,
    secrets: [],
  })
}

/** A provider that has a stand-in by its name; any other by its host, as replay looks for it. */
function placeOf(
  { host, url, path }: Interaction,
  named: string | undefined,
): { provider: string; basePath: string } {
  if (host === '' && named === undefined)
    throw new Error('names no host; name the provider with --provider, such as openai or api.cohere.com')
  const place = URL.canParse(url) ? placeAt(providers, new URL(url)) : null
  if (place) return { provider: place.provider.name, basePath: place.basePath }
  const stand = host === '' ? providers.find(({ name }) => name === named) : undefined
  return {
    provider: stand?.name ?? hostName(host || named!),
    basePath: stand?.basePaths.find((base) => path.startsWith(`${base}/`)) ?? '',
  }
}
