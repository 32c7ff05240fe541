// Effort and output limit that a route sets for one of its targets, in the form of its dialect. Each dialect
// has a file `tuned.ts`; this one has the shared parts. Pure.
import { Losses } from '../core/losses.ts'
import { type Replacement, spliceMembers } from '../json/splice.ts'
import type { Facts } from '../models/facts.ts'
import { nearestEffort } from './blocks.ts'

export interface Tuning {
  /** Level of effort in place of the client's; null leaves the client's. */
  readonly effort: string | null
  /** Maximum output tokens; a lower limit of the client's stays. Null leaves the client's. */
  readonly maxOutput: number | null
}

/** Returns the body of a request with this effort and limit, as far as its model accepts them. `factsOf`: by dialect. */
export type Tune = (body: string, tuning: Tuning, factsOf: (dialect: string) => Facts) => string

/** Returns the nearest level that the model accepts, as far as that is known; null if it accepts none. */
export const levelFor = (effort: string, { efforts }: Facts, words: readonly string[]): string | null =>
  nearestEffort(effort, efforts ?? words, new Losses())

/** Replaces a limit by a lower one. */
export const atMost =
  (most: number): Replacement =>
  (before) => {
    const asked = before === undefined ? null : JSON.parse(before)
    return String(typeof asked === 'number' ? Math.min(asked, most) : most)
  }

/** Replaces members of an object inside the body; anything but an object is replaced whole. */
export const inside =
  (values: Readonly<Record<string, Replacement>>): Replacement =>
  (before) =>
    spliceMembers(before?.startsWith('{') ? before : '{}', values)
