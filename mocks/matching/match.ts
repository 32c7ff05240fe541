// Finds the recording that answers a request. Pure: knows recordings and criteria, nothing of HTTP or MSW.
import type { Recording } from '../recording/format.ts'

/** Criteria by which recordings are chosen. */
export interface MatchInput {
  /** Name of the folder. */
  readonly provider: string
  readonly method: string
  /** Path below the provider's base path, without a leading slash: "chat/completions". */
  readonly endpoint: string
  /** Undefined matches a recording of any model. */
  readonly model: string | null | undefined
  readonly stream: boolean
  readonly scenario: string
}

/** Closest recording to a request without a match, and the differences. */
export interface Miss {
  readonly nearest: Recording | null
  readonly differs: readonly string[]
}

/** Fields in the order in which a reader looks for the difference: the first says most. */
const fields = ['provider', 'method', 'endpoint', 'scenario', 'stream', 'model'] as const

/**
 * Creates the matcher of one replay session. It counts the requests of each kind, so that recordings with an
 * order take turns.
 */
export function createMatcher(
  recordings: readonly Recording[],
): (asked: readonly MatchInput[]) => Recording | Miss {
  const counts = new Map<string, number>()
  return (asked) => {
    const kind = JSON.stringify(asked.map((one) => fields.map((field) => one[field])))
    const nth = (counts.get(kind) ?? 0) + 1
    counts.set(kind, nth)
    return match(recordings, asked, nth)
  }
}

/**
 * Returns the recording for the `nth` request of its kind. One that names the model goes before one for any
 * model (`model: null`); `stream: null` answers both; of those with an order the latest whose turn has come.
 * There may be several inputs, because a provider may have several folders: the first hit wins.
 */
export function match(
  recordings: readonly Recording[],
  asked: readonly MatchInput[],
  nth = 1,
): Recording | Miss {
  for (const place of asked) {
    const hits = recordings.filter((recording) => fields.every((field) => agrees(recording, place, field)))
    const named = hits.filter(({ request }) => request.model !== null)
    const hit = inTurn(named.length > 0 ? named : hits, nth)
    if (hit) return hit
  }

  const differing = recordings.flatMap((recording) =>
    asked.map((place) => ({
      recording,
      place,
      fields: fields.filter((field) => !agrees(recording, place, field)),
    })),
  )
  const [nearest] = differing.sort((a, b) => weight(a.fields) - weight(b.fields))
  if (!nearest) return { nearest: null, differs: [] }
  return {
    nearest: nearest.recording,
    differs: nearest.fields.map(
      (field) =>
        `${field} ${JSON.stringify(nearest.place[field])} (recorded: ${JSON.stringify(recorded(nearest.recording, field))})`,
    ),
  }
}

const turnOf = ({ request }: Recording): number => request.order ?? 1

/** Picks by turn: after the last one it repeats, before the first one the first is used. */
function inTurn(hits: readonly Recording[], nth: number): Recording | undefined {
  const turns = hits.map(turnOf)
  const come = turns.filter((turn) => turn <= nth)
  const due = come.length > 0 ? Math.max(...come) : Math.min(...turns)
  return hits.find((hit) => turnOf(hit) === due)
}

type Field = (typeof fields)[number]

function agrees(recording: Recording, asked: MatchInput, field: Field): boolean {
  const value = recorded(recording, field)
  if (value === null && (field === 'model' || field === 'stream')) return true
  if (field === 'model' && asked.model === undefined) return true
  return value === asked[field]
}

/** Weighs differences: one in an earlier field outweighs all later ones. */
function weight(differing: readonly Field[]): number {
  return differing.reduce((sum, field) => sum + 2 ** (fields.length - fields.indexOf(field)), 0)
}

function recorded({ provider, endpoint, request }: Recording, field: Field): string | boolean | null {
  return field === 'provider' ? provider : field === 'endpoint' ? endpoint : request[field]
}
