// Deviations as scenarios: `deviation:chat/id-per-fragment` answers as this entry of `deviations/` does. A mock with
// deviations plays one after the other for the calls that name no other scenario.
import { hash } from 'node:crypto'
import { nearest } from '../../src/yaml/wording.ts'
import { bytesOf, type Part } from '../answer.ts'
import { answerText, type Deviation, readDeviations, streamParts } from '../deviations/read.ts'
import type { RequestKind } from '../ledger.ts'
import type { Endpoint, Wants } from '../provider.ts'
import type { Played, Scenario } from './scenario.ts'

/** Names such as `chat/id-per-fragment`, or a seed for all deviations in the order that follows from it. */
export type Deviations = readonly string[] | { readonly seed: number }

/** Error about a name that no deviation has. */
export class DeviationError extends Error {}

const PREFIX = 'deviation:'

const nameOf = ({ dialect, id }: Deviation): string => `${dialect}/${id}`

/** Returns the scenario that plays a deviation; null if there is none of this name. */
export function findDeviation(scenario: string): Scenario | null {
  if (!scenario.startsWith(PREFIX)) return null
  const deviation = readDeviations().find((each) => PREFIX + nameOf(each) === scenario)
  return deviation ? scenarioOf(deviation) : null
}

const scenarioOf = (deviation: Deviation): Scenario => ({
  description: deviation.what,
  shape: `as sent by ${deviation.by.join(', ')}`,
  play: ({ speech, wants }) => (speech?.dialect === deviation.dialect ? played(deviation, wants) : null),
})

/** Makes the answer in the form that was asked for, or in its other form if the deviation has only that. */
function played(deviation: Deviation, { stream }: Wants): Played {
  const [events, text] = [streamParts(deviation), answerText(deviation)]
  const isStream = events !== null && (stream || text === null)
  const parts: Part[] = isStream ? events : [bytesOf(text ?? '')]
  const type = isStream ? 'text/event-stream' : 'application/json'
  const headers = Object.entries({ 'content-type': type, ...deviation.headers })
  return {
    status: deviation.status,
    headers: {
      ...Object.fromEntries(headers.flatMap(([name, value]) => (value === null ? [] : [[name, value]]))),
      ...(isStream && { 'transfer-encoding': 'chunked' }),
    },
    parts: deviation.cut ? [...parts, { end: 'cut' }] : parts,
    concludes: deviation.concludes,
  }
}

/** What a list of deviations tells about each. */
export const listDeviations = () =>
  readDeviations().map((each) => ({
    name: nameOf(each),
    what: each.what,
    by: each.by,
    source: each.source,
    concludes: each.concludes,
  }))

/** Deviations in the order in which they answer. */
export interface ChosenDeviations {
  readonly list: readonly Deviation[]
  /** True if a call gets only what providers send to calls of its form. */
  readonly fitsForm: boolean
}

/** Returns the deviations in their order. Throws a DeviationError if a name is unknown. */
export function chooseDeviations(chosen: Deviations): ChosenDeviations {
  if (!('seed' in chosen)) return { list: chosen.map(named), fitsForm: false }
  const rank = (deviation: Deviation) => hash('sha256', `${chosen.seed} ${nameOf(deviation)}`)
  return {
    list: readDeviations().toSorted((one, other) => (rank(one) < rank(other) ? -1 : 1)),
    fitsForm: true,
  }
}

function named(name: string): Deviation {
  const all = readDeviations()
  const found = all.find((each) => nameOf(each) === name)
  if (found) return found
  const [id, dialect] = name.split('/').reverse()
  const near = [...new Set(all.map((each) => each.dialect))].flatMap((each) => {
    const ids = all.filter((one) => one.dialect === each).map((one) => one.id)
    const likely = nearest(id!, ids)
    return likely === null ? [] : [{ name: `${each}/${likely}`, isFirst: each === dialect || likely === id }]
  })
  const names = near
    .toSorted((one, other) => Number(other.isFirst) - Number(one.isFirst))
    .map((one) => one.name)
  const hint =
    names.length > 0 ? `near it are ${names.join(', ')}` : '`waybill mock --list --json` lists them'
  throw new DeviationError(`there is no deviation ${JSON.stringify(name)}; ${hint}`)
}

interface DeviationTurns {
  /** Returns the scenario for the next call; null if it generates no text, or no deviation is of its dialect. */
  next(call: {
    readonly kind: RequestKind
    readonly endpoint: Endpoint | null
    readonly wants: Wants
  }): string | null
  clear(): void
}

/** Creates the turns of one test: each call of a dialect gets the next deviation, after the last the first again. */
export function createDeviationTurns({ list, fitsForm }: ChosenDeviations): DeviationTurns {
  const turns = new Map<string, number>()
  return {
    next({ kind, endpoint, wants: { stream } }) {
      const dialect = endpoint?.speech?.dialect
      if (kind !== 'inference' || !dialect) return null
      const key = fitsForm ? `${dialect} ${stream}` : dialect
      const turn = turns.get(key) ?? 0
      const fitting = list.filter((each) => each.dialect === dialect && (!fitsForm || isSentTo(stream, each)))
      const deviation = fitting[turn % fitting.length]
      turns.set(key, turn + 1)
      return deviation ? PREFIX + nameOf(deviation) : null
    },
    clear: () => turns.clear(),
  }
}

function isSentTo(stream: boolean, deviation: Deviation): boolean {
  if (deviation.ask) return (deviation.ask === 'stream') === stream
  const { stream: events, stream_raw, stream_base64, answer, answer_raw, status } = deviation
  const forms = stream ? [events, stream_raw, stream_base64] : [answer, answer_raw]
  return forms.some((form) => form !== undefined) || status >= 400
}
