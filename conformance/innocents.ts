// Every innocent, by its name. A new subject is a table in innocents/ and two lines here.
import type { Innocent } from './innocent.ts'
import { innocents as answers } from './innocents/answers.ts'
import { innocents as errors } from './innocents/errors.ts'
import { innocents as log } from './innocents/log.ts'
import { innocents as streams } from './innocents/streams.ts'
import { innocents as upstream } from './innocents/upstream.ts'
import { innocents as wire } from './innocents/wire.ts'

export const innocents: ReadonlyMap<string, Innocent> = new Map(
  [wire, answers, streams, errors, log, upstream].flatMap((table) => Object.entries<Innocent>(table)),
)
