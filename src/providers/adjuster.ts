// Omits or replaces members of a request that its model refuses: members refused earlier and, once for each
// target, a member that was just refused. A refusal is remembered if the same request was accepted without
// the member. Independent of dialects and providers.
import { type Target, targetId } from '../core/call.ts'
import type { Translation, UpstreamDialect } from '../dialects/dialect.ts'
import { type RefusedMember, refusedMember, withoutRefusedMembers } from '../dialects/optional-members.ts'
import type { LearnedRefusals } from '../models/learned.ts'
import { type Failure, failure, providerErrorIn, type Whole } from './attempt-result.ts'

export interface AdjusterOptions {
  /**
   * Setting `on_refused` of the route. By default, a translated request is adjusted and a relayed one is not.
   */
  readonly onRefused: 'relay' | 'adjust' | undefined
  readonly learned: LearnedRefusals
}

/** Statuses with which providers refuse content. */
const REFUSALS = [400, 422]

export class Adjuster {
  readonly #options: AdjusterOptions
  #target: Target | null = null
  #upstream: UpstreamDialect | null = null
  #isOn = false
  /** The sent body, while its refusal may still be learned from. */
  #body: string | null = null
  /** Member that the target has just refused; null if there is none. */
  #refused: ReturnType<typeof refusedMember> = null
  /** True once the request was repeated for this target because of a refusal. */
  #wasAskedAgain = false
  /** Members that the current attempt leaves out. */
  leftOut: readonly string[] = []

  constructor(options: AdjusterOptions) {
    this.#options = options
  }

  /** Begins an attempt. */
  begin(target: Target, upstream: UpstreamDialect, translation: Translation | null): void {
    if (target !== this.#target) {
      this.#refused = null
      this.#wasAskedAgain = false
    }
    this.#target = target
    this.#upstream = upstream
    this.#isOn = (this.#options.onRefused ?? (translation ? 'adjust' : 'relay')) === 'adjust'
    this.leftOut = []
  }

  /** Returns the body to send to the target. */
  fit(body: string, translation: Translation | null): string {
    const { optional } = this.#upstream!
    if (!this.#isOn || !optional) return body
    const { provider, model } = this.#target!
    const known: RefusedMember[] = [...this.#options.learned.of(provider, model)]
    if (this.#refused) known.push(this.#refused.refused)
    const { body: fitting, leftOut, losses } = withoutRefusedMembers(optional, body, known)
    for (const loss of losses) translation?.lose(loss)
    this.leftOut = leftOut
    this.#body = this.#wasAskedAgain ? null : fitting
    return fitting
  }

  /** Returns the record of this attempt if the request should be repeated; null if its answer is final. */
  askAgain(answer: Whole): Failure | null {
    const body = this.#body
    this.#body = null
    const { optional } = this.#upstream!
    if (body === null || !optional || !REFUSALS.includes(answer.status) || this.#wasAskedAgain) return null
    const error = providerErrorIn(answer.body, this.#upstream!)
    this.#refused = error && refusedMember(optional, body, error)
    if (!this.#refused) return null
    this.#wasAskedAgain = true
    const message = `${targetId(this.#target!)}: ${error!.message}`
    return { ...failure('failed', 'upstream_error', message, answer), body: answer.body, error }
  }

  /** Remembers the earlier refusal, because the target has now accepted the request. */
  accepted(): void {
    const { provider, model } = this.#target!
    if (this.#refused?.isAlone) this.#options.learned.add({ provider, model, ...this.#refused.refused })
    this.#refused = null
    this.#body = null
  }
}
