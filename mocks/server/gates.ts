// Gates: places in an answer that hold it until they are released from outside. Independent of answers.
import { whenAborted } from '../answer.ts'

export interface Gates {
  /** Resolves when the gate is open, or when `gone` is aborted. */
  wait(name: string, gone: AbortSignal): Promise<void>
  /** Opens a gate, which then stays open. No answer needs to be waiting at it. */
  release(name: string): void
  /** Releases all waiting answers, and closes every gate again. */
  clear(): void
}

export function createGates(): Gates {
  const gates = new Map<string, PromiseWithResolvers<void>>()
  const at = (name: string): PromiseWithResolvers<void> => {
    const gate = gates.get(name) ?? Promise.withResolvers<void>()
    gates.set(name, gate)
    return gate
  }
  return {
    wait: (name, gone) => Promise.race([at(name).promise, whenAborted(gone)]),
    release: (name) => at(name).resolve(),
    clear() {
      for (const { resolve } of gates.values()) resolve()
      gates.clear()
    },
  }
}
