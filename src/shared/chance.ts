// The chance of this process: every random value of the gateway comes from here, so that a simulation can repeat a history.
// Two things stay with the system: the keys that programs make for people, and what packages draw for themselves.
import { randomBytes, randomUUID } from 'node:crypto'

/** Returns a source of uniform numbers in [0, 1). */
export function seeded(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export interface Chance {
  /** Returns a UUID, version 4. */
  readonly uuid: () => string
  readonly bytes: (count: number) => Buffer
  /** Returns a number, uniform in [0, 1). */
  readonly number: () => number
}

const SYSTEM_CHANCE: Chance = { uuid: randomUUID, bytes: randomBytes, number: Math.random }

/** The chance in use. */
export let chance = SYSTEM_CHANCE

/** Replaces the source of chance in this process. Returns a function that ends this. */
export function useChance(used: Chance): () => void {
  chance = used
  return () => {
    chance = SYSTEM_CHANCE
  }
}
