// What a check is: an exercise, which talks to the target and writes down what it saw, and a judge, which is a
// pure function of that. The judge runs after the exercise, and again whenever a verdict is doubted.
import type { Evidence } from './evidence.ts'
import type { Session } from './session.ts'
import type { SurfaceName } from './surface.ts'
import type { Capability, Target } from './target.ts'

/** One thing that a judge looked at. */
export interface Finding {
  /**
   * What was looked at, the same in every run: `no-key-in-answers`. With the id of the check it is the name by which a
   * baseline excuses it and the kill matrix asks who ever made it false. Several of one id are one question, asked of
   * several exchanges.
   */
  readonly id: string
  readonly ok: boolean
  /** It is not ok, but it cannot be shown that the target is to blame: where nothing else fails, the check is untestable. */
  readonly doubt?: boolean
  /** What was looked at; of a doubt, a sentence that says all. */
  readonly what: string
  /** Absent only from a doubt. */
  readonly expected?: string
  readonly actual?: string
  /** The exchanges (`#3`) and ledger entries (`@7`) that show it. */
  readonly see?: readonly string[]
}

export interface Judging {
  readonly evidence: Evidence
  /** What every check of the run left behind, by name; for a check over the run. */
  readonly all: ReadonlyMap<string, Evidence>
  readonly target: Target
  /** Judged by this project's own interface too: the parts of a requirement that say "Waybill". */
  readonly waybill: boolean
}

export interface Check {
  /** The requirement that it checks, such as `PURE-01`. */
  readonly id: string
  /** What the target file must declare; without it the check does not apply. */
  readonly needs?: readonly Capability[]
  /** The check whose evidence is judged here too; then there is no exercise of its own. */
  readonly shares?: string
  /** The surface on which it makes its calls; chat where nothing is said. */
  readonly surface?: SurfaceName
  /**
   * It is about what is relayed: where no provider was asked in the dialect of the client, it does not apply.
   */
  readonly relays?: boolean
  /** It has no exercise and is judged over the evidence of the whole run, see `REMAINDER`. */
  readonly overRun?: true
  /** How long the exercise may take, ms; 30 s where nothing is said. */
  readonly timeout?: number
  /**
   * It does on purpose what may bring a gateway down: strange requests, connections that break on either side. One that
   * is gone after it has not passed (`gone` among the facts says why), is started again where the suite started it, and
   * the run goes on; after any other check the run ends.
   */
  readonly hostile?: boolean
  /** Throws only when the suite itself is at fault; whatever the target does is evidence. */
  exercise?(session: Session): Promise<void>
  /** At least one finding; none at all counts as a fault of the suite, never as a pass. */
  judge(judging: Judging): Finding[]
}

export const finding = (
  id: string,
  ok: boolean,
  /** What was looked at. */
  what: string,
  compared: { readonly expected: string; readonly actual: string },
  see: readonly string[] = [],
): Finding => ({ id, ok, what, ...compared, see })

/** A finding that leaves the question open. */
export const doubt = (id: string, what: string, see: readonly string[] = []): Finding => ({
  id,
  ok: false,
  doubt: true,
  what,
  see,
})

/** `Retry-After of the provider: expected 7, seen nothing`. */
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
