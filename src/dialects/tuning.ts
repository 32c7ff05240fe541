// Effort and output limit that a route sets for a target. Each dialect writes them in its own `tuned.ts`;
// this file has the shared parts. Pure.
import { Losses } from '../core/losses.ts'
import { type Replacement, spliceMembers } from '../json/splice.ts'
import type { Facts } from '../models/facts.ts'
import { nearestEffort } from './blocks.ts'

export interface Tuning {
  /** Effort that replaces the client's; null leaves the client's effort. */
  readonly effort: string | null
  /** Maximum output tokens. A lower limit from the client stays. Null leaves the client's limit. */
  readonly maxOutput: number | null
}

/**
 * Returns a request body with this effort and limit, as far as the model accepts them. `factsOf`: facts by
 * dialect.
 */
export type Tune = (body: string, tuning: Tuning, factsOf: (dialect: string) => Facts) => string

/** Returns the nearest level that the model is known to accept; null if it accepts no level. */
export const levelFor = (effort: string, { efforts }: Facts, words: readonly string[]): string | null =>
  nearestEffort(effort, efforts ?? words, new Losses())

/** Returns a function that lowers a limit to `most`. */
export const atMost =
  (most: number): Replacement =>
  (before) => {
    const asked = before === undefined ? null : JSON.parse(before)
    return String(typeof asked === 'number' ? Math.min(asked, most) : most)
  }

/** Replaces members of an object inside the body. Any other value is replaced whole. */
export const inside =
  (values: Readonly<Record<string, Replacement>>): Replacement =>
  (before) =>
    spliceMembers(before?.startsWith('{') ? before : '{}', values)
