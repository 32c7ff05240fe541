// Lists of all endpoints: reads, calls, and other endpoints. The documentation, the OpenAPI document and the
// tests use these lists. Independent of a running gateway.
import manifest from '../../package.json' with { type: 'json' }
import { countEndpoints } from '../call/count-tokens.ts'
import { keptAnswersEndpoints } from '../call/kept-answers.ts'
import { callEndpoints } from '../call/plain-call.ts'
import { DIALECTS, type Dialects } from '../dialects/registry.ts'
import { exported } from '../endpoints/export.ts'
import { health, healthz, hello, metrics, openapi, readyz, recordings } from '../endpoints/health.ts'
import { forgetKept, keptCall, keptCalls } from '../endpoints/kept.ts'
import { keys, ownKeyRead } from '../endpoints/keys.ts'
import { live } from '../endpoints/live.ts'
import { model, models, publicModel, publicModels } from '../endpoints/models.ts'
import { SIGN_IN } from '../endpoints/page.ts'
import {
  artifact,
  learnedRefusals,
  refusedCalls,
  requestLog,
  requestLogs,
} from '../endpoints/request-logs.ts'
import { autoRouting, resolve, routes, whatIf } from '../endpoints/routes.ts'
import { statusline } from '../endpoints/statusline.ts'
import { sessionRead, sessions, usageHistory, usageLogs } from '../endpoints/usage.ts'
import { type OpenApi, openApi } from '../http/openapi.ts'
import { passthroughEndpoints } from '../passthrough/endpoints.ts'

/** All read endpoints in the order of the documentation. If two paths match, the first one answers. */
export const READS = [
  healthz,
  readyz,
  hello,
  models,
  model,
  publicModels,
  publicModel,
  resolve,
  requestLogs,
  artifact,
  keptCall,
  requestLog,
  refusedCalls,
  usageLogs,
  usageHistory,
  whatIf,
  sessions,
  sessionRead,
  keptCalls,
  autoRouting,
  routes,
  ownKeyRead,
  keys,
  learnedRefusals,
  recordings,
  health,
  statusline,
  metrics,
  openapi,
]
/** Returns the endpoints for calls. */
export const callsOf = (dialects: Dialects) =>
  Object.values(dialects).flatMap(({ client }) => [
    ...callEndpoints(client),
    ...(client.counting ? countEndpoints(client, client.counting) : []),
    ...(client.keptAnswers ? keptAnswersEndpoints(client, client.keptAnswers) : []),
  ])
/** Endpoints that are relayed without interpretation. All are disabled by default. */
export const PASSTHROUGH = passthroughEndpoints()
export const CALLS = [...callsOf(DIALECTS), ...PASSTHROUGH]
/** Endpoints other than JSON reads and calls. The page's files are not part of the interface. */
export const OTHERS = [exported, live, forgetKept, ...SIGN_IN]

let document: OpenApi | undefined
/** Builds the OpenAPI document on request, because it takes some ms and some MiB. */
export const openApiDocument = (): OpenApi => {
  document ??= openApi({ version: manifest.version, reads: READS, calls: CALLS, others: OTHERS })
  return document
}
