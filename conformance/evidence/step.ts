// Steps: named actions of an exercise, with details, by which the judge finds exchanges without parsing labels.
// Each check declares its steps once; exercise and judge use the same constants. Also the wording of findings. Pure.
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

/** Returns true for a redirect. The suite follows it under the same step if the repeated request cannot spend. */
export const isRedirect = ({ status, headers }: Pick<Exchange, 'status' | 'headers'>): boolean =>
  status !== null && status >= 300 && status < 400 && headers.location !== undefined

/** Returns true for a followed redirect: a later request of the step has its address. */
const wasFollowed = (exchange: Exchange, exchanges: readonly Exchange[]): boolean =>
  isRedirect(exchange) &&
  exchanges.some(
    ({ n, step, request }) =>
      n > exchange.n && step === exchange.step && exchange.headers.location!.endsWith(request.path),
  )

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

/** Formats a number of bytes: `64.8 MiB`. */
export function size(bytes: number): string {
  if (bytes < 2 ** 10) return `${bytes} bytes`
  const [unit, name] = bytes < 2 ** 20 ? [2 ** 10, 'KiB'] : [2 ** 20, 'MiB']
  return `${Number((bytes / unit).toFixed(1))} ${name}`
}

const OWNERS: Readonly<Record<string, string>> = {
  'key.client': "the client's key",
  'key.other': "another client's key",
  'key.admin': 'the admin key',
  'key-in-query': 'the key that was sent in the query',
}

/** Formats names of secrets: `mock.openai.key` -> `the gateway's key for openai`. */
export const secrets = (names: readonly string[]): string =>
  names
    .map((name) => {
      const provider = /^mock\.(.+)\.key$/.exec(name)?.[1]
      return provider ? `the gateway's key for ${provider}` : (OWNERS[name] ?? `the secret ${name}`)
    })
    .join(', ')

/** Formats the end of an exchange for the client: its status, or the connection error. */
export const endText = ({ status, error, end }: Pick<Exchange, 'status' | 'error' | 'end'>): string =>
  status === null ? (error ?? end) : end === 'complete' ? String(status) : `${status}, ${end}`

/** Characters around the place where two texts begin to differ. */
const SHOWN_LENGTH = 40

/** Says where two texts begin to differ, with both: `"b…" instead of "a…" from character 7 on`. */
export function difference(actual: string, expected: string): string {
  let at = 0
  while (at < expected.length && actual[at] === expected[at]) at++
  const shown = (text: string) =>
    at < text.length ? JSON.stringify(text.slice(at, at + SHOWN_LENGTH)) : 'the end'
  return `${shown(actual)} instead of ${shown(expected)} from character ${at} on`
}

export const listed = (items: readonly string[], none = 'none'): string => items.join(', ') || none
