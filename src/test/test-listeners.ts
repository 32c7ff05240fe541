// Makes registered listeners throw (`../shared/boundary.ts`). A site is a place in the source that registers a listener
// for an event.
import { replaceListeners } from '../shared/boundary.ts'

/** How a listener fails. `late` works and then throws. `rejects` is only for a listener that returns a promise. */
export type Failure = 'throws' | 'late' | 'rejects' | 'throws null'

/** Facts about the listeners of a site. */
export interface Seen {
  /** Listeners that were called. */
  called: number
  registered: number
  isAsync: boolean
}

const OWN_FRAME = /\/(boundary|test-listeners)\.ts/
const ROOT = new URL('../..', import.meta.url).href

/** Returns the site of the listener that is being registered: `src/http/body.ts:174 data`. */
function siteOf(event: string): string {
  const frame = new Error().stack!.split('\n').find((line, at) => at > 0 && !OWN_FRAME.test(line))!
  const [, place] = /\(?(?:file:\/\/)?([^\s()]+):\d+\)?$/.exec(frame)!
  return `${place!.replace(ROOT.replace('file://', ''), '')} ${event}`.trim()
}

/** Counts the listeners that are registered and called from now on, by site. */
export function noteListeners(): Map<string, Seen> {
  const sites = new Map<string, Seen>()
  replaceListeners((listener, event) => {
    const site = siteOf(event)
    const seen = sites.get(site) ?? { called: 0, registered: 0, isAsync: false }
    sites.set(site, seen)
    seen.registered++
    let isFirst = true
    return function (this: unknown, ...args) {
      if (isFirst) seen.called++
      isFirst = false
      const made = listener.apply(this, args)
      seen.isAsync ||= made instanceof Promise
      return made
    }
  })
  return sites
}

const ERROR = 'thrown by the test'

/**
 * Makes the `n`-th listener of a site that is called fail at its first call, or at a later `call`. With `isHasty`, timers of the site fire at
 * once. Returns whether it has failed.
 */
export function breakListener(
  site: string,
  n: number,
  failure: Failure,
  isHasty: boolean,
  call = 1,
): () => boolean {
  let called = 0
  let hasFailed = false
  let isNextHasty = false
  const timers = [globalThis.setTimeout, globalThis.setInterval] as const
  const hasty =
    (set: (...args: any[]) => unknown) =>
    (work: () => void, ms?: number, ...rest: unknown[]) => {
      const wait = isNextHasty ? 0 : ms
      isNextHasty = false
      return set(work, wait, ...rest)
    }
  if (isHasty) Object.assign(globalThis, { setTimeout: hasty(timers[0]), setInterval: hasty(timers[1]) })
  ended = () => {
    const [setTimeout, setInterval] = timers
    Object.assign(globalThis, { setTimeout, setInterval })
  }
  replaceListeners((listener, event) => {
    if (siteOf(event) !== site) return listener
    isNextHasty = isHasty && !hasFailed
    let calls = 0
    return function (this: unknown, ...args) {
      const isChosen = ++calls === call && ++called === n
      if (!isChosen) return listener.apply(this, args)
      hasFailed = true
      if (failure === 'throws') throw new Error(ERROR)
      if (failure === 'throws null') throw null
      if (failure === 'rejects') return Promise.reject(new Error(ERROR))
      const made = listener.apply(this, args)
      if (made instanceof Promise)
        return made.then(() => {
          throw new Error(ERROR)
        })
      throw new Error(ERROR)
    }
  })
  return () => hasFailed
}

let ended = () => {}

/** Ends the replacement of listeners. */
export function mendListeners(): void {
  replaceListeners(null)
  ended()
}
