// Every must-pass gateway by its name. A new subject is a table in must-pass/ and two lines here.
import type { Innocent } from '../innocent.ts'
import { innocents as answers } from './answers.ts'
import { innocents as asking } from './asking.ts'
import { innocents as deltas } from './deltas.ts'
import { innocents as dialects } from './dialects.ts'
import { innocents as errors } from './errors.ts'
import { innocents as events } from './events.ts'
import { innocents as forms } from './forms.ts'
import { innocents as framing } from './framing.ts'
import { innocents as log } from './log.ts'
import { innocents as messages } from './messages.ts'
import { innocents as models } from './models.ts'
import { innocents as records } from './records.ts'
import { innocents as refusals } from './refusals.ts'
import { innocents as responses } from './responses.ts'
import { innocents as streams } from './streams.ts'
import { innocents as tls } from './tls.ts'
import { innocents as upstream } from './upstream.ts'
import { innocents as wire } from './wire.ts'

const subjects = {
  answers,
  asking,
  deltas,
  errors,
  events,
  forms,
  framing,
  log,
  messages,
  models,
  records,
  refusals,
  responses,
  streams,
  dialects,
  tls,
  upstream,
  wire,
}

export const innocents: ReadonlyMap<string, Innocent> = new Map(
  Object.values(subjects).flatMap((table) => Object.entries<Innocent>(table)),
)

/** Returns the file of a gateway's table: `selftest/must-pass/wire.ts`. */
export const fileOf = (name: string): string =>
  `selftest/must-pass/${Object.entries(subjects).find(([, table]) => Object.hasOwn(table, name))![0]}.ts`
