// Samples of each dialect on the wire, for the tests that run over all of them. They fail to start if a dialect has no
// samples.
import type { Dialect } from './dialect.ts'
import { DIALECTS } from './registry.ts'
import type { Samples } from './test-sample-type.ts'
import { toy } from './toy/toy.ts'

/** Every dialect that is registered, and the one of the tests. */
export const ALL: readonly (readonly [name: string, dialect: Dialect, samples: Samples])[] =
  await Promise.all(
    Object.entries({ ...DIALECTS, toy }).map(async ([name, dialect]) => {
      const { samples } = (await import(`./${name}/test-samples.ts`)) as { samples: Samples }
      return [name, dialect, samples] as const
    }),
  )
