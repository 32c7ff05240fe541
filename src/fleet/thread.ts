// The gateway's side of the thread that connects to the shared log, and the messages between both. Requests and answers
// come in any order, and each request has a timeout. A thread that dies is restarted. Does not interpret the requests.

import { createHash } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { after, on, stray } from '../shared/boundary.ts'
import type { Timer } from '../shared/clock.ts'
import type { KeptRow } from '../store/kept.ts'
import type {
  Beat,
  Identity,
  LateWrite,
  LeaseRequest,
  Pulse,
  RateRequest,
  SharedChore,
  SharedLogOptions,
  SharedReads,
} from '../store/shared-log.ts'

export interface WorkerData {
  /** File of the journal. */
  readonly file: string
  readonly log: SharedLogOptions
  readonly identity: Omit<Identity, 'id'>
  readonly config: string
  /** Days for which calls stay in the shared log. */
  readonly days: number
  /** Number of the newest shipped outbox entry; 0 if there is none. */
  readonly shipped: number
}

type PulseRequest = Omit<Beat, 'backlog' | 'since'>

/** State of this instance in the shared log. */
export interface Standing {
  /** Sequence number of this start of the instance; null until it joins. */
  readonly start: number | null
  /** Reason why the instance may not join; null if it may. */
  readonly refused: string | null
  /**
   * Number of calls missing in the shared log, and the time since which the first has waited, ms since the
   * epoch.
   */
  readonly backlog: { readonly calls: number; readonly since: number | null }
  /** Used bytes of the journal. */
  readonly bytes: number
  readonly pulse: Pulse | null
}

export interface Asks {
  /** Resolves when all present entries of the journal are in the shared log. */
  ship: [null, null]
  read: [{ readonly name: keyof SharedReads; readonly args: readonly unknown[] }, unknown]
  /** Heartbeat. If the shared log is unreachable, `pulse` is null and the request does not reject. */
  pulse: [PulseRequest, Standing]
  lease: [Omit<LeaseRequest, 'live'>, number | null]
  rate: [RateRequest, number | null]
  leave: [LateWrite, null]
  keep: [KeptRow, null]
  drop: [{ readonly id: string; readonly keyName: string }, boolean]
  stop: [null, null]
}
export type AskName = keyof Asks

export interface FleetRequest {
  readonly id: number
  readonly name: AskName
  readonly ask: unknown
}

export type FleetReply =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: string }
  /** Newest outbox entry that the shared log has. */
  | { readonly shipped: number }
  /** Reason why shipping has begun to fail; null if it works again. */
  | { readonly failure: string | null }
  /** The end of a chore of upkeep, with the reason of its failure or null. */
  | { readonly chore: SharedChore; readonly reason: string | null }
  /** A message for the operator. */
  | { readonly note: string }

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

/**
 * Returns a digest of the journal's location, which distinguishes two gateways with the same identity. The digest survives
 * a restart and differs for a copy.
 */
export const locationDigest = (journal: string): string =>
  createHash('sha256')
    .update(`${hostname()} ${realpathSync(dirname(journal))}`)
    .digest('hex')
    .slice(0, 16)

export const digestOf = (config: object): string =>
  createHash('sha256').update(JSON.stringify(config)).digest('hex').slice(0, 16)
