// What each dialect looks like on the wire, for the tests that run over all of them. A dialect without samples does not
// pass the type checker.

import { samples as chat } from './chat/test-samples.ts'
import type { Dialect } from './dialect.ts'
import { samples as embeddings } from './embeddings/test-samples.ts'
import { samples as gemini } from './gemini/test-samples.ts'
import { samples as images } from './images/test-samples.ts'
import { samples as messages } from './messages/test-samples.ts'
import { DIALECTS } from './registry.ts'
import { samples as responses } from './responses/test-samples.ts'
import type { Samples } from './test-sample-type.ts'
import { samples as toySamples } from './toy/test-samples.ts'
import { toy } from './toy/toy.ts'

/** Every dialect that is registered, and the one of the tests. */
export const ALL: readonly (readonly [name: string, dialect: Dialect, samples: Samples])[] = [
  ...Object.entries({ chat, messages, responses, embeddings, images, gemini } satisfies Record<
    keyof typeof DIALECTS,
    Samples
  >).map(([name, samples]) => [name, DIALECTS[name as keyof typeof DIALECTS], samples] as const),
  ['toy', toy, toySamples],
]
