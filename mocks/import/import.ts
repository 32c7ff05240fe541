// Imports foreign recordings: reads, redacts and writes them. Reports the result of every exchange.
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { basename, dirname, join, normalize, resolve, sep } from 'node:path'
import { readBounded, readInside } from '../../src/shared/bounded.ts'
import { placeAt, providers } from '../providers/registry.ts'
import { MAX_FILE_BYTES, scanRecordings } from '../recording/format.ts'
import {
  type Blanked,
  chunksByEvent,
  type Draft,
  draftRecording,
  type Keep,
  writeRecording,
} from '../recording/make.ts'
import { apiVersionOf } from '../recording/recorder.ts'
import { NOTE, UNDATED } from '../recording/verify.ts'
import { hostName } from '../redaction/paths.ts'
import { type Interaction, MAX_IMPORTED_BYTES } from './interaction.ts'
import { type Foreign, readForeign } from './read.ts'

/** Result of one file. */
export interface Imported {
  readonly file: string
  readonly read: number
  readonly written: readonly ImportedExchange[]
  /** Recordings written by an earlier import. */
  readonly known: readonly ImportedExchange[]
  /** Reason, for the file or for each exchange that was not imported. */
  readonly refused: readonly string[]
}

/** Number of an exchange in its file, the name of its recording, and what was blanked in its kept answer. */
interface ImportedExchange {
  readonly exchange: number
  readonly name: string
  readonly blanked?: Blanked
}

interface ImportOptions {
  readonly out: string
  /** Date for an exchange without a date. */
  readonly today: string
  /** Provider for a file that does not name a host. */
  readonly provider?: string | undefined
  /** Setting that stores answers in full and requests as digests. If absent, the text of both is blanked. */
  readonly keep?: Omit<Keep, 'at'> | undefined
  /** Texts that no recording may contain, in addition to the exchange's own secrets. */
  readonly secrets?: readonly string[] | undefined
  /** Called before each exchange, with its number and the number of exchanges in the file. */
  readonly onExchange?: (file: string, exchange: number, of: number) => void
}

const UNREADABLE: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'is a folder; name the files in it, or the folder alone',
}

/** Imports files. Reports and skips files that cannot be read, and exchanges that cannot be stored. */
export function importRecordings(files: readonly string[], options: ImportOptions): Imported[] {
  const earlier = sourcesIn(options.out)
  const done = new Map<string, Imported>()
  return files.map((file) => {
    const written: ImportedExchange[] = []
    const known: ImportedExchange[] = []
    const refused: string[] = []
    let foreign: Foreign | null = null
    let digest = ''
    try {
      const bytes = readBounded(file, MAX_FILE_BYTES)
      digest = digestOf(bytes)
      const same = done.get(digest)
      if (same) return { ...same, file, written: [], known: [...same.written, ...same.known] }
      foreign = readForeign(basename(file), bytes, (name) => bodyBeside(file, name))
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      refused.push((UNREADABLE[code ?? ''] ?? message).replace(`${basename(file)}: `, ''))
    }
    for (const [i, interaction] of foreign?.exchanges.entries() ?? []) {
      const exchange = i + 1
      options.onExchange?.(file, exchange, foreign!.exchanges.length)
      try {
        if ('refused' in interaction) throw new Error(interaction.refused)
        const source = digestOf(identityOf(interaction))
        // A session may contain the same exchange several times, and each occurrence counts.
        const name = earlier.get(source)?.shift()
        if (name !== undefined) known.push({ exchange, name })
        else {
          const shape = `imported from a ${foreign!.format} file, sha256 ${digest}, exchange ${exchange}, sha256 ${source}`
          const draft = draftImport(interaction, { ...options, shape })
          const { blanked } = draft.head.redaction ?? {}
          written.push({ exchange, name: writeRecording(options.out, draft), ...(blanked && { blanked }) })
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

/** Reads a body that a mapping of WireMock names: in `__files`, beside the folder `mappings` or in the mapping's own. */
function bodyBeside(file: string, name: string): Buffer {
  const folders = resolve(dirname(file)).split(sep)
  const mappings = folders.lastIndexOf('mappings')
  const root = mappings < 0 ? folders : folders.slice(0, mappings)
  try {
    if (normalize(name).startsWith('..')) throw new Error('lies outside of __files')
    return readInside(join(root.join(sep), '__files'), name, MAX_IMPORTED_BYTES)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new Error(
      `its body, the file __files/${name}, cannot be read: ${UNREADABLE[code ?? ''] ?? message}`,
    )
  }
}

/** Returns the first half of a SHA-256: identifies a source without revealing it. */
const digestOf = (content: string | Buffer): string =>
  createHash('sha256').update(content).digest('hex').slice(0, 16)

const identityOf = ({ method, url, requestBody, status, responseBody }: Interaction): string =>
  JSON.stringify([method, url, requestBody, status, responseBody.toString('base64')])

/** Returns the recordings that an earlier import wrote to a folder: digest -> names, in order. */
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

/** Converts a foreign exchange to a redacted recording. Throws if that is impossible. */
export function draftImport(
  interaction: Interaction,
  {
    shape,
    today,
    provider,
    keep,
    secrets = [],
  }: Pick<ImportOptions, 'today' | 'provider' | 'keep' | 'secrets'> & { shape: string },
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
    secrets,
    keep: keep && { ...keep, at: dated ? day.getTime() : Date.parse(today) },
  })
}

/** Returns the place where replay looks: the provider's name if it has a mock, otherwise its host. */
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
