// A check: an exercise, which calls the target and writes down what it saw, and a judge, a pure function of
// that. The judge runs after the exercise, and again whenever a verdict is doubted.

import type { DialectName } from '../dialects/dialect.ts'
import type { Evidence } from '../evidence/evidence.ts'
import type { Capability, Target } from '../target/schema.ts'
import type { CheckContext } from './context.ts'

/** Result of one comparison by a judge. */
export interface Finding {
  /**
   * Name, the same in every run: `no-key-in-answers`. With the id of the check it is the key by which a
   * baseline excuses it, and by which the self-test requires that some must-fail gateway fails it. Several findings
   * of one id are one question about several exchanges.
   */
  readonly id: string
  readonly ok: boolean
  /**
   * True if it does not hold but the target cannot be shown to be at fault: unless something else fails, the
   * check is untestable.
   */
  readonly doubt?: boolean
  /**
   * True for a part of a MUST that is only a SHOULD for gateways other than Waybill: unless something else
   * fails, it is a warning.
   */
  readonly advice?: boolean
  /**
   * True if the question does not arise: the target refuses in good form what only some can do. Unless
   * something fails, the check does not apply.
   */
  readonly absent?: boolean
  /** Subject; for a doubt and for what is absent, a complete sentence. */
  readonly what: string
  /** Always present, except on a finding with `doubt` or `absent`. */
  readonly expected?: string
  readonly actual?: string
  /** Exchanges (`#3`) and ledger entries (`@7`) that show it. */
  readonly see?: readonly string[]
}

export interface Judging {
  readonly evidence: Evidence
  /** Evidence of every check of the run by name, for a check over the run. */
  readonly all: ReadonlyMap<string, Evidence>
  readonly target: Target
  /** True if the parts of a requirement that say "Waybill" are judged too. */
  readonly waybill: boolean
}

export interface Check {
  /** Requirement that it checks, such as `PURE-01`. */
  readonly id: string
  /** Capabilities that the target file must declare, or the check does not apply. */
  readonly needs?: readonly Capability[]
  /** Check whose evidence this check judges too, instead of having an exercise of its own. */
  readonly shares?: string
  /** Dialect of its calls; default chat. */
  readonly dialect?: DialectName
  /**
   * True if it is about relayed answers: it does not apply unless some provider was called in the client's
   * dialect.
   */
  readonly relays?: boolean
  /** True if it has no exercise and is judged over the evidence of the whole run, see `REMAINDER`. */
  readonly overRun?: true
  /** Maximum duration of the exercise, ms. The default of 60 s allows for a busy machine. */
  readonly timeout?: number
  /**
   * True if it deliberately does what may crash a gateway: strange requests, connections that break on either
   * side. One that is gone after it has failed (the fact `gone` has the reason); it is started again if the
   * suite started it, and the run goes on. After any other check the run ends.
   */
  readonly hostile?: boolean
  /** True if it burdens the target: at an address that is not this machine only if the user asks for it. */
  readonly stress?: true
  /** First major version of the suite whose evidence it can judge; earlier ones tested something else. */
  readonly since?: number
  /** Throws only for a fault of the suite; whatever the target does is evidence. */
  exercise?(session: CheckContext): Promise<void>
  /** Returns at least one finding; none counts as a fault of the suite, never as a pass. */
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

/** Returns a finding by which the check does not apply. */
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
