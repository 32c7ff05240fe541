// Runs the checks that must fail on a must-fail gateway, and reports which of them fail.

import { fileURLToPath } from 'node:url'
import { clock } from '../../src/shared/clock.ts'
import { byFinding } from '../judge/group-findings.ts'
import type { Verdict } from '../judge/judge.ts'
import { StartError } from '../launch/instance.ts'
import { conform } from '../run.ts'
import { sentenceOf } from '../runner/check.ts'
import { readTarget } from '../target/read.ts'
import type { Target } from '../target/schema.ts'
import type { MustFail } from './gateway.ts'
import { serverTarget } from './model-server.ts'
import { mustFail } from './must-fail/registry.ts'

/** Result of a must-fail gateway. */
export interface MustFailResult {
  readonly name: string
  readonly gateway: MustFail
  /** Findings that failed -> the first sentence. */
  readonly caught: ReadonlyMap<string, string>
  /** All findings that were judged. */
  readonly judged: ReadonlySet<string>
  /** Expected findings that did not fail -> their actual outcome. */
  readonly survived: ReadonlyMap<string, string>
  /** Milliseconds. */
  readonly duration: number
}

/** Check that catches a gateway if its calls do not reach the mock: the run ends before the second call. */
const UNREACHED = 'SUITE-01'

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

const RUN = '{{project}}/conformance/selftest/command.ts'

/** Returns the reference target with this gateway instead of the reference. */
export function targetOf(name: string, { asCommand = false }: Pick<MustFail, 'asCommand'> = {}): Target {
  const target = readTarget(here('../targets/waybill.inproc.yaml'))
  const command = ['{{node}}', '--import', '{{project}}/node_modules/tsx/dist/loader.mjs', RUN, name]
  const start = asCommand ? { command } : { inproc: `selftest/in-process#${name}` }
  // Some must-fail gateways give a key to clients without one.
  return { ...target, name, start, env: { ...target.env, ADMIN_KEY: '{{key.admin}}' } }
}

interface TryOptions {
  /** Runs all checks, not only those expected to fail. */
  readonly cross?: boolean
  /** Checks or findings that are expected instead of the declared checks and findings. */
  readonly caughtBy?: readonly string[]
}

/** Runs a must-fail gateway against the checks that must catch it. */
export async function tryMustFail(
  name: string,
  { cross = false, ...other }: TryOptions = {},
): Promise<MustFailResult> {
  const gateway = { ...mustFail.get(name)!, ...other }
  const began = clock.monotonic()
  const caught = new Map<string, string>()
  const judged = new Set<string>()
  const survived = new Map<string, string>()
  const done = () => ({ name, gateway, caught, judged, survived, duration: clock.monotonic() - began })
  try {
    const { results } = await conform({
      target: gateway.profile === 'server' ? serverTarget(name) : targetOf(name, gateway),
      profile: gateway.profile ?? 'waybill',
      live: gateway.profile === 'server',
      quick: !gateway.patient,
      ...(!cross && { only: gateway.caughtBy.map(requirementOf) }),
    })
    for (const verdict of results.verdicts.filter(wasJudged))
      for (const { id, state, findings } of byFinding(verdict)) {
        judged.add(id)
        const bad = findings.find(({ ok, doubt }) => !ok && !doubt)
        if (state === 'fails') caught.set(id, sentenceOf(bad!))
      }
    const verdicts = new Map(results.verdicts.map((each) => [each.id, each]))
    for (const id of gateway.caughtBy.filter((each) => !isCaught(caught, each))) {
      const verdict = verdicts.get(requirementOf(id))
      survived.set(id, verdict ? `${verdict.outcome}: ${verdict.reason}` : 'there is no such check')
    }
  } catch (thrown) {
    if (!(thrown instanceof StartError)) throw thrown
    // Either no call reached the mock, or the gateway did not even start, which proves nothing.
    const unreached = /the mock did not see the call/.test(thrown.message)
    if (unreached) caught.set(UNREACHED, 'no call reached the mock, and no second one was made')
    for (const id of gateway.caughtBy)
      if (!caught.has(id)) survived.set(id, `it did not run: ${thrown.message}`)
  }
  return done()
}

/** Returns true if a requirement or one of its findings failed. */
const isCaught = (caught: MustFailResult['caught'], id: string): boolean =>
  [...caught.keys()].some((each) => each === id || requirementOf(each) === id)

export const requirementOf = (id: string): string => id.split('/')[0]!

/**
 * Returns true if the check could be judged. `untestable` counts as a failure elsewhere, but proves nothing
 * here.
 */
const wasJudged = ({ outcome }: Verdict): boolean =>
  outcome === 'pass' || outcome === 'fail' || outcome === 'warn'
