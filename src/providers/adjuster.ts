// Changes a request for one target. A route may configure headers and members of the body. A member that the model
// refuses is renamed, omitted or replaced: one that facts rule out, one refused earlier and, once for each target, one
// that was just refused. A refusal is remembered if the same request was accepted without the member. Independent of
// dialects and providers.
import { type ProviderError, type RequestChanges, type Target, targetId } from '../core/call.ts'
import type { ProviderAccess, ProviderRequest, Translation, UpstreamDialect } from '../dialects/dialect.ts'
import {
  type FactsIn,
  type RefusedMember,
  refusedMember,
  withoutRefusedMembers,
} from '../dialects/optional-members.ts'
import { omitMembers, spliceMembers } from '../json/splice.ts'
import type { LearnedRefusals } from '../models/learned.ts'
import { type Failure, failure, providerErrorIn, type Whole } from './attempt-result.ts'

export interface AdjusterOptions {
  /**
   * Setting `on_refused` of the route. By default, a translated request is adjusted, and a relayed one only
   * gets the names that facts know.
   */
  readonly onRefused: 'relay' | 'adjust' | undefined
  readonly learned: LearnedRefusals
}

/** Statuses with which providers refuse content. */
const REFUSALS = [400, 422]

const NONE: readonly string[] = []

/** Words of providers for a parameter that they do not know. */
const UNKNOWN_NAME =
  /\b(unsupported parameter|unknown|unrecogni[sz]ed|unexpected|extra (inputs|fields)|not (supported|permitted|allowed))\b/i

export class Adjuster {
  readonly #options: AdjusterOptions
  #target: Target | null = null
  #upstream: UpstreamDialect | null = null
  #isOn = false
  #factsOf!: NonNullable<ProviderAccess['factsOf']>
  /** The new name of the member that the current attempt renames; null if there is none. */
  #newName: string | null = null
  /** The sent body, while its refusal may still be learned from. */
  #body: string | null = null
  /** Member that the target has just refused; null if there is none. */
  #refused: ReturnType<typeof refusedMember> = null
  /** True once the request was repeated for this target because of a refusal. */
  #wasAskedAgain = false
  /** Members that the current attempt renames because of a fact. */
  renamed: readonly string[] = []
  /** Members that the current attempt renames or leaves out. */
  adjusted: readonly string[] = []

  constructor(options: AdjusterOptions) {
    this.#options = options
  }

  /** Begins an attempt. `factsOf`: facts about the provider's models. */
  begin(
    target: Target,
    upstream: UpstreamDialect,
    translation: Translation | null,
    factsOf: NonNullable<ProviderAccess['factsOf']>,
  ): void {
    if (target !== this.#target) {
      this.#refused = null
      this.#wasAskedAgain = false
    }
    this.#target = target
    this.#upstream = upstream
    this.#factsOf = factsOf
    this.#isOn = (this.#options.onRefused ?? (translation ? 'adjust' : 'relay')) === 'adjust'
    this.#newName = null
    this.renamed = NONE
    this.adjusted = NONE
  }

  /** Returns the body to send to the target. */
  fit(body: string, translation: Translation | null): string {
    const { optional = [], renamed } = this.#upstream!
    const { provider, model } = this.#target!
    const isNamed = !translation && this.#options.onRefused !== 'relay'
    const named = isNamed ? (renamed?.(body, model, this.#factsOf) ?? null) : null
    if (!this.#isOn && !named) return body
    const known: RefusedMember[] = [...this.#options.learned.of(provider, model)]
    if (this.#refused) known.push(this.#refused.refused)
    // A host of the model may know only the other name.
    const isNewName = named !== null && !known.some(({ parameter }) => parameter === named.to)
    this.#newName = isNewName ? named.to : null
    this.renamed = isNewName ? [named.from] : NONE
    const { leftOut, losses, ...made } = withoutRefusedMembers(
      optional,
      isNewName ? named.body : body,
      this.#isOn ? known : [],
      this.#factsIn,
    )
    for (const loss of losses) translation?.lose(loss)
    this.adjusted = [...this.renamed, ...leftOut]
    this.#body = this.#wasAskedAgain ? null : made.body
    return made.body
  }

  /** Returns the record of this attempt if the request should be repeated; null if its answer is final. */
  askAgain(answer: Whole): Failure | null {
    const body = this.#body
    this.#body = null
    if (body === null || !REFUSALS.includes(answer.status) || this.#wasAskedAgain) return null
    const error = providerErrorIn(answer.body, this.#upstream!)
    this.#refused = error && (this.#refusedName(error) ?? this.#refusedMember(body, error))
    if (!this.#refused) return null
    this.#wasAskedAgain = true
    const message = `${targetId(this.#target!)}: ${error!.message}`
    return { ...failure('failed', 'upstream_error', message, answer), body: answer.body, error }
  }

  readonly #factsIn: FactsIn = (dialect) => this.#factsOf(this.#target!.model, dialect)

  #refusedMember(body: string, error: ProviderError): ReturnType<typeof refusedMember> {
    const { optional } = this.#upstream!
    return this.#isOn && optional ? refusedMember(optional, body, error, this.#factsIn) : null
  }

  /** Returns the name that this attempt gave a member, if the provider does not know the name. */
  #refusedName({ message, param }: ProviderError): ReturnType<typeof refusedMember> {
    const to = this.#newName
    if (to === null || (param ?? to) !== to || !message.includes(to) || !UNKNOWN_NAME.test(message))
      return null
    return { refused: { parameter: to, value: null, isReplaced: true }, isAlone: true }
  }

  /** Remembers the earlier refusal, because the target has now accepted the request. */
  accepted(): void {
    const { provider, model } = this.#target!
    if (this.#refused?.isAlone) this.#options.learned.add({ provider, model, ...this.#refused.refused })
    this.#refused = null
    this.#body = null
  }
}

/**
 * Returns the changed request. Replaces headers of the same name; a member that is both omitted and set is
 * set.
 */
export function changed(request: ProviderRequest, { headers, set, omit }: RequestChanges): ProviderRequest {
  const names = new Set(Object.keys(headers).map((name) => name.toLowerCase()))
  const kept = request.headers.filter((_, at) => !names.has(request.headers[at - (at % 2)]!.toLowerCase()))
  const shorter = omitMembers(
    request.body,
    omit.map((member) => [member]),
  )
  return {
    ...request,
    headers: [...kept, ...Object.entries(headers).flat()],
    body: Object.keys(set).length > 0 ? spliceMembers(shorter, set) : shorter,
  }
}
