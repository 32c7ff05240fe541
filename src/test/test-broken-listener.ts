// Runs a piece of work in a fresh gateway while one listener fails, and checks what must hold afterwards.
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import Database from 'better-sqlite3'
import { isInference } from '../shared/spending.ts'
import { databaseFile } from '../store/sqlite/open.ts'
import { breakListener, type Failure, mendListeners, noteListeners, type Seen } from './test-listeners.ts'
import { until } from './test-until.ts'
import { type Mock, startWorld, WORK, type World } from './test-workload.ts'

/** A site that a piece of work reaches. */
export interface Reached extends Seen {
  readonly site: string
  readonly work: string
}

interface Break {
  readonly site: string
  readonly work: string
  /** Fails at the first call of the n-th listener of the site that is called. */
  readonly n: number
  readonly failure: Failure
  /** True for a timer that would come too late. */
  readonly isHasty: boolean
  /** Number of the call that fails; default 1. */
  readonly call?: number
}

/** Runs a piece of work, and returns the sites that it reaches. */
export async function sitesOf(t: TestContext, mock: Mock, work: string): Promise<Reached[]> {
  const sites = noteListeners()
  try {
    const w = await startWorld(t, mock)
    await WORK[work]!(w)
    await w.stop()
  } finally {
    mendListeners()
  }
  return [...sites].map(([site, seen]) => ({ ...seen, site, work }))
}

/** Outcomes after which the record cannot know whether the provider received the request. */
const UNSURE = ['unknown', 'aborted', 'timed_out', 'interrupted']

/** Returns false if the listener was not called this time. */
export async function breakOnce(t: TestContext, mock: Mock, plan: Break): Promise<boolean> {
  const { site, n, failure, isHasty, call } = plan
  const hasFailed = breakListener(site, n, failure, isHasty, call)
  try {
    const w = await startWorld(t, mock).catch((error: Error) => {
      // A database thread that fails before the gateway has started refuses the start.
      if (!hasFailed() || !site.includes('sqlite/thread.ts')) throw error
      assert.match(error.message, /thread (failed|ended)/)
    })
    if (!w) return true
    await WORK[plan.work]!(w)
    w.leave()
    if (isHasty) await until('the timer fires', hasFailed, 1_000).catch(() => {})
    const wasBroken = hasFailed()
    const isQueue = site.includes('store/queue.ts')
    if (wasBroken && !isQueue) await check(w, site)
    if (wasBroken && isQueue) await checkDoubt(w)
    await w.stop()
    if (isQueue) await compareWithFile(w)
    return wasBroken || hasFailed()
  } finally {
    mendListeners()
  }
}

/** Checks a gateway whose queue of writes has failed: it refuses calls until a restart. */
async function checkDoubt(w: World): Promise<void> {
  assert.ok(w.isInDoubt, 'the state of the record is in doubt')
  assert.equal((await fetch(`${w.url}/healthz`)).status, 200)
  assert.equal((await w.plainCall())?.status, 503)
  assert.match(JSON.stringify((await w.read('/api/health')).findings), /the queue of the request log failed/)
}

/** Compares the mock's ledger with the database of a gateway that has stopped. */
async function compareWithFile(w: World): Promise<void> {
  const db = new Database(databaseFile(w.data), { readonly: true })
  const attempts = db.prepare('SELECT count(*) FROM call_attempts').pluck().get() as number
  db.close()
  const received = (await w.ledger()).filter(({ kind }) => kind === 'inference').length
  assert.ok(received <= attempts, `${received} inferences, ${attempts} attempts on record`)
}

async function check(w: World, site: string): Promise<void> {
  assert.equal((await fetch(`${w.url}/healthz`)).status, 200)
  const isThread = site.includes('sqlite/thread.ts')
  await until(
    'a plain call is answered',
    async () => {
      const status = (await w.plainCall())?.status
      // 504: the mock is still busy with a large answer.
      if (!isThread && status !== 504) assert.equal(status, 200, 'the next call')
      return status === 200
    },
    10_000,
  )
  const records = await until(
    'every record is closed',
    async () => {
      const { data } = await w.read('/api/usage/request-logs?limit=200')
      return data.every((each: any) => each.completed_at !== null) && data
    },
    10_000,
  ).catch(async (error) => {
    const { data } = await w.read('/api/usage/request-logs?limit=200')
    const open = data.filter((each: any) => each.completed_at === null)
    throw new Error(`open: ${JSON.stringify(open.map((each: any) => [each.endpoint, each.state]))}`, {
      cause: error,
    })
  })
  await compare(w, records)
  await until('nothing is reserved', async () => (await w.reserved()) === 0, 5_000)
  const { findings } = await w.read('/api/health')
  assert.ok(await w.faults(), 'the fault is counted')
  assert.match(JSON.stringify(findings), /the gateway itself failed \d+ times/)
}

/** Compares the mock's ledger with the record. */
async function compare(w: World, records: readonly any[]): Promise<void> {
  const received = (await w.ledger()).filter(({ kind }) => kind === 'inference').length
  let [sure, unsure] = [0, 0]
  for (const { id, endpoint, method } of records) {
    if (!isInference(method ?? 'POST', endpoint.replace(/^\/(upload\/)?v\d\w*\//, '$1'))) continue
    const { attempt_log } = await w.read(`/api/usage/request-logs/${id}`)
    for (const { outcome } of attempt_log)
      if (UNSURE.includes(outcome)) unsure++
      else if (outcome !== 'not_sent') sure++
  }
  assert.ok(
    received >= sure && received <= sure + unsure,
    `${received} inferences, ${sure} attempts and ${unsure} that are unsure`,
  )
}
