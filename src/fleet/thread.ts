// The gateway's side of the thread that connects to the shared log. Requests and answers come in any order,
// and each request has a timeout. A thread that dies is restarted. Does not interpret the requests.
import { Worker } from 'node:worker_threads'
import { after, on, stray } from '../shared/boundary.ts'
import type { Timer } from '../shared/clock.ts'
import type { AskName, Asks, FleetReply, FleetRequest, WorkerData } from './protocol.ts'

export interface FleetThread {
  ask<Name extends AskName>(name: Name, ask: Asks[Name][0], ms: number): Promise<Asks[Name][1]>
  stop(): Promise<void>
}

/** Delay before a dead thread is restarted, ms. */
const AGAIN_MS = 1_000

export function startFleetThread(
  data: () => WorkerData,
  heard: (said: Exclude<FleetReply, { id: number }>) => void,
  onDeath: (reason: string) => void,
): FleetThread {
  const source = import.meta.url.endsWith('.ts') ? './worker.ts' : './fleet-worker.js'
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>()
  let worker: Worker | null = null
  let again: Timer | undefined
  let stopping = false
  let id = 0

  function start(): void {
    if (worker) return
    const started = new Worker(new URL(source, import.meta.url), { name: 'fleet', workerData: data() })
    let reason = 'the fleet thread ended'
    worker = started
    const listeners = {
      error({ message }: Error) {
        reason = `the fleet thread failed: ${message}`
      },
      message(said: FleetReply) {
        if (!('id' in said)) return heard(said)
        const asked = waiting.get(said.id)
        waiting.delete(said.id)
        if ('error' in said) asked?.reject(new Error(said.error))
        else asked?.resolve(said.value)
      },
    }
    const exit = () => {
      if (worker !== started) return
      worker = null
      for (const { reject } of waiting.values()) reject(new Error(reason))
      waiting.clear()
      if (stopping) return
      again = after(AGAIN_MS, start, start)
      onDeath(reason)
    }
    on(started, listeners, stray)
    on(started, { exit }, exit)
  }

  const ask: FleetThread['ask'] = (name, ask, ms) =>
    new Promise((resolve, reject) => {
      if (!worker) return reject(new Error('the fleet thread is being started again'))
      const mine = ++id
      const giveUp = () => {
        waiting.delete(mine)
        reject(new Error(`no answer within ${ms} ms`))
      }
      const timer = after(ms, giveUp, reject)
      const ended = (settle: () => void) => {
        timer.close()
        settle()
      }
      waiting.set(mine, {
        resolve: (value) => ended(() => resolve(value as never)),
        reject: (error) => ended(() => reject(error)),
      })
      worker.postMessage({ id: mine, name, ask } satisfies FleetRequest)
    })

  start()
  return {
    ask,
    async stop() {
      stopping = true
      again?.close()
      await ask('stop', null, 6_000).catch(() => {})
      await worker?.terminate()
    },
  }
}
