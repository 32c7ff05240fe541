// Runs a must-fail gateway against the checks that must catch it, or a must-pass gateway against all of them.
import { fileURLToPath } from 'node:url'
import { clock } from '../../src/shared/clock.ts'
import { sentenceOf } from '../checks/check.ts'
import { checks } from '../checks/registry.ts'
import { type Further, type Requirement, readRequirements, requirementsFor } from '../checks/requirements.ts'
import type { DialectName } from '../dialects/dialect.ts'
import { byFinding } from '../judge/compare.ts'
import { type Outcome, wasJudged } from '../judge/judge.ts'
import { conform } from '../runner/run.ts'
import { StartError } from '../target/instance.ts'
import { readTarget } from '../target/read.ts'
import type { Target } from '../target/schema.ts'
import type { MustFail } from './gateway.ts'
import { serverTarget } from './model-server.ts'
import { mustFail, mustPass } from './registry.ts'

/** Result of a must-fail gateway. A finding whose words do not lead to the fault counts as one that did not catch it. */
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

const RUN = '{{project}}/conformance/selftest/start.ts'

/** Returns the reference target with this gateway instead of the reference. */
export function targetOf(name: string, { asCommand = false }: Pick<MustFail, 'asCommand'> = {}): Target {
  const target = readTarget(here('../targets/waybill.inproc.yaml'))
  const command = ['{{node}}', '--import', '{{project}}/node_modules/tsx/dist/loader.mjs', RUN, name]
  const start = asCommand ? { command } : { inproc: `selftest/start#${name}` }
  // Some must-fail gateways give a key to clients without one.
  return { ...target, name, start, env: { ...target.env, ADMIN_KEY: '{{key.admin}}' } }
}

/** Members of a row that differ from the gateway with the name, and `cross`: run all checks. */
type TryOptions = Partial<MustFail> & { readonly cross?: boolean }

/** Runs a must-fail gateway against the checks that must catch it. */
export async function tryMustFail(
  name: string,
  { cross = false, ...other }: TryOptions = {},
): Promise<MustFailResult> {
  const gateway = { ...mustFail.get(name)!, ...other } as MustFail
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
        for (const each of findings) {
          const why = each.ok || each.doubt || each.absent ? null : unclear(each)
          if (why) survived.set(`${id} (words)`, why)
        }
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

export interface MustPassResult {
  readonly name: string
  /** Requirement id -> outcome. */
  readonly outcomes: ReadonlyMap<string, Outcome>
  /** Requirement id -> the failed finding, or the reason why the check was inconclusive. */
  readonly wronglyFailed: ReadonlyMap<string, string>
  /** Milliseconds. */
  readonly duration: number
}

const isOn =
  (on: readonly Further[]) =>
  ({ check }: Requirement): boolean =>
    on.some((dialect: DialectName) => checks.get(check!)?.dialect === dialect)

/** Runs profile `observable`, or only some of its requirements. */
export async function tryMustPass(name: string, only?: readonly string[]): Promise<MustPassResult> {
  const began = clock.monotonic()
  try {
    return await judgeMustPass(name, only, began)
  } catch (cause) {
    if (!(cause instanceof StartError)) throw cause
    const wronglyFailed = new Map([['the start', cause.message]])
    return { name, outcomes: new Map(), wronglyFailed, duration: clock.monotonic() - began }
  }
}

async function judgeMustPass(
  name: string,
  only: readonly string[] | undefined,
  began: number,
): Promise<MustPassResult> {
  const { target = (same) => same, mayWarn = [], on = [], profile = 'observable' } = mustPass.get(name)!
  const { dialects, ...whole } = profile === 'server' ? serverTarget(name) : targetOf(name)
  const all = profile === 'observable' ? {} : dialects
  const kept = Object.fromEntries(on.map((dialect) => [dialect, dialects[dialect] ?? {}]))
  const held = target({
    ...whole,
    dialects: { ...all, ...kept },
    start: { inproc: `selftest/start#${name}` },
  })
  const besides = on.length > 0 && held.dialects.chat !== false
  const there = besides ? requirementsFor(readRequirements(), 'observable', held).filter(isOn(on)) : null
  const tried = only ?? there?.map(({ id }) => id)
  const { results } = await conform({
    target: held,
    profile,
    live: profile === 'server',
    quick: true,
    ...(tried && { only: tried }),
  })
  const verdicts = results.verdicts.filter(({ outcome }) => outcome !== 'disabled')
  if (verdicts.length === 0) throw new StartError('no requirement was tried')
  return {
    name,
    outcomes: new Map(verdicts.map(({ id, outcome }) => [id, outcome])),
    wronglyFailed: new Map(
      verdicts
        .filter(
          ({ id, level, outcome }) =>
            !['pass', 'not-applicable'].includes(outcome) &&
            !((level === 'SHOULD' || outcome === 'warn') && mayWarn.includes(id)),
        )
        .map(({ id, outcome, reason }) => [id, `${outcome}: ${reason}`]),
    ),
    duration: clock.monotonic() - began,
  }
}

/** A failed comparison, as in a report. */
interface Worded {
  readonly expected?: string | undefined
  readonly actual?: string | undefined
}

/** Additions by the judge, and by comparisons with a provider. */
const ADDED = /^as the provider sent it: |; #\d+ was answered with .*$/gs
const DATE = /\d{4}-\d\d-\d\d(T[\d:.]+Z?)?/g
const VAGUE = /^(the |an?)?(others?|different|another|differs?|not so|so|wrong|no)$/

const numbersIn = (text: string): string[] => text.match(/\d+(\.\d+)?/g) ?? []

/** Returns why the words of a failed finding do not lead to the fault; null if they do, or if it compares nothing. */
export function unclear({ expected, actual }: Worded): string | null {
  if (expected === undefined || actual === undefined) return null
  const [wanted, seen] = [expected, actual].map((text) => text.replace(ADDED, '').trim()) as [string, string]
  if (wanted === seen) return `expected and seen are the same: ${seen}`
  for (const each of [wanted, seen]) {
    const bare = each.replace(DATE, 'date')
    if (!/\p{L}/u.test(bare) && (numbersIn(bare).length > 1 || !/[\d{["]/.test(bare)))
      return `no word names these values: ${each || 'nothing'}`
  }
  const own = seen.replaceAll(/"(?:[^"\\]|\\.)*"?/g, '') // what it quotes is the gateway's
  const slip = /\b(undefined|NaN|\[object Object\])/.exec(own)
  if (slip) return `it says ${slip[0]}: ${seen}`
  if (/^\d{3}$/.test(seen) && wanted.includes(seen)) return `what was seen is what was expected: ${seen}`
  if (/\bothers?$|\bother content$/.test(seen) || VAGUE.test(seen))
    return `it does not say what was seen: ${seen}`
  const counts = [...seen.matchAll(/(?<![\w#@.-])(\d+)(?= \p{L}{3,})/gu)].map(([, count]) => count)
  if (counts.length > 1 && counts[0] !== '0' && new Set(counts).size === 1)
    return `its counts are equal: ${seen}`
  return null
}
