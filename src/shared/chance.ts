// The chance of this process: every random value of the gateway comes from here, so that a simulation can repeat a history.
// Two things stay with the system: the keys that programs make for people, and what packages draw for themselves.
import { randomBytes, randomUUID } from 'node:crypto'

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
