// Every must-fail gateway by its name. A new family is a table in must-fail/ and two lines here.
import type { Fault } from '../fault.ts'
import { faults as cat } from './cat.ts'
import { faults as dialects } from './dialects.ts'
import { faults as fail } from './fail.ts'
import { faults as flow } from './flow.ts'
import { faults as keep } from './keep.ts'
import { faults as life } from './life.ts'
import { faults as log } from './log.ts'
import { faults as messages } from './messages.ts'
import { faults as native } from './native.ts'
import { faults as pure } from './pure.ts'
import { faults as responses } from './responses.ts'
import { faults as route } from './route.ts'
import { faults as suite } from './suite.ts'
import { faults as tell } from './tell.ts'
import { faults as translatedCalls } from './translated-calls.ts'
import { faults as translatedMessages } from './translated-messages.ts'
import { faults as translatedResponses } from './translated-responses.ts'
import { faults as translations } from './translations.ts'
import { faults as use } from './use.ts'

const families = {
  ...{ cat, dialects, fail, flow, keep, life, log, messages, native, pure, responses, route, suite },
  ...{ tell, translations, use },
  'translated-calls': translatedCalls,
  'translated-messages': translatedMessages,
  'translated-responses': translatedResponses,
}

export const faults: ReadonlyMap<string, Fault> = new Map(
  Object.values(families).flatMap((table) => Object.entries<Fault>(table)),
)

/** Returns the file of a gateway's table: `selftest/must-fail/keep.ts`. */
export const fileOf = (name: string): string =>
  `selftest/must-fail/${Object.entries(families).find(([, table]) => Object.hasOwn(table, name))![0]}.ts`
