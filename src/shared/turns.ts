// Turns of the keys for work that takes long on the main thread, such as reading a large request or answer. One piece
// of such work is done in each turn of the event loop, of one key after the other. While other keys have calls open,
// such work takes at most a quarter of the thread's time. Small work needs no turn.
import { after, guarded } from './boundary.ts'
import { clock } from './clock.ts'
import { MEMORY } from './memory.ts'

/** Bytes from which reading needs a turn. It takes about a millisecond. */
export const LARGE_BYTES = 2 ** 18

/** Bytes as which a piece counts in addition to its own: reading a piece of one byte takes about a microsecond. */
const PIECE_BYTES = 2 ** 8

/** Pause after a piece of work while other keys have calls open, in times of what the work took. */
const PAUSE_TIMES = 3

/** Time for which a key counts as present after it was seen, ms. */
const PRESENT_MS = 1_000

/** Work that waits, by key. The key whose turn is next is first. */
const waiting = new Map<string | null, (() => void)[]>()
/** Bytes that arrived for a key since its last turn. */
const arrived = new Map<string | null, number>()
let isPausing = false
let othersUntil = 0

/** Does work at once or when it is the turn of its key. An exception in the work goes to `fault`. */
export function inTurn(keyName: string | null, work: () => void, fault: (error: unknown) => void): void {
  const guardedWork = guarded(work, fault)
  const mine = waiting.get(keyName)
  if (mine) mine.push(guardedWork)
  else waiting.set(keyName, [guardedWork])
  if (!isPausing) next()
}

/** Returns the result of work with `bytes` bytes. Work with few needs no turn. */
export function resultInTurn<Result>(
  keyName: string | null,
  bytes: number,
  work: () => Result,
): Promise<Result> | Result {
  if (bytes < LARGE_BYTES) return work()
  return new Promise((resolve, reject) => inTurn(keyName, () => resolve(work()), reject))
}

/**
 * Counts a piece that has arrived for a key. Returns true if the key must wait for its turn before it reads more, because
 * many small pieces take as long as a large one and other keys have calls open.
 */
export function mustWait(keyName: string | null, bytes: number): boolean {
  const size = (arrived.get(keyName) ?? 0) + bytes + PIECE_BYTES
  const isLarge = size >= LARGE_BYTES
  const isWait = isLarge && hasOtherKeys(keyName)
  arrived.set(keyName, isLarge && !isWait ? 0 : size)
  return isWait
}

/** Returns true if another key has calls open, or had some in the last second. */
function hasOtherKeys(keyName: string | null): boolean {
  const now = clock.monotonic()
  if (MEMORY.hasOtherKeys(keyName)) othersUntil = now + PRESENT_MS
  return now < othersUntil
}

/** Gives the next key its turn. As a fault of itself it goes on, because all large work waits for it. */
function next(): void {
  isPausing = false
  const [first] = waiting
  if (!first) return
  const [keyName, [work, ...later]] = first
  waiting.delete(keyName)
  arrived.delete(keyName)
  if (later.length > 0) waiting.set(keyName, later)
  isPausing = true
  const begin = clock.monotonic()
  work!()
  // Measured after the promises that the work has settled, as they do most of the work for some answers.
  const pause = () => {
    if (hasOtherKeys(keyName)) after(PAUSE_TIMES * (clock.monotonic() - begin), next, next)
    else next()
  }
  setImmediate(guarded(pause, next))
}
