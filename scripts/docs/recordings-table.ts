// Writes the table of recordings for recordings/README.md, with a row for each endpoint of a provider and a
// column for each kind of answer. Reads the metadata of recordings, not their bodies.
import type { RecordingHead } from '../../mocks/recording/format.ts'

const KINDS = ['plain', 'tools', 'parallel tools', 'reasoning'] as const

type Head = Pick<RecordingHead, 'provider' | 'endpoint' | 'request' | 'response' | 'origin'> & {
  readonly name: string
}

/** Returns Markdown. `*` marks synthetic answers, which have no recording. */
export function recordingsTable(recordings: readonly Head[]): string {
  const rows = new Map<string, Head[]>()
  for (const one of recordings) {
    const key = `| ${one.provider} | \`${one.endpoint}\` |`
    rows.set(key, [...(rows.get(key) ?? []), one])
  }
  return [
    `| provider | endpoint | ${KINDS.join(' | ')} | errors |`,
    `|${'---|'.repeat(KINDS.length + 3)}`,
    ...[...rows].map(
      ([key, heads]) => `${key} ${[...KINDS.map((kind) => ways(heads, kind)), errors(heads)].join(' | ')} |`,
    ),
  ].join('\n')
}

/** Returns Markdown with the number of recordings by origin. */
export function originsSentence(recordings: readonly Pick<Head, 'origin'>[]): string {
  const of = (origin: Head['origin']) => recordings.filter((one) => one.origin === origin).length
  return [
    `**${of('recorded') || 'None'} of these ${recordings.length} recordings ${of('recorded') === 1 ? 'was' : 'were'} taken from a live provider.**`,
    `${of('authored')} are \`authored\`: written by hand to the shape of real traffic. ${of('synthetic')} are \`synthetic\`: errors that were never recorded.`,
  ].join(' ')
}

function kindOf({ name, request, response }: Head): (typeof KINDS)[number] | 'error' {
  if (response.status >= 400) return 'error'
  if (name.includes('reasoning')) return 'reasoning'
  if (request.scenario === 'tools') return 'tools'
  return request.scenario === 'tools-parallel' ? 'parallel tools' : 'plain'
}

/** Returns the forms in which an answer of this kind is recorded: whole, stream. */
function ways(heads: readonly Head[], kind: (typeof KINDS)[number]): string {
  const streams = heads.filter((head) => kindOf(head) === kind).map(({ request }) => request.stream)
  const found = [streams.some((stream) => stream !== true) && 'whole', streams.includes(true) && 'stream']
  return found.filter(Boolean).join(', ') || '–'
}

const errors = (heads: readonly Head[]): string =>
  heads
    .filter((head) => kindOf(head) === 'error')
    .map(({ request, origin }) => `${request.scenario}${origin === 'synthetic' ? '*' : ''}`)
    .sort()
    .join(', ') || '–'
