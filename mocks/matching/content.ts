// Compares the content of a request with that of a recording. Pure; uses digests, not HTTP.
import { hash } from 'node:crypto'
import type { Recording } from '../recording/format.ts'
import { canonical } from './conversation.ts'
import { type DigestedRequest, idOf, type Said } from './digest.ts'
import { suspectIn } from './mask.ts'
import { holds, type Spoken } from './predicate.ts'

/** Recording with digests of its request. */
type SaidRecording = Recording & { readonly request: { readonly said: Said } }

export const hasSaid = (recording: Recording): recording is SaidRecording =>
  recording.request.said !== undefined

/**
 * Recordings that match. Those in `hits` take turns. Those in `tied` have different contents, so none of them
 * answers.
 */
type ContentHits = { readonly hits: readonly Recording[] } | { readonly tied: readonly Recording[] }

export const NO_HITS: ContentHits = { hits: [] }

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
export function findSaid(candidates: readonly SaidRecording[], { said }: DigestedRequest): ContentHits {
  const { exact, masked } = idsOf(said)
  const letter = candidates.filter(({ request }) => idsOf(request.said).exact === exact)
  if (letter.length > 0) return { hits: letter }
  const equal = candidates.filter(({ request }) => idsOf(request.said).masked === masked)
  return oneOf(equal, ({ request }) => idsOf(request.said).exact)
}

/** Finds the recordings with the same last message and the fewest differences before it. */
export function findSimilar(candidates: readonly SaidRecording[], { said }: DigestedRequest): ContentHits {
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
export function findByCondition(candidates: readonly Recording[], spoken: () => Spoken): ContentHits {
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
export function haveOneAnswer(found: readonly Recording[]): boolean {
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
export function distanceTo({ request }: SaidRecording, said: Said): number {
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
export function wordDifferences({ request }: SaidRecording, asked: DigestedRequest): string[] {
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
