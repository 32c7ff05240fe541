// Foreign recordings become ours: read, redacted, written. Says of every exchange what became of it.
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { hostName } from '../paths.ts'
import { placeAt } from '../places.ts'
import { providers } from '../providers.ts'
import { chunksByEvent, type Draft, draftRecording, writeRecording } from '../record.ts'
import { apiVersionOf } from '../recorder.ts'
import type { Interaction } from './interaction.ts'
import { readForeign } from './read.ts'

/** What became of one file. `refused`: why, for each exchange that was not imported. */
export interface Imported {
  readonly file: string
  readonly read: number
  /** Names of the recordings that were written. */
  readonly written: readonly string[]
  readonly refused: readonly string[]
}

const UNREADABLE: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'is a folder; name the files in it',
}

/** Imports files into `out`. A file that cannot be read, and an exchange that cannot be kept, is told and passed over. */
export function importRecordings(files: readonly string[], out: string, today: string): Imported[] {
  return files.map((file) => {
    const written: string[] = []
    const refused: string[] = []
    let interactions: Interaction[] = []
    try {
      interactions = readForeign(basename(file), readFileSync(file, 'utf8'))
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      const reason = UNREADABLE[code ?? ''] ?? message
      refused.push(reason.replace(`${basename(file)}: `, ''))
    }
    for (const [i, interaction] of interactions.entries())
      try {
        written.push(writeRecording(out, draftImport(interaction, basename(file), today)))
      } catch (error) {
        refused.push(`exchange ${i + 1}: ${(error as Error).message}`)
      }
    return { file, read: interactions.length, written, refused }
  })
}

/** A foreign exchange as a recording, redacted. Throws when it cannot be one. */
export function draftImport(interaction: Interaction, file: string, today: string): Draft {
  const { responseHeaders, responseBody } = interaction
  const day = new Date(responseHeaders.date ?? '')
  const dated = !Number.isNaN(day.getTime())
  return draftRecording(interaction, {
    ...placeOf(interaction),
    chunks: chunksByEvent(responseBody),
    date: dated ? day.toISOString().slice(0, 10) : today,
    apiVersion: apiVersionOf(interaction),
    shape: `imported from ${file}`,
    note: `The source kept neither chunks nor pace: one chunk for each event, no waits.${dated ? '' : ' It names no date: this is the day of the import.'}`,
    secrets: [],
  })
}

/** A provider that has a stand-in by its name; any other by its host, as replay looks for it. */
function placeOf({ host, url }: Interaction): { provider: string; basePath: string } {
  const place = URL.canParse(url) ? placeAt(providers, new URL(url)) : null
  return place
    ? { provider: place.provider.name, basePath: place.basePath }
    : { provider: hostName(host), basePath: '' }
}
