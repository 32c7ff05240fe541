// The clock of this process: every time and every timer of the gateway, the mocks and the suite comes from here, so that
// tests can advance time. A thread has a clock of its own, the system's. Three things stay with the system: the time limits
// of Node's sockets (`socket.setTimeout`) and of undici, which end connections whose other side is really silent, and the
// windows of rate limits, which a package counts.

/** A timer that was started; Node's own are such. */
export interface Timer {
  /** Ends the timer. */
  close(): unknown
  /** Starts it again from now. */
  refresh(): unknown
  /** Lets the process end while the timer runs. */
  unref(): this
}

export interface Clock {
  /** Milliseconds since the epoch; may jump. */
  readonly now: () => number
  /** Milliseconds since the epoch, with fractions, as the process knew them when it started; never jumps. */
  readonly monotonic: () => number
  /** Starts a timer that runs `work` once. `work` must not throw; see `after` of the boundary. */
  readonly after: (ms: number, work: () => void) => Timer
  /** Starts a timer that runs `work` again and again. `work` must not throw. */
  readonly every: (ms: number, work: () => void) => Timer
}

const ORIGIN = performance.timeOrigin
/** The machine's own, even if a test replaces the global ones later, as the fake timers of test runners do. */
const { setTimeout, setInterval } = globalThis
const sinceOrigin = performance.now.bind(performance)

/** Clock of the machine. */
export const SYSTEM_CLOCK: Clock = {
  now: Date.now,
  monotonic: () => ORIGIN + sinceOrigin(),
  after: (ms, work) => setTimeout(work, ms),
  every: (ms, work) => setInterval(work, ms),
}

/** The clock in use. */
export let clock = SYSTEM_CLOCK

let inUse: { readonly clock: Clock }[] = []

/** Makes a clock the one of this process; the present one by default. Returns a function that ends this. */
export function useClock(used = clock): () => void {
  const use = { clock: used }
  inUse.push(use)
  clock = used
  return () => {
    inUse = inUse.filter((each) => each !== use)
    clock = inUse.at(-1)?.clock ?? SYSTEM_CLOCK
  }
}

/** Waits `ms`. Without `ref`, the process may end earlier. */
export const sleep = (ms: number, { ref = true } = {}): Promise<void> =>
  new Promise((resolve) => {
    const timer = clock.after(Math.max(0, ms), resolve)
    if (!ref) timer.unref()
  })
