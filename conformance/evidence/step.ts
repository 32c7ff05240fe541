// Steps: named actions of an exercise, with details. The judge uses them to find exchanges without parsing
// labels. Each check declares its steps once; exercise and judge use the same constants. Pure.

import { wasFollowed } from '../dialects/lookup.ts'
import type { Details, Evidence, Exchange } from './evidence.ts'

/** Step that a request belongs to, as passed to `Session`. */
export interface Step {
  readonly step: string
  readonly details: Details
}

interface Found<D extends Details> {
  /** Returns the exchanges of this step in order, without redirects that were followed. */
  in(evidence: Pick<Evidence, 'exchanges'>): (Exchange & { readonly details: D })[]
}

/** Step without details, used directly. */
export interface PlainStep extends Step, Found<Details> {}

/** Step with details, made once for each call. */
export interface DetailedStep<D extends Details> extends Found<D> {
  with(details: D): Step
}

export function step(name: string): PlainStep
export function step<D extends Details>(name: string): DetailedStep<D>
export function step<D extends Details>(name: string): PlainStep & DetailedStep<D> {
  return {
    step: name,
    details: {},
    with: (details) => ({ step: name, details }),
    in: ({ exchanges }) =>
      exchanges.filter((each) => each.step === name && !wasFollowed(each, exchanges)) as (Exchange & {
        details: D
      })[],
  }
}

/** Record of a call, read by `Session.record`. */
const record = step<{ of: number }>('record')
export const recordStep = (of: number): Step => record.with({ of })
export const recordExchange = (evidence: Evidence, { n }: Pick<Exchange, 'n'>): Exchange | undefined =>
  record.in(evidence).find(({ details }) => details.of === n)

/** Formats a step for reports: `call (scenario plain, streamed)`. */
export function stepText({ step: name, details }: Pick<Exchange, 'step' | 'details'>): string {
  const said = Object.entries(details).flatMap(([key, value]) =>
    value === false ? [] : [value === true ? (key === 'stream' ? 'streamed' : key) : `${key} ${value}`],
  )
  return said.length > 0 ? `${name} (${said.join(', ')})` : name
}
