// Every innocent, by its name. A new subject is a table in innocents/ and two lines here.
import type { Innocent } from './innocent.ts'
import { innocents as answers } from './innocents/answers.ts'
import { innocents as asking } from './innocents/asking.ts'
import { innocents as deltas } from './innocents/deltas.ts'
import { innocents as errors } from './innocents/errors.ts'
import { innocents as events } from './innocents/events.ts'
import { innocents as framing } from './innocents/framing.ts'
import { innocents as log } from './innocents/log.ts'
import { innocents as models } from './innocents/models.ts'
import { innocents as records } from './innocents/records.ts'
import { innocents as refusals } from './innocents/refusals.ts'
import { innocents as streams } from './innocents/streams.ts'
import { innocents as surfaces } from './innocents/surfaces.ts'
import { innocents as tls } from './innocents/tls.ts'
import { innocents as upstream } from './innocents/upstream.ts'
import { innocents as wire } from './innocents/wire.ts'

export const innocents: ReadonlyMap<string, Innocent> = new Map(
  [
    answers,
    asking,
    deltas,
    errors,
    events,
    framing,
    log,
    models,
    records,
    refusals,
    streams,
    surfaces,
    tls,
    upstream,
    wire,
  ].flatMap((table) => Object.entries<Innocent>(table)),
)
