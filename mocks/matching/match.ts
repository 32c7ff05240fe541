// Finds the recording that answers a request. Pure: works on recordings and criteria, independent of HTTP and
// MSW.
import type { Recording } from '../recording/format.ts'
import {
  distanceTo,
  findByCondition,
  findSaid,
  findSimilar,
  hasSaid,
  haveOneAnswer,
  NO_HITS,
  wordDifferences,
} from './content.ts'
import type { DigestedRequest } from './digest.ts'
import type { Spoken } from './predicate.ts'

/** Criteria by which recordings are chosen. */
export interface MatchInput {
  /** Name of the provider's folder. */
  readonly provider: string
  readonly method: string
  /** Path below the provider's base path, without a leading slash: "chat/completions". */
  readonly endpoint: string
  /** The same path with the ids that it names; absent if only the kind of endpoint is compared. */
  readonly path?: string
  /** Undefined matches a recording of any model. */
  readonly model: string | null | undefined
  readonly stream: boolean
  readonly scenario: string
}

/** Parts of a request that determine the choice of its recording. */
export interface Asked {
  /** Criteria by folder: a provider may have several folders, and the first match wins. */
  readonly places: readonly MatchInput[]
  /** Content of the request; null or absent if it is not compared. */
  readonly said?: DigestedRequest | null
  /** Reads the content for recordings with conditions. */
  readonly spoken?: () => Spoken
  /** True if a recording of a similar request can be used as the answer. */
  readonly similar?: boolean
}

/** Closest recording to a request without a match, and the differences. */
export interface Miss {
  readonly nearest: Recording | null
  readonly differs: readonly string[]
  /** Names of recordings that are equally near and have different answers. */
  readonly tied?: readonly string[]
}

/** Fields in order of importance to a person who looks for the difference. */
const fields = ['provider', 'method', 'endpoint', 'scenario', 'stream', 'model'] as const

/** Counts a request of a group, and returns the group's requests so far. */
type Count = (group: string) => number

/** Creates the matcher of one replay session. It counts the requests, so that recordings take turns. */
export function createMatcher(recordings: readonly Recording[]): (asked: Asked) => Recording | Miss {
  const counts = new Map<string, number>()
  const count: Count = (group) => {
    const nth = (counts.get(group) ?? 0) + 1
    counts.set(group, nth)
    return nth
  }
  return (asked) => match(recordings, asked, count)
}

/**
 * Returns the recording for a request. Tries in order: the same content, conditions that hold, similar
 * content if the caller allows it, and recordings without digests and conditions. Recordings of the same
 * content take turns. A recording that names the model takes precedence over a recording for any model
 * (`model: null`). `stream: null` matches streamed and whole answers.
 */
export function match(
  recordings: readonly Recording[],
  asked: Asked,
  count: Count = () => 1,
): Recording | Miss {
  const { places, said = null, spoken, similar } = asked
  for (const place of places) {
    const hits = recordings.filter((recording) => fields.every((field) => agrees(recording, place, field)))
    const withSaid = hits.filter(hasSaid)
    const choices = [
      () => (said ? findSaid(withSaid, said) : NO_HITS),
      () => (spoken ? findByCondition(hits, spoken) : NO_HITS),
      () => (said && similar ? findSimilar(withSaid, said) : NO_HITS),
    ]
    for (const choose of choices) {
      const found = choose()
      if ('tied' in found) return tieOf(found.tied)
      const named = found.hits.filter(({ request }) => request.model !== null)
      const taking = (named.length > 0 ? named : found.hits).toSorted((a, b) => turnOf(a) - turnOf(b))
      const turn = taking.length > 1 ? count(JSON.stringify(taking.map(({ name }) => name))) : 1
      const hit = taking[Math.min(turn, taking.length) - 1]
      if (!hit) continue
      const rivals = taking.filter((one) => turnOf(one) === turnOf(hit))
      return haveOneAnswer(rivals) ? hit : tieOf(rivals)
    }
    const all = hits.filter(({ request }) => !request.said && !request.when)
    // Two files have one endpoint, and each its own path.
    const own = all.filter(({ request }) => place.path && request.path.endsWith(`/${place.path}`))
    const plain = own.length > 0 ? own : all
    const named = plain.filter(({ request }) => request.model !== null)
    const hit = inTurn(named.length > 0 ? named : plain, plain.length < all.length, () =>
      count(
        JSON.stringify([
          places.map((one) => fields.map((field) => one[field])),
          own.length > 0 && place.path,
        ]),
      ),
    )
    if (hit) return hit
  }
  return missed(recordings, places, said)
}

const tieOf = (tied: readonly Recording[]): Miss => ({
  nearest: null,
  differs: [],
  tied: tied.map(({ name }) => name),
})

/** Finds the nearest recording: first by the fields, then by the content. */
function missed(
  recordings: readonly Recording[],
  places: readonly MatchInput[],
  said: DigestedRequest | null,
): Miss {
  const differing = recordings.flatMap((recording) =>
    places.map((place) => ({
      recording,
      place,
      fields: fields.filter((field) => !agrees(recording, place, field)),
      distance: said && hasSaid(recording) ? distanceTo(recording, said.said) : 0,
    })),
  )
  const [nearest] = differing.sort((a, b) => weight(a.fields) - weight(b.fields) || a.distance - b.distance)
  if (!nearest) return { nearest: null, differs: [] }
  const { recording, place } = nearest
  const words = nearest.fields.map(
    (field) =>
      `${field} ${JSON.stringify(place[field])} (recorded: ${JSON.stringify(recorded(recording, field))})`,
  )
  return {
    nearest: recording,
    differs:
      words.length > 0 || !hasSaid(recording)
        ? words
        : said
          ? wordDifferences(recording, said)
          : ['its body, which is no JSON object'],
  }
}

const turnOf = ({ request }: Recording): number => request.order ?? 1

/**
 * Picks the recording of this turn: the first recording before the start, and the last recording after the end. If a path
 * has a part of the recordings, it counts without the turns of the others.
 */
function inTurn(hits: readonly Recording[], isPart: boolean, count: () => number): Recording | undefined {
  if (hits.length === 0) return undefined
  const nth = count()
  const turns = [...new Set(hits.map(turnOf))].sort((a, b) => a - b)
  const come = isPart ? Math.min(nth, turns.length) - 1 : turns.findLastIndex((turn) => turn <= nth)
  return hits.find((hit) => turnOf(hit) === turns[Math.max(0, come)])
}

type Field = (typeof fields)[number]

function agrees(recording: Recording, asked: MatchInput, field: Field): boolean {
  const value = recorded(recording, field)
  if (value === null && (field === 'model' || field === 'stream')) return true
  if (field === 'model' && asked.model === undefined) return true
  return value === asked[field]
}

/** Weighs differences: a difference in an earlier field outweighs all differences in later fields. */
function weight(differing: readonly Field[]): number {
  return differing.reduce((sum, field) => sum + 2 ** (fields.length - fields.indexOf(field)), 0)
}

function recorded({ provider, endpoint, request }: Recording, field: Field): string | boolean | null {
  return field === 'provider' ? provider : field === 'endpoint' ? endpoint : request[field]
}
