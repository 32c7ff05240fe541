// All must-fail gateways by name. A new family is a table in must-fail/ and two lines here.
import type { MustFail } from '../gateway.ts'
import { mustFail as cat } from './cat.ts'
import { mustFail as claudeCode } from './claude-code.ts'
import { mustFail as cost } from './cost.ts'
import { mustFail as dialects } from './dialects.ts'
import { mustFail as fail } from './fail.ts'
import { mustFail as fit } from './fit.ts'
import { mustFail as flow } from './flow.ts'
import { mustFail as gemini } from './gemini.ts'
import { mustFail as images } from './images.ts'
import { mustFail as keep } from './keep.ts'
import { mustFail as life } from './life.ts'
import { mustFail as log } from './log.ts'
import { mustFail as messages } from './messages.ts'
import { mustFail as native } from './native.ts'
import { mustFail as passthrough } from './passthrough.ts'
import { mustFail as pure } from './pure.ts'
import { mustFail as responses } from './responses.ts'
import { mustFail as responsesKept } from './responses-kept.ts'
import { mustFail as route } from './route.ts'
import { mustFail as server } from './server.ts'
import { mustFail as state } from './state.ts'
import { mustFail as suite } from './suite.ts'
import { mustFail as tell } from './tell.ts'
import { mustFail as translatedCalls } from './translated-calls.ts'
import { mustFail as translatedMessages } from './translated-messages.ts'
import { mustFail as translatedResponses } from './translated-responses.ts'
import { mustFail as translations } from './translations.ts'
import { mustFail as use } from './use.ts'

const families = {
  ...{
    cat,
    cost,
    dialects,
    fail,
    fit,
    flow,
    gemini,
    images,
    keep,
    life,
    log,
    messages,
    native,
    passthrough,
    pure,
    responses,
    route,
    server,
    state,
    suite,
  },
  ...{ tell, translations, use },
  'claude-code': claudeCode,
  'responses-kept': responsesKept,
  'translated-calls': translatedCalls,
  'translated-messages': translatedMessages,
  'translated-responses': translatedResponses,
}

export const mustFail: ReadonlyMap<string, MustFail> = new Map(
  Object.values(families).flatMap((table) => Object.entries<MustFail>(table)),
)

/** Returns the file of a gateway's table: `selftest/must-fail/keep.ts`. */
export const fileOf = (name: string): string =>
  `selftest/must-fail/${Object.entries(families).find(([, table]) => Object.hasOwn(table, name))![0]}.ts`
