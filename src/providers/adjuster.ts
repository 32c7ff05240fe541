// Leaves out of a request, or replaces, what its model refuses: what was learned before, and what it has just refused, once for each
// target. A refusal is remembered if the same request without the member was accepted. Knows no dialect and no provider.
import { type Target, targetId } from '../core/call.ts'
import type { Translation, UpstreamDialect } from '../dialects/dialect.ts'
import { type RefusedMember, refusedMember, withoutRefusedMembers } from '../dialects/optional-members.ts'
import type { LearnedRefusals } from '../models/learned.ts'
import { type Failure, failure, providerErrorIn, type Whole } from './attempt-result.ts'

export interface AdjusterOptions {
  /** `on_refused` of the route; by default, a translated request is adjusted and a relayed one is not. */
  readonly onRefused: 'relay' | 'adjust' | undefined
  readonly learned: LearnedRefusals
}

/** Statuses with which providers refuse content that they do not accept. */
const REFUSALS = [400, 422]

export class Adjuster {
  readonly #options: AdjusterOptions
  #target: Target | null = null
  #upstream: UpstreamDialect | null = null
  #isOn = false
  /** The body that was sent, as long as its refusal may be learned from. */
  #body: string | null = null
  /** Member that the target has just refused. */
  #refused: ReturnType<typeof refusedMember> = null
  /** True once the target was asked again because of a refusal. */
  #wasAskedAgain = false
  /** Members that the present attempt leaves out. */
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

  /** Returns the body to send. */
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

  /** Returns the record of this attempt if the target is to be asked again; null if its answer is final. */
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

  /** The target accepted the request: what it refused before is remembered. */
  accepted(): void {
    const { provider, model } = this.#target!
    if (this.#refused?.isAlone) this.#options.learned.add({ provider, model, ...this.#refused.refused })
    this.#refused = null
    this.#body = null
  }
}
