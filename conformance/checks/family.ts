// How checks are declared: a file has the checks of a family about one subject, and each check registers
// itself. A judge may return its comparisons by the ids of their findings.
import { refs, servedBy } from '../dialects/lookup.ts'
import { isCrossed } from '../dialects/registry.ts'
import type { Details, Evidence, Exchange } from '../evidence/evidence.ts'
import { type DetailedStep, type Step, stepText } from '../evidence/step.ts'
import { absent, type Check, doubt, type Finding, finding, type Judging } from './check.ts'
import type { ChatOptions, CheckContext } from './context.ts'

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
