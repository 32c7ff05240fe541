// A check, and how it is declared: its exercise calls the target and records evidence, and its judge is a pure function
// of this evidence, which can run again at any time. A file has the checks of a family about one subject, and each
// check registers itself. A judge may return its comparisons by the ids of their findings.
import type { DialectName } from '../dialects/dialect.ts'
import { isCrossed, refs, servedBy } from '../dialects/lookup.ts'
import {
  type DetailedStep,
  type Details,
  type Evidence,
  type Exchange,
  type Step,
  stepText,
} from '../evidence/evidence.ts'
import type { Capability, Target } from '../target/schema.ts'
import type { ChatOptions, CheckContext } from './context.ts'

/** Result of a judge's comparison. */
export interface Finding {
  /**
   * Name, the same in every run: `no-key-in-answers`. A baseline excuses a finding by this name and the
   * check's id, and the self-test requires a must-fail gateway for it. Findings with the same id compare
   * several exchanges in the same way.
   */
  readonly id: string
  readonly ok: boolean
  /**
   * True if the comparison fails but may not be the target's fault. If no other finding fails, the check is
   * then untestable.
   */
  readonly doubt?: boolean
  /**
   * True for a part of a MUST that is only a SHOULD for gateways other than Waybill. If no other finding
   * fails, the result is then a warning.
   */
  readonly advice?: boolean
  /**
   * True if the target properly refuses an optional feature. If no other finding fails, the check then does
   * not apply.
   */
  readonly absent?: boolean
  /** Subject; a complete sentence if `doubt` or `absent` is set. */
  readonly what: string
  /** Expected and actual value; always present, except with `doubt` or `absent`. */
  readonly expected?: string
  readonly actual?: string
  /** Exchanges (`#3`) and ledger entries (`@7`) that show the result. */
  readonly see?: readonly string[]
}

export interface Judging {
  readonly evidence: Evidence
  /** Evidence of all checks by name, for a check over the whole run. */
  readonly all: ReadonlyMap<string, Evidence>
  readonly target: Target
  /** True if the parts of a requirement marked "Waybill" are also judged. */
  readonly waybill: boolean
}

export interface Check {
  /** Id of the requirement, such as `PURE-01`. */
  readonly id: string
  /** Capabilities that the target file must declare; otherwise the check does not apply. */
  readonly needs?: readonly Capability[]
  /** Check that provides the evidence if this check has no exercise. */
  readonly shares?: string
  /** Dialect of the calls; default: chat. */
  readonly dialect?: DialectName
  /** True for a check of relayed answers, which applies only if a provider was called in the client's dialect. */
  readonly relays?: boolean
  /** True for a check without an exercise that judges the evidence of the whole run, see `REMAINDER`. */
  readonly overRun?: true
  /** Maximum duration of the exercise, ms. The default of 60 s allows for a busy machine. */
  readonly timeout?: number
  /**
   * True if the check deliberately does things that may crash a gateway: strange requests, broken connections
   * on either side. A gateway that is gone afterwards has failed (the fact `gone` has the reason). If the
   * suite started the gateway, the suite restarts it and the run continues. After any other check, a gateway
   * that is gone ends the run.
   */
  readonly hostile?: boolean
  /** True if the check burdens the target. It then runs against another machine only if the user asks for it. */
  readonly stress?: true
  /**
   * First major version of the suite with evidence that the check can judge; earlier versions tested
   * something else.
   */
  readonly since?: number
  /** Makes the calls. Throws only for a fault of the suite; all behaviour of the target is evidence. */
  exercise?(session: CheckContext): Promise<void>
  /**
   * Judges the evidence. Returns at least one finding; an empty list counts as a fault of the suite, never as
   * a pass.
   */
  judge(judging: Judging): Finding[]
}

export const finding = (
  id: string,
  ok: boolean,
  /** Subject of the finding. */
  what: string,
  compared: { readonly expected: string; readonly actual: string },
  see: readonly string[] = [],
): Finding => ({ id, ok, what, ...compared, see })

/** Returns a finding that leaves the question open. */
export const doubt = (id: string, what: string, see: readonly string[] = []): Finding => ({
  id,
  ok: false,
  doubt: true,
  what,
  see,
})

/** Returns a finding that makes the check not apply. */
export const absent = (id: string, what: string, see: readonly string[] = []): Finding => ({
  id,
  ok: false,
  absent: true,
  what,
  see,
})

/** Formats a finding: `Retry-After of the provider: expected 7, seen nothing`. */
export const sentenceOf = ({
  what,
  expected,
  actual,
}: {
  what: string
  expected?: string | undefined
  actual?: string | undefined
}): string =>
  expected === undefined
    ? what
    : `${what}: expected ${expected}${actual === undefined ? '' : `, seen ${actual}`}`

/** Comparison: its result, its subject, the expected and the actual value, and the evidence that shows them. */
type Compared = readonly [
  ok: boolean,
  what: string,
  expected: string,
  actual: string,
  see?: readonly string[],
]

/** Comparisons by finding; see `Finding` for `advice`, `doubt` and `absent`. */
interface Comparisons {
  readonly [id: string]:
    | Compared
    | { readonly advice: Compared }
    | { readonly doubt: string }
    | { readonly absent: string }
    | false
}

/** Result of a judge. */
export type Told = Finding | Comparisons | readonly Told[]

type Judge = (judging: Judging) => Told
type Exercise = (session: CheckContext) => Promise<unknown>

/** Check as its family declares it. */
interface Declared extends Omit<Check, 'id' | 'exercise' | 'judge'> {
  readonly exercise?: Exercise | readonly Exercise[]
  readonly judge: Judge | readonly Judge[]
}

/** All checks that were declared. */
export const declared: Check[] = []

/** Returns a function that declares a check of a family, with the properties that its checks share. */
export const family =
  (shared: Partial<Declared> = {}) =>
  (id: string, check: Declared): void => {
    const { exercise, judge, ...own } = { ...shared, ...check }
    if (declared.some((each) => each.id === id)) throw new Error(`${id} is declared twice`)
    declared.push({
      id,
      ...own,
      ...(exercise && {
        exercise: async (session) => {
          for (const one of [exercise].flat()) await one(session)
        },
      }),
      judge: (judging) => [judge].flat().flatMap((one) => findings(one(judging))),
    })
  }

/** Returns findings; comparisons without evidence of their own are shown by `see`. */
function findings(told: Told, see: readonly string[] = []): Finding[] {
  if (Array.isArray(told)) return told.flatMap((each) => findings(each, see))
  if (isFinding(told as Finding | Comparisons)) return [told as Finding]
  return Object.entries(told as Comparisons).flatMap(([id, compared]) => {
    if (compared === false) return []
    if ('doubt' in compared) return [doubt(id, compared.doubt, see)]
    if ('absent' in compared) return [absent(id, compared.absent, see)]
    if ('advice' in compared) return [{ ...toFinding(id, compared.advice, see), advice: true }]
    return [toFinding(id, compared, see)]
  })
}

const isFinding = (told: Finding | Comparisons): told is Finding => typeof told.id === 'string'

const toFinding = (
  id: string,
  [ok, what, expected, actual, own]: Compared,
  see: readonly string[],
): Finding => finding(id, ok, what, { expected, actual }, own ?? see)

/** Steps whose exchanges are judged. */
interface Steps<D extends Details> {
  in(evidence: Pick<Evidence, 'exchanges'>): readonly (Exchange & { readonly details: D })[]
}

/** All exchanges of a check. */
export const everything: Steps<Details> = { in: ({ exchanges }) => exchanges }

interface Looked<D extends Details> extends Judging {
  readonly exchange: Exchange & { readonly details: D }
  readonly details: D
  /** Request that served the call. */
  readonly entry: ReturnType<typeof servedBy>
  /** True if the answer was translated. */
  readonly crossed: boolean
  /** The exchange's step, in quotation marks. */
  readonly quoted: string
}

/** Judges one exchange after the other. The exchange and the request that served it show the findings. */
export const each =
  <D extends Details>(steps: Steps<D> | readonly Steps<D>[], judge: (looked: Looked<D>) => Told): Judge =>
  (judging) =>
    ([steps].flat() as Steps<D>[]).flatMap((step) =>
      step.in(judging.evidence).flatMap((exchange) => {
        const entry = servedBy(judging.evidence, exchange)
        const looked = {
          ...judging,
          ...{ exchange, details: exchange.details, entry, quoted: `"${stepText(exchange)}"` },
          get crossed() {
            return entry !== null && isCrossed(exchange, entry)
          },
        }
        return findings(judge(looked), refs(exchange, entry))
      }),
    )

/** Values of each detail, which may depend on the target. */
type Values<D> = {
  readonly [Name in keyof D]: readonly D[Name][] | ((session: CheckContext) => readonly D[Name][])
}

type Call = (session: CheckContext, step: Step, options: ChatOptions) => Promise<unknown>

/** Makes a call, and waits until the gateway tries a failed target again, and at least `ms`. */
export const thenCoolDown =
  (ms = 0): Call =>
  async (session, at, options) => {
    await session.chat(at, options)
    await session.wait(Math.max(ms, session.target.capabilities.cooldown_ms))
  }

export const logicalIds = ({ target }: CheckContext): string[] => target.models.logical.map(({ id }) => id)
export const directIds = ({ target }: CheckContext): string[] => target.models.direct.map(({ id }) => id)

/** Makes one call for each combination of values, in order; the last detail changes fastest. */
export const callEach =
  <D extends Details>(
    step: DetailedStep<D>,
    values: Values<D>,
    options: (details: D, session: CheckContext) => ChatOptions,
    make: Call = (session, at, options) => session.chat(at, options),
  ): Exercise =>
  async (session) => {
    const all = Object.entries<Values<Details>[string]>(values).reduce<Details[]>(
      (before, [name, given]) => {
        const list = typeof given === 'function' ? given(session) : given
        return before.flatMap((one) => list.map((value) => ({ ...one, [name]: value })))
      },
      [{}],
    )
    for (const details of all as D[]) await make(session, step.with(details), options(details, session))
  }
