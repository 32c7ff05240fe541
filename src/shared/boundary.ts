// The boundary behind which every listener stands. An exception in a listener, a timer or a promise ends only the
// exchange that it belongs to, never the process, and is reported. Installs nothing for the whole process, because a
// library runs in its user's process.
import { clock, type Timer } from './clock.ts'

/**
 * Ends the exchange that an exception belongs to. Receives an Error and the arguments of the listener. The boundary
 * reports the exception, unless the result is `REPORTED`.
 */
export type Fault = (error: Error, ...args: never[]) => unknown

/** Result of a fault that was reported already, or that is no fault of the gateway. */
export const REPORTED = Symbol('reported')

/** Part of an emitter of events, as Node has several without a common type. */
interface Emitter {
  on(event: string, listener: (...args: unknown[]) => void): unknown
  once(event: string, listener: (...args: unknown[]) => void): unknown
  off(event: string, listener: (...args: unknown[]) => void): unknown
}

type Listener = (...args: never[]) => unknown
type Listeners = Readonly<Record<string, Listener>>

const reporters = new Set<(error: unknown) => void>()

/** Reports an exception. As a `Fault`: there is no exchange to end. */
export function stray(error: unknown): typeof REPORTED {
  if (reporters.size === 0) process.emitWarning(error instanceof Error ? error : String(error))
  for (const report of reporters) {
    try {
      report(error)
    } catch {
      // Nothing is left that could report it.
    }
  }
  return REPORTED
}

/** Passes reported exceptions to `report`. Returns a function that ends this. */
export function onStray(report: (error: unknown) => void): () => void {
  reporters.add(report)
  return () => reporters.delete(report)
}

/** Registers listeners by the names of their events. */
export function on(emitter: Pick<Emitter, 'on'>, listeners: Listeners, fault: Fault): void {
  for (const event in listeners) emitter.on(event, guarded(listeners[event]!, fault, event))
}

/** Registers listeners, and removes all of them when one of their events has been handled. */
export function first(emitter: Pick<Emitter, 'on' | 'off'>, listeners: Listeners, fault: Fault): void {
  const registered: [event: string, listener: (...args: unknown[]) => void][] = []
  for (const event in listeners) {
    const settle = (...args: never[]) => {
      for (const [event, listener] of registered) emitter.off(event, listener)
      return listeners[event]!(...args)
    }
    registered.push([event, guarded(settle, fault, event)])
  }
  for (const [event, listener] of registered) emitter.on(event, listener)
}

/** Registers a listener for the next event of this name, and returns it in the form that `off` accepts. */
export function once(
  emitter: Pick<Emitter, 'once'>,
  event: string,
  listener: Listener,
  fault: Fault,
): (...args: unknown[]) => void {
  const registered = guarded(listener, fault, event)
  emitter.once(event, registered)
  return registered
}

/** Ignores the errors of an emitter whose end is reported otherwise. */
export function ignoreErrors(emitter: Pick<Emitter, 'on'>): void {
  emitter.on('error', () => {})
}

/** Runs `work` after `ms`. */
export const after = (ms: number, work: () => unknown, fault: Fault): Timer =>
  clock.after(ms, guarded(work, fault, 'timer'))

/** Runs `work` every `ms`. */
export const every = (ms: number, work: () => unknown, fault: Fault): Timer =>
  clock.every(ms, guarded(work, fault, 'timer'))

/** Aborts a controller after `ms`, with the same reason as `AbortSignal.timeout`. */
export const abortAfter = (controller: AbortController, ms: number): Timer =>
  after(ms, () => controller.abort(new DOMException('The time is over', 'TimeoutError')), stray)

/** Returns a signal that aborts after `ms`. For rare requests, because its timer runs until then. */
export function signalAfter(ms: number): AbortSignal {
  const controller = new AbortController()
  abortAfter(controller, ms).unref()
  return controller.signal
}

/** Observes a promise that nobody waits for. */
export const detached = (promise: Promise<unknown>, fault: Fault): void =>
  observe(replace === null ? promise : promise.then(replace(() => {}, 'promise') as () => void), fault)

const observe = (promise: Promise<unknown>, fault: Fault, ...args: unknown[]): void => {
  promise.catch((error) => contain(fault, error, ...args))
}

/** Returns a listener that never throws and whose promise never rejects. No event has more than three arguments. */
export function guarded(listener: Listener, fault: Fault, event = ''): (...args: unknown[]) => void {
  const inner = (replace === null ? listener : replace(listener, event)) as (...args: unknown[]) => unknown
  return function (this: unknown, a?: unknown, b?: unknown, c?: unknown): void {
    try {
      const made = inner.call(this, a, b, c)
      if (made instanceof Promise) observe(made, fault, a, b)
    } catch (error) {
      contain(fault, error, a, b)
    }
  }
}

function contain(fault: Fault, thrown: unknown, ...args: unknown[]): void {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown))
  try {
    if (fault(error, ...(args as never[])) !== REPORTED) stray(error)
  } catch (second) {
    stray(error)
    stray(second)
  }
}

/** `event`: the name of the event, `timer`, `promise`, or empty. */
type Replace = (listener: Listener, event: string) => Listener

let replace: Replace | null = null

/** Replaces every listener that is registered from now on; null ends this. For tests, which make listeners throw. */
export function replaceListeners(by: Replace | null): void {
  replace = by
}
