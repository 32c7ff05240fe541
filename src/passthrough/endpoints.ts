// The endpoints of all operations. Each path is one endpoint, with everything below it.
import { z } from 'zod'
import type { CallContext } from '../call/context.ts'
import { GatewayError } from '../core/errors.ts'
import { DIALECTS } from '../dialects/registry.ts'
import type { CallEndpoint } from '../http/endpoint.ts'
import { detached } from '../shared/boundary.ts'
import { PassthroughCall } from './call.ts'
import { OPERATIONS, type Operation, type Owner, operationAt, ownerOf } from './operations.ts'

/** Lines of the endpoints table in the documentation, by group. */
const SUMMARIES: Readonly<Record<Operation['group'], string>> = {
  audio: 'speech, transcriptions and translations; recorded and relayed, spends money',
  moderations: 'moderations; recorded and relayed, free of charge at OpenAI',
  rerank: 'ranking of documents, in the format of Cohere or Jina; recorded and relayed, spends money',
  completions: "OpenAI's older completions, streamed or not; recorded and relayed, spends money",
  'image-edits': 'edits and variations of pictures; recorded and relayed, spends money',
  files: 'files that a provider stores for the key that sent them; recorded and relayed, no inference',
  batches: 'batches; recorded and relayed; starting a batch spends money, other requests do not',
  skills: 'skills that a provider stores for the key that sent them; recorded and relayed, no inference',
  decisions:
    'typed answers to questions about an input, of OpenAI or Google; recorded and relayed, spends money',
}

/** Returns the path at which an operation is mounted. The part from the id on is parsed later. */
const mountedAt = ({ path }: Operation): string => path.replace(/\{id\}.*$/, '*')

/** Returns the endpoints. Each exists only while the configuration enables its group. */
export const passthroughEndpoints = (): CallEndpoint<CallContext>[] =>
  [...Map.groupBy(OPERATIONS, mountedAt)].map(([path, operations]) => {
    const { group, owner } = operations[0]!
    const owners = new Set(operations.map((each) => each.owner))
    const client = (of: Owner) => DIALECTS[of].client
    const { errorBody, errorSchema, requestIdHeader } = client(owner)
    return {
      ...{ path, errorBody, errorSchema, requestIdHeader },
      ...(owner === 'gemini' && { keyParameter: 'key' }),
      ...(owners.size > 1 && { wordingFor: (headers) => client(ownerOf(headers)) }),
      methods: [...new Set(operations.map(({ method }) => method))],
      summary: SUMMARIES[group],
      request: z.unknown(),
      isOpen: ({ config }) => config.passthrough.includes(group),
      handle(admitted, response, context) {
        const asked = path.replace('*', () => admitted.rest)
        const found = operationAt(admitted.request.method!, asked, admitted.request.headers)
        if (!found) throw new GatewayError('not_found', `There is nothing at ${path}.`)
        const call = new PassthroughCall(found, admitted, response, context)
        detached(call.run(), call.broken)
      },
    } satisfies CallEndpoint<CallContext>
  })
