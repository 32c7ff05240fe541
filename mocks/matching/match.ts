// Finds the recording that answers a request, by criteria and by the digests of its content. Pure: works on recordings,
// independent of HTTP and MSW.

import { hash } from 'node:crypto'
import type { Recording } from '../recording/format.ts'
import { canonical, holds, type Spoken } from './conversation.ts'
import { type DigestedRequest, idOf, type Said } from './digest.ts'
import { suspectIn } from './mask.ts'

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

/** Recording with digests of its request. */
type SaidRecording = Recording & { readonly request: { readonly said: Said } }

const hasSaid = (recording: Recording): recording is SaidRecording => recording.request.said !== undefined

/**
 * Recordings that match. Those in `hits` take turns. Those in `tied` have different contents, so none of them
 * answers.
 */
type ContentHits = { readonly hits: readonly Recording[] } | { readonly tied: readonly Recording[] }

const NO_HITS: ContentHits = { hits: [] }

const knownIds = new WeakMap<Said, { readonly exact: string; readonly masked: string }>()

/** Returns both ids of a request's content, computed once. */
function idsOf(said: Said): { readonly exact: string; readonly masked: string } {
  let known = knownIds.get(said)
  if (!known) {
    known = { exact: idOf(said, 'exact'), masked: idOf(said, 'masked') }
    knownIds.set(said, known)
  }
  return known
}

/**
 * Finds the recordings of a request's content: exact matches, otherwise matches that differ only in volatile
 * parts.
 */
function findSaid(candidates: readonly SaidRecording[], { said }: DigestedRequest): ContentHits {
  const { exact, masked } = idsOf(said)
  const letter = candidates.filter(({ request }) => idsOf(request.said).exact === exact)
  if (letter.length > 0) return { hits: letter }
  const equal = candidates.filter(({ request }) => idsOf(request.said).masked === masked)
  return oneOf(equal, ({ request }) => idsOf(request.said).exact)
}

/** Finds the recordings with the same last message and the fewest differences before it. */
function findSimilar(candidates: readonly SaidRecording[], { said }: DigestedRequest): ContentHits {
  const near = candidates
    .filter(({ request }) => endsAlike(request.said, said))
    .map((recording) => ({ recording, distance: distanceTo(recording, said) }))
  const least = Math.min(...near.map(({ distance }) => distance))
  const nearest = near.filter(({ distance }) => distance === least)
  return oneOf(
    nearest.map(({ recording }) => recording),
    ({ request }) => idsOf(request.said).exact,
  )
}

/** Finds the recordings with conditions that hold. */
function findByCondition(candidates: readonly Recording[], spoken: () => Spoken): ContentHits {
  const conditional = candidates.filter(({ request }) => request.when)
  if (conditional.length === 0) return NO_HITS
  const read = spoken()
  return oneOf(
    conditional.filter(({ request }) => holds(request.when!, read)),
    ({ request }) => canonical(request.when),
  )
}

/**
 * Returns recordings of the same content as hits. Recordings of different contents are tied, unless all of
 * their answers are the same.
 */
function oneOf<Kind extends Recording>(
  found: readonly Kind[],
  thingOf: (recording: Kind) => string,
): ContentHits {
  if (new Set(found.map(thingOf)).size <= 1) return { hits: found }
  return haveOneAnswer(found) ? { hits: found.slice(0, 1) } : { tied: found }
}

/** Returns true if all these recordings have the same answer. */
function haveOneAnswer(found: readonly Recording[]): boolean {
  if (found.length <= 1) return true
  const answers = found.map(({ response, bytes }) => hash('sha256', bytes) + response.status)
  return new Set(answers).size === 1
}

/**
 * Returns true if the last message is the same: texts must have the same content, and results at least the
 * same structure.
 */
function endsAlike(recorded: Said, said: Said): boolean {
  const [a, b] = [recorded.parts.at(-1), said.parts.at(-1)]
  if (a === undefined || b === undefined || a.role !== b.role || a.kind !== b.kind) return false
  return a.digest === b.digest || (a.shape !== undefined && a.shape === b.shape)
}

/** Counts the differences between a recording and a request's content. */
function distanceTo({ request }: SaidRecording, said: Said): number {
  const { parts, tools, settings } = differencesOf(request.said, said)
  return parts.length + tools.length + settings.length
}

const notIn = (some: readonly string[], others: readonly string[]): string[] =>
  some.filter((one) => !others.includes(one))

interface Differences {
  /** Returns the indexes of parts that differ or exist on one side only. */
  readonly parts: readonly number[]
  /** Tools that only the recording or only the request has. */
  readonly tools: readonly string[]
  readonly settings: readonly string[]
}

function differencesOf(recorded: Said, said: Said): Differences {
  const length = Math.max(recorded.parts.length, said.parts.length)
  const differs = (i: number) => {
    const [a, b] = [recorded.parts[i], said.parts[i]]
    return a?.digest !== b?.digest || a?.role !== b?.role || a?.kind !== b?.kind
  }
  const names = new Set([...Object.keys(recorded.settings), ...Object.keys(said.settings)])
  return {
    parts: Array.from({ length }, (_, i) => i).filter(differs),
    tools: [...notIn(said.tools, recorded.tools), ...notIn(recorded.tools, said.tools)],
    settings: [...names].filter((name) => recorded.settings[name] !== said.settings[name]).sort(),
  }
}

/** Describes the differences between a recording and a request's content for people. */
function wordDifferences({ request }: SaidRecording, asked: DigestedRequest): string[] {
  const { said, texts, tools } = asked
  const found = differencesOf(request.said, said)
  const words: string[] = []
  const [first, ...others] = found.parts
  if (first !== undefined) words.push(wordPart(first, request.said, asked))
  if (others.length > 0) words.push(`${others.length} more ${others.length === 1 ? 'part' : 'parts'}`)
  const suspect = found.parts.map((i) => texts[i] && suspectIn(texts[i])).find((text) => text)
  if (suspect)
    words.push(
      `perhaps only in ${JSON.stringify(suspect)}: if that changes from run to run, write a pattern for it into .waybill/masks and record again`,
    )
  for (const one of found.tools) {
    const name = tools[said.tools.indexOf(one)]
    words.push(
      name === undefined ? 'a tool that only the recording offers' : `the tool ${JSON.stringify(name)}`,
    )
  }
  for (const name of found.settings)
    words.push(
      said.settings[name] === undefined
        ? `${name} (only recorded)`
        : request.said.settings[name] === undefined
          ? `${name} (not recorded)`
          : name,
    )
  return words
}

function wordPart(index: number, recorded: Said, { said, texts }: DigestedRequest): string {
  const before = recorded.parts[index]
  const now = said.parts[index]
  const place = `part ${index + 1}`
  const nameOf = ({ role, kind }: Said['parts'][number]) =>
    kind === 'text' ? `${role} text` : `${role} ${kind}`
  if (!now) return `${place}, a ${nameOf(before!)} that only the recording has`
  const shown = JSON.stringify(texts[index]!.length > 60 ? `${texts[index]!.slice(0, 60)}…` : texts[index])
  if (!before) return `${place}, the ${nameOf(now)} ${shown}, which the recording does not have`
  const text = before.text === undefined ? '' : ` (recorded: ${JSON.stringify(before.text.slice(0, 60))})`
  return `${place}, the ${nameOf(now)} ${shown}${text}`
}
