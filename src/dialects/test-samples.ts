// Samples of each dialect's wire format, for the tests of all dialects. These tests fail to start if a
// dialect has no samples.
import type { Dialect } from './dialect.ts'
import { DIALECTS } from './registry.ts'
import type { Samples } from './test-sample-type.ts'
import { toy } from './toy/test-toy.ts'

/** Every registered dialect, and the toy dialect of the tests. */
export const ALL: readonly (readonly [name: string, dialect: Dialect, samples: Samples])[] =
  await Promise.all(
    Object.entries({ ...DIALECTS, toy }).map(async ([name, dialect]) => {
      const { samples } = (await import(`./${name}/test-samples.ts`)) as { samples: Samples }
      return [name, dialect, samples] as const
    }),
  )

/** A request of a registered dialect, as sent over a socket. */
export interface SampleCall {
  readonly dialect: string
  /** Path with the model in place of `*`. */
  readonly path: string
  readonly hasModelInPath: boolean
  readonly query: string
  readonly body: string
  /** True for a counting request. */
  readonly counts: boolean
  readonly forwarded: readonly string[]
}

/**
 * Returns a request of each kind and at each path of the registered dialects. `write` inserts the model into
 * a path.
 */
export function callsFor(
  idIn: (dialect: string) => string,
  write: (id: string) => string = encodeURIComponent,
): SampleCall[] {
  return ALL.filter(([name]) => name in DIALECTS).flatMap(([dialect, { client }, samples]) => {
    const id = idIn(dialect)
    const { counting, path, alsoAt = [] } = client
    const call = (at: { path: string; query: string }, stream = false, counts = false): SampleCall => ({
      dialect,
      path: at.path.replace('*', () => write(id)),
      hasModelInPath: at.path.includes('*'),
      query: at.query,
      body: samples.request(id, stream),
      counts,
      forwarded: samples.forwarded ?? [],
    })
    const streamed = samples.arrival?.(id, true) ?? { path, query: '' }
    return [
      ...[path, ...alsoAt].map((path) => call({ path, query: '' })),
      ...(samples.stream('m') === '' ? [] : [call(streamed, true)]),
      ...(counting ? [counting.path, ...(counting.alsoAt ?? [])] : []).map((path) =>
        call({ path, query: '' }, false, true),
      ),
    ]
  })
}
