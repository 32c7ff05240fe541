// A worker: a witness, and an instance of the target that knows no other witness. It carries out one check after the
// other. Other workers affect neither of the two, so a count taken here is right, whatever runs in parallel.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Witness } from '../mocks/witness.ts'
import type { Check } from './check.ts'
import { clock, send } from './client.ts'
import type { Evidence } from './evidence.ts'
import { homeOf, placeOf } from './on-surfaces.ts'
import { type Running, StartError } from './running.ts'
import { withoutSecrets } from './secrets.ts'
import { Session } from './session.ts'
import { keysIn, type Started, start } from './start.ts'
import { startWitness } from './start-witness.ts'
import type { SurfaceName } from './surface.ts'
import { onSurface, surfaces } from './surfaces.ts'
import type { Target } from './target.ts'

export interface WorkerOptions {
  readonly template: Target
  /** What the evidence of its first call is kept under. */
  readonly preflight: string
  /** Idle windows are short. */
  readonly quick?: boolean
  /** Called when the witness listens in this process, before the target is started or asked. */
  readonly onWitness: (witness: Witness) => void | Promise<void>
  /** Hears of all evidence, that of the first call included. */
  readonly keep: (evidence: Evidence) => void
}

/** What a check leaves behind. */
export interface CarriedOut {
  readonly evidence: Evidence
  /** Why the target does not answer any more; null when it does, or does again. */
  readonly gone: string | null
}

export interface Worker {
  /** The target file with the values of this worker's instance filled in. */
  readonly target: Target
  /** Carries out a check that has an exercise of its own. Rejects with StartError when the target refuses to be reset. */
  run(check: Check): Promise<CarriedOut>
  /** What the witness saw and no check of this worker has in its evidence; asked for once, after the last check. */
  remainder(name: string): Promise<Evidence>
  /** Inferences that the witness saw so far. */
  inferences(): Promise<number>
  redact(text: string): string
  /** Ends the target, and then the witness. */
  close(): Promise<void>
}

/** How long after a hostile check a gateway may take to end of it, ms. */
const LATE = 50
/** How long after a refused connection the end of a process may take to be known here, ms. */
const UNNOTICED = 500

/**
 * Starts both and makes the first call. Rejects with StartError when the target cannot be started or reached, or when
 * its calls do not arrive at the witness: then one call was made, and no more.
 */
export async function openWorker({
  template,
  preflight,
  quick = false,
  onWitness,
  ...options
}: WorkerOptions): Promise<Worker> {
  const witness = await startWitness(template)
  const { control, values, containers } = witness
  const launched: Promise<Started>[] = []
  /** Numbers of the ledger entries that are in the evidence of a check. */
  const told = new Set<number>()
  const keep = (evidence: Evidence) => {
    for (const { n } of evidence.ledger) told.add(n)
    options.keep(evidence)
  }
  const launch = (variant: string | null): Promise<Started> => {
    const instance = start(template, { values, variant, containers })
    launched.push(instance)
    return instance
  }
  /** Ends the instances from the nth on. One that still starts is waited for: it could make calls during the next check. */
  const disposeFrom = async (n: number): Promise<void> => {
    for (const each of await Promise.allSettled(launched.splice(n)))
      if (each.status === 'fulfilled') await each.value.dispose()
  }
  const close = async () => {
    await disposeFrom(0)
    await witness.close()
  }
  try {
    if (witness.here) await onWitness(witness.here)
    const { target, running, secrets, reset } = await launch(null)
    const known = new Map([...secrets, ...keysIn(values)])
    const redact = (text: string): string => withoutSecrets(text, known)
    // A gateway key that turns up at a provider is found by name.
    for (const [name, secret] of secrets) await control.watchFor(name, secret)
    const session = (check: string, needs: Check['needs'] = [], surface: SurfaceName = homeOf(template)) =>
      new Session({
        check,
        target: onSurface(target, surface),
        surface: surfaces[surface],
        running,
        witness: control,
        quick,
        findsRecords: needs.includes('record'),
        secrets: known,
        another: async (variant) => (await launch(variant)).running,
      })
    keep(await reachWitness(session(preflight)))
    /** Starts the target again that did not survive a check; why that was in vain, or null. */
    const startAgain = async (check: string): Promise<string | null> => {
      try {
        await running.stop('killed')
        await running.start()
        keep(await reachWitness(session(`again-after-${check}`)))
        return null
      } catch (thrown) {
        if (thrown instanceof StartError) return thrown.message
        throw thrown
      }
    }
    return {
      target,
      async run(check) {
        await reset()
        const current = session(check.id, check.needs, placeOf(check, template) ?? undefined)
        const evidence = await carryOut(check, current)
        const found = await gone(target, running, check)
        const why = found && current.redact(found)
        if (why !== null && check.hostile) evidence.facts.gone = why
        keep(evidence)
        await disposeFrom(1)
        const again = why !== null && check.hostile && running.files !== null
        return { evidence, gone: again ? await startAgain(check.id) : why }
      },
      async remainder(name) {
        const last = session(name)
        await last.drain()
        const evidence = await last.evidence(null)
        const ledger = (await control.entries(0)).filter(({ n }) => !told.has(n))
        return { ...evidence, ledger: JSON.parse(redact(JSON.stringify(ledger))) }
      },
      inferences: async () => (await control.entries(0)).filter(({ kind }) => kind === 'inference').length,
      redact,
      close,
    }
  } catch (thrown) {
    await close()
    throw thrown
  }
}

/** SUITE-01: one call, and no second one until the witness has seen the first; so after every start. */
async function reachWitness(session: Session): Promise<Evidence> {
  const entry = await session.controlCall('the first call')
  const evidence = await session.evidence(null)
  if (entry) return evidence
  const { status, error, body } = evidence.exchanges[0]!
  throw new StartError(
    `${session.target.name} was called with "${session.model}", but the witness did not see the call, so no second call was made. ` +
      `The answer was ${status ?? error}: ${body.slice(0, 300)}. Point the provider of that model at the witness.`,
  )
}

/** Runs an exercise and closes its recorder; a target that takes too long is a finding, not a fault of the suite. */
export async function carryOut(check: Check, session: Session): Promise<Evidence> {
  const limit = check.timeout ?? 30_000
  let failure: unknown = null
  try {
    await Promise.race([
      check.exercise!(session),
      // On the reference every exercise is done long before: what takes longer waits for the target.
      spent(limit, session).then(() =>
        session.untestable(`the target did not complete the check within ${limit} ms`),
      ),
    ])
  } catch (thrown) {
    failure = thrown
  }
  return session.evidence(failure)
}

/** Resolves after `limit` ms, the check's own waits not counted. */
async function spent(limit: number, session: Session): Promise<void> {
  const began = clock()
  for (let left = limit; left > 0; left = began + limit + session.waited - clock())
    await sleep(left, undefined, { ref: false })
}

/** Why the target does not answer any more after a check, without its keys; null when it does. */
async function gone(target: Target, running: Running, { hostile }: Check): Promise<string | null> {
  const request = { method: 'GET', path: target.ready.path, headers: target.headers, body: null }
  // What a hostile check has done may take effect late, or at the next request.
  for (let looks = hostile ? 2 : 1; looks > 0; looks--) {
    const { status, error } = await send(running.baseUrl, request, 5_000, running.ca).done
    await sleep(status === null ? UNNOTICED : hostile ? LATE : 0)
    if (!running.alive())
      return `it ended.${running.output() && ` It printed: ${running.output().trim().slice(-300)}`}`
    if (status === null) return `it does not answer ${target.ready.path}: ${error}`
  }
  return null
}
