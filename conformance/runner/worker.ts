// Worker: a mock, and an instance of the target that uses only this mock. It runs one check after the other.
// Other workers do not affect the mock or the instance, so counts here are right even if checks run in
// parallel.
import { once } from 'node:events'
import type { MockProviders } from '../../mocks/server/create.ts'
import { clock, sleep } from '../../src/shared/clock.ts'
import type { Check } from '../checks/check.ts'
import { CheckContext } from '../checks/context.ts'
import { dialectFor, homeDialect } from '../checks/requirements.ts'
import type { DialectName } from '../dialects/dialect.ts'
import { dialects, inDialect } from '../dialects/lookup.ts'
import type { Evidence } from '../evidence/evidence.ts'
import { sendRequest } from '../evidence/http-client.ts'
import { withoutSecrets } from '../evidence/reading.ts'
import { answerIn } from '../judge/causes.ts'
import { type Running, StartError } from '../target/instance.ts'
import { startMock } from '../target/mock.ts'
import type { Target } from '../target/schema.ts'
import { keysIn, type Started, start } from '../target/start.ts'

interface WorkerOptions {
  readonly template: Target
  /** Name of the evidence of the worker's first call. */
  readonly preflight: string
  /** Sends the requests if the target has no mock. The worker then makes no first call. */
  readonly send?: typeof sendRequest | undefined
  /** True if idle windows are short. */
  readonly quick?: boolean
  /** Called when the mock listens in this process, before the target is started or called. */
  readonly onMock: (mock: MockProviders) => void | Promise<void>
  readonly onWait?: Parameters<typeof start>[1]['onWait']
  /** Called with all evidence, including that of the first call. */
  readonly keep: (evidence: Evidence) => void
  /** Aborts the current check when the run takes too long. */
  readonly signal?: AbortSignal
}

/** Result of a check. */
interface CarriedOut {
  readonly evidence: Evidence
  /** Reason why the target no longer answers; null if it answers, or answers again. */
  readonly gone: string | null
}

export interface Worker {
  /** Target file with this worker's values filled in. */
  readonly target: Target
  /** Runs a check with an exercise. Rejects with StartError if the target refuses to be reset. */
  run(check: Check): Promise<CarriedOut>
  /** Returns the mock's requests outside this worker's checks. Must be called once, after the last check. */
  remainder(name: string): Promise<Evidence>
  /** Returns the number of inferences that the mock has seen so far. */
  inferences(): Promise<number>
  redact(text: string): string
  /** Ends the target, then the mock. */
  close(): Promise<void>
}

/** Time after a hostile check within which a gateway may end because of the check, ms. */
const LATE_END_MS = 50
/** Maximum time from a refused connection until the end of the process is noticed, ms. */
const EXIT_NOTICE_MS = 500
/**
 * Number of unanswered requests to the ready path after which a target counts as gone; a single answer may
 * only be late.
 */
const MAX_UNANSWERED = 3

/**
 * Starts mock and target and makes the first call. Rejects with StartError if the target cannot be started or
 * reached, or if its calls do not arrive at the mock. In this case only one call was made.
 */
export async function openWorker({
  template,
  preflight,
  quick = false,
  onMock,
  ...options
}: WorkerOptions): Promise<Worker> {
  const mock = await startMock(template)
  const { control, values, containers } = mock
  const launched: Promise<Started>[] = []
  /** Numbers of the ledger entries that are in the evidence of a check. */
  const told = new Set<number>()
  const keep = (evidence: Evidence) => {
    for (const { n } of evidence.ledger) told.add(n)
    options.keep(evidence)
  }
  const launch = (variant: string | null): Promise<Started> => {
    const instance = start(template, { values, variant, containers, onWait: options.onWait })
    launched.push(instance)
    return instance
  }
  /**
   * Ends the instances from the nth on. Waits for an instance that is still starting, because it could make
   * calls during the next check.
   */
  const disposeFrom = async (n: number): Promise<void> => {
    for (const each of await Promise.allSettled(launched.splice(n)))
      if (each.status === 'fulfilled') await each.value.dispose()
  }
  const close = async () => {
    await disposeFrom(0)
    await mock.close()
  }
  try {
    if (mock.here) await onMock(mock.here)
    const { target, running, secrets, reset } = await launch(null)
    const known = new Map([...secrets, ...keysIn(values)])
    const redact = (text: string): string => withoutSecrets(text, known)
    // A gateway key that reaches a provider is reported by name.
    for (const [name, secret] of secrets) await control.watchFor(name, secret)
    const session = (
      check: string,
      needs: Check['needs'] = [],
      dialect: DialectName = homeDialect(template),
    ) =>
      new CheckContext({
        check,
        target: inDialect(target, dialect),
        dialect: dialects[dialect],
        running,
        mock: control,
        quick,
        findsRecords: needs.includes('record'),
        secrets: known,
        send: options.send,
        another: async (variant) => (await launch(variant)).running,
      })
    if (!options.send) keep(await reachMock(session(preflight)))
    /** Restarts a target that did not survive a check. Returns the reason for a failure, or null. */
    const startAgain = async (check: string): Promise<string | null> => {
      try {
        await running.stop('killed')
        await running.start()
        if (!options.send) keep(await reachMock(session(`again-after-${check}`)))
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
        const current = session(check.id, check.needs, dialectFor(check, template) ?? undefined)
        const evidence = await carryOut(check, current, options.signal)
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

/** Makes one call after every start, and no second call until the mock has received the first (SUITE-01). */
async function reachMock(session: CheckContext): Promise<Evidence> {
  const entry = await session.controlCall('the first call')
  const evidence = await session.evidence(null)
  if (entry) return evidence
  throw new StartError(
    `${session.target.name} was called with "${session.model}", but the mock did not see the call, so no second call was made. ` +
      `It was answered with ${answerIn(evidence.exchanges[0]!)}. Point the provider of that model at the mock.`,
  )
}

/**
 * Runs an exercise and closes its recorder; if the target takes too long, this is a finding and not a fault
 * of the suite.
 */
export async function carryOut(check: Check, session: CheckContext, signal?: AbortSignal): Promise<Evidence> {
  const limit = check.timeout ?? 60_000
  let failure: unknown = null
  try {
    await Promise.race([
      check.exercise!(session),
      // With the reference, every exercise ends long before this limit, so a longer exercise is waiting for
      // the target.
      spent(limit, session).then(() =>
        session.untestable(`the target did not complete the check within ${limit} ms`),
      ),
      ...(signal ? [aborted(signal).then(() => session.untestable('the run was ended'))] : []),
    ])
  } catch (thrown) {
    failure = thrown
  }
  return session.evidence(failure)
}

const aborted = (signal: AbortSignal): Promise<unknown> =>
  signal.aborted ? Promise.resolve() : once(signal, 'abort')

/** Resolves after `limit` ms, excluding the check's own waits. */
async function spent(limit: number, session: CheckContext): Promise<void> {
  const began = clock.monotonic()
  for (let left = limit; left > 0; left = began + limit + session.waited - clock.monotonic())
    await sleep(left, { ref: false })
}

/** Returns the reason why the target no longer answers after a check, without its keys; null if it answers. */
async function gone(target: Target, running: Running, { hostile }: Check): Promise<string | null> {
  const request = { method: 'GET', path: target.ready.path, headers: target.headers, body: null }
  // Effects of a hostile check may come late, or at the next request.
  let looks = hostile ? 2 : 1
  for (let unanswered = 0; looks > 0; ) {
    const { status, error } = await sendRequest(running.baseUrl, request, 5_000, { ca: running.ca }).done
    await sleep(status === null ? EXIT_NOTICE_MS : hostile ? LATE_END_MS : 0)
    if (!running.alive())
      return `it ended.${running.output() && ` It printed: ${running.output().trim().slice(-300)}`}`
    if (status !== null) looks--
    else if (++unanswered === MAX_UNANSWERED) return `it does not answer ${target.ready.path}: ${error}`
  }
  return null
}
