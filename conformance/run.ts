// One run: a witness, a target, one check after the other, and at the end the judge. The evidence is written as it
// is won, so that a run that breaks off can still be looked at.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createWitness, type Witness } from '../mocks/witness.ts'
import type { Check } from './check.ts'
import { checks } from './checks.ts'
import { clock, send } from './client.ts'
import type { Evidence } from './evidence.ts'
import { judge, type Results, type RunFile } from './judge.ts'
import { asked, type Profile, type Requirement, readRequirements } from './requirements.ts'
import { StartError } from './running.ts'
import { Session } from './session.ts'
import { type Started, start } from './start.ts'
import { declares, type Target } from './target.ts'
import { controlOf, valuesOf } from './witness-control.ts'

/** The version of the suite. Its first number names the frozen set of requirements that decides. */
export const SUITE = '1.0'

export interface ConformOptions {
  readonly target: Target
  readonly profile?: Profile
  /** Requirement ids; all where nothing is said. */
  readonly only?: readonly string[]
  /** Requirement id -> why it is left out. */
  readonly disabled?: Readonly<Record<string, string>>
  /** Where the evidence is written; nowhere where nothing is said. */
  readonly directory?: string
  /** The command that does this run again, for the report. */
  readonly reproduce?: string
  /** Called when the witness listens, before the target is started or asked. */
  readonly onWitness?: (witness: Witness) => void | Promise<void>
  /** Hears of each check: when it begins, and when its evidence is there. */
  readonly onCheck?: (requirement: Requirement, evidence: Evidence | null) => void
}

export interface Conformed {
  readonly results: Results
  readonly run: RunFile
  readonly evidence: ReadonlyMap<string, Evidence>
}

/**
 * Holds a gateway to the contract. Rejects with StartError when the target cannot be started or reached, or when its
 * calls do not arrive at the witness: then one call was made, and no more.
 */
export async function conform({
  target: template,
  profile = 'core',
  only,
  disabled = {},
  directory,
  reproduce = '',
  onWitness = () => {},
  onCheck = () => {},
}: ConformOptions): Promise<Conformed> {
  const requirements = readRequirements()
  const startedAt = clock()
  const witness = await createWitness({ port: template.witness_port }).catch((cause: Error) => {
    throw new StartError(`the witness cannot listen on port ${template.witness_port}: ${cause.message}`, {
      cause,
    })
  })
  const control = controlOf(witness)
  const values = valuesOf(witness)
  const evidence = new Map<string, Evidence>()
  const started: Started[] = []
  const launch = async (variant: string | null) => {
    const instance = await start(template, { values, variant })
    started.push(instance)
    return instance
  }
  try {
    await onWitness(witness)
    const { target, running, secrets } = await launch(null)
    const known = new Map([...secrets, ...Object.entries(values).filter(([name]) => name.endsWith('.key'))])
    // A gateway key that turns up at a provider is found by name.
    for (const [name, secret] of secrets) await control.plant(name, secret)
    const preflight = session('preflight')
    keep('preflight', await reachWitness(preflight))

    let stopped: string | null = null
    for (const requirement of asked(requirements, profile)) {
      const check = checks.get(requirement.check!)
      const skip =
        !check || disabled[requirement.id] !== undefined || (only && !only.includes(requirement.id))
      if (skip || (check.needs ?? []).some((need) => !declares(target, need))) continue
      onCheck(requirement, null)
      const source = checks.get(check.shares ?? check.id)!
      if (!evidence.has(source.id)) await started[0]!.reset()
      const found = evidence.get(source.id) ?? (await carryOut(source, session(source.id)))
      keep(source.id, found)
      onCheck(requirement, found)
      for (const extra of started.splice(1)) await extra.dispose()
      const why = await gone(target, running)
      if (why === null) continue
      const again = source.hostile && running.directory !== null ? await startAgain(source.id) : why
      if (again === null) continue
      stopped = `${target.name} is gone since ${requirement.id}: ${again}`
      break
    }

    const run: RunFile = {
      format: 1,
      suite: SUITE,
      profile,
      target,
      started_at: startedAt,
      ended_at: clock(),
      only: only ? [...only] : null,
      disabled: { ...disabled },
      inferences: (await control.entries(0)).filter(({ kind }) => kind === 'inference').length,
      stopped,
      environment: { node: process.version, platform: `${process.platform} ${process.arch}` },
      reproduce,
    }
    const clean: RunFile = JSON.parse(preflight.redact(JSON.stringify(run)))
    const results = judge(clean, evidence, requirements)
    if (directory !== undefined) write(directory, 'run.json', clean)
    return { results, run: clean, evidence }

    /** Starts the target again that did not survive a check; why that was in vain, or null. */
    async function startAgain(check: string): Promise<string | null> {
      const name = `again-after-${check}`
      try {
        await running.stop('killed')
        await running.start()
        keep(name, await reachWitness(session(name)))
        return null
      } catch (thrown) {
        if (thrown instanceof StartError) return thrown.message
        throw thrown
      }
    }

    function keep(check: string, found: Evidence): void {
      evidence.set(check, found)
      if (directory !== undefined) write(join(directory, 'evidence'), `${check}.json`, found)
    }

    function session(check: string): Session {
      return new Session({
        check,
        target,
        running,
        witness: control,
        secrets: known,
        another: async (variant) => (await launch(variant)).running,
      })
    }
  } finally {
    for (const instance of started) await instance.dispose()
    await witness.close()
  }
}

/** SUITE-01: one call, and no second one until the witness has seen the first; so after every start. */
async function reachWitness(session: Session): Promise<Evidence> {
  const entry = await session.plant('the first call')
  const evidence = await session.evidence(null)
  if (entry) return evidence
  const { status, error, body } = evidence.exchanges[0]!
  throw new StartError(
    `${session.target.name} was asked for "${session.model}" and the witness saw nothing of it, so no second call was made. ` +
      `The answer was ${status ?? error}: ${body.slice(0, 300)}. Point the provider of that model at the witness.`,
  )
}

/** Runs a probe and closes its notebook; a target that takes too long is a finding, not a fault of the suite. */
export async function carryOut(check: Check, session: Session): Promise<Evidence> {
  const limit = check.timeout ?? 30_000
  let failure: unknown = null
  try {
    await Promise.race([
      check.probe!(session),
      // On the reference every probe is done long before: what takes longer waits for the target.
      sleep(limit, undefined, { ref: false }).then(() =>
        session.untestable(`the target did not come through what the check asks within ${limit} ms`),
      ),
    ])
  } catch (thrown) {
    failure = thrown
  }
  const why = check.hostile ? await gone(session.target, session.running) : null
  if (why !== null) session.note('gone', why)
  return session.evidence(failure)
}

/** Why the target does not answer any more; null when it does. */
async function gone(target: Target, running: Started['running']): Promise<string | null> {
  if (!running.alive())
    return `it ended.${running.output() && ` It said: ${running.output().trim().slice(-300)}`}`
  const request = { method: 'GET', path: target.ready.path, headers: target.headers, body: null }
  const { status, error } = await send(running.baseUrl, request, 5_000).done
  return status === null ? `it does not answer ${target.ready.path}: ${error}` : null
}

function write(directory: string, name: string, content: object): void {
  mkdirSync(directory, { recursive: true })
  writeFileSync(join(directory, name), `${JSON.stringify(content, null, 2)}\n`)
}
