// Check: an exercise, which calls the target and records evidence, and a judge, which is a pure function of
// the evidence. The judge runs after the exercise, and can run again at any time.

import type { DialectName } from '../dialects/dialect.ts'
import type { Evidence } from '../evidence/evidence.ts'
import type { Capability, Target } from '../target/schema.ts'
import type { CheckContext } from './context.ts'

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
