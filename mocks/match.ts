// Which recording answers a request. Pure: knows recordings and what was asked, and nothing of HTTP or MSW.
import type { Recording } from './recording.ts'

/** What a request asks for, in the words that recordings are chosen by. */
export interface MatchInput {
  /** The name of the folder. */
  readonly provider: string
  readonly method: string
  /** The path below the provider's base path, without a slash in front: "chat/completions". */
  readonly endpoint: string
  /** Undefined: a recording of any model will do. */
  readonly model: string | null | undefined
  readonly stream: boolean
  readonly scenario: string
}

/** The recording that comes closest to a request that none answers, and in what it differs. */
export interface Miss {
  readonly nearest: Recording | null
  readonly differs: readonly string[]
}

/** The fields in the order in which a reader looks for the difference: the first tells most. */
const fields = ['provider', 'method', 'endpoint', 'scenario', 'stream', 'model'] as const

/**
 * Chooses for the requests of one replay session: it counts those of each kind, so that recordings with an order take
 * their turns.
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
 * The recording for the `nth` request of its kind. One that names the model goes before one for any model
 * (`model: null`); `stream: null` answers both ways of asking; of those with an order the latest whose turn has come.
 * A request may be asked for in several ways, as its provider may have several folders: the first that is there wins.
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

/** Past the last turn the last one goes on answering; before the first, the first does. */
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

/** A difference in an earlier field outweighs differences in all later ones. */
function weight(differing: readonly Field[]): number {
  return differing.reduce((sum, field) => sum + 2 ** (fields.length - fields.indexOf(field)), 0)
}

function recorded({ provider, endpoint, request }: Recording, field: Field): string | boolean | null {
  return field === 'provider' ? provider : field === 'endpoint' ? endpoint : request[field]
}
