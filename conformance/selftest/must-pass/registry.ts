// All must-pass gateways by name. A new subject is a table in must-pass/ and two lines here.
import type { MustPass } from '../gateway.ts'
import { mustPass as answers } from './answers.ts'
import { mustPass as arrive } from './arrive.ts'
import { mustPass as asking } from './asking.ts'
import { mustPass as claudeCode } from './claude-code.ts'
import { mustPass as credentials } from './credentials.ts'
import { mustPass as deltas } from './deltas.ts'
import { mustPass as dialects } from './dialects.ts'
import { mustPass as errors } from './errors.ts'
import { mustPass as events } from './events.ts'
import { mustPass as forms } from './forms.ts'
import { mustPass as framing } from './framing.ts'
import { mustPass as gemini } from './gemini.ts'
import { mustPass as images } from './images.ts'
import { mustPass as log } from './log.ts'
import { mustPass as messages } from './messages.ts'
import { mustPass as models } from './models.ts'
import { mustPass as passthrough } from './passthrough.ts'
import { mustPass as records } from './records.ts'
import { mustPass as refusals } from './refusals.ts'
import { mustPass as responses } from './responses.ts'
import { mustPass as responsesKept } from './responses-kept.ts'
import { mustPass as server } from './server.ts'
import { mustPass as streams } from './streams.ts'
import { mustPass as tls } from './tls.ts'
import { mustPass as upstream } from './upstream.ts'
import { mustPass as wire } from './wire.ts'

const subjects = {
  answers,
  arrive,
  asking,
  'claude-code': claudeCode,
  credentials,
  deltas,
  errors,
  events,
  gemini,
  images,
  forms,
  framing,
  log,
  messages,
  models,
  passthrough,
  records,
  refusals,
  responses,
  'responses-kept': responsesKept,
  server,
  streams,
  dialects,
  tls,
  upstream,
  wire,
}

export const mustPass: ReadonlyMap<string, MustPass> = new Map(
  Object.values(subjects).flatMap((table) => Object.entries<MustPass>(table)),
)

/** Returns the file of a gateway's table: `selftest/must-pass/wire.ts`. */
export const fileOf = (name: string): string =>
  `selftest/must-pass/${Object.entries(subjects).find(([, table]) => Object.hasOwn(table, name))![0]}.ts`
