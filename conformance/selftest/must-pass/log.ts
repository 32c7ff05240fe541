// Gateways with an unusual request log.

import { sleep } from '../../../src/shared/clock.ts'
import type { Target } from '../../target/schema.ts'
import { callIn, changeEvent, changeJson, type Json, type MustPass } from '../gateway.ts'
import type { Wanted } from '../wire.ts'

const LOG = '/api/usage/request-logs'

/** Changes every record in an answer of the log: the items of a list, or the single record. */
const eachRecord = (body: string, change: (record: Json) => object): string =>
  changeJson(body, (json) =>
    Array.isArray(json.data)
      ? { ...json, data: json.data.map(change) }
      : json.id === undefined
        ? json
        : change(json),
  )

/** Numbers and ids of calls, for a log that numbers its calls. */
const numbers = new Map<string, number>()
const numberOf = (id: string): number => {
  if (!numbers.has(id)) numbers.set(id, 1_000 + numbers.size)
  return numbers.get(id)!
}

/** Removes the header with the request id from the target. */
const withoutIdHeader = ({ observability, ...target }: Target): Target => {
  const { request_id: _, ...headers } = observability.headers
  return { ...target, observability: { ...observability, headers } }
}

/** Request id of an answer from which the header was removed. */
const taken = new WeakMap<Wanted, string>()

export const mustPass = {
  'tells-no-id': {
    what: 'Answers contain no request id, and the only new record belongs to the call.',
    target: withoutIdHeader,
    hooks: {
      responseStart({ headers }) {
        delete headers['x-gateway-request-id']
      },
    },
  },
  'id-in-the-body': {
    what: 'The request id is in the body of a whole answer, or in the first event of a stream.',
    target: (given) => {
      const { observability, ...target } = withoutIdHeader(given)
      return { ...target, observability: { ...observability, request_id_pointer: '/gateway/id' } }
    },
    hooks: {
      responseStart({ headers }, wanted) {
        taken.set(wanted, String(headers['x-gateway-request-id']))
        delete headers['x-gateway-request-id']
      },
      body: (body, wanted) =>
        callIn(wanted) ? changeJson(body, (json) => ({ ...json, gateway: { id: taken.get(wanted) } })) : body,
      event: (event, index, wanted) =>
        index === 0
          ? changeEvent(event, (json) => ({ ...json, gateway: { id: taken.get(wanted) } }))
          : [event],
    },
  },
  'keys-in-x-api-key': {
    what: 'Keys are sent only in `x-api-key`.',
    // Clients cannot send their own credentials.
    target: (target) => {
      const { caller_credentials: _, ...capabilities } = target.capabilities
      return { ...target, capabilities, key_header: 'X-API-Key' }
    },
    hooks: {
      request({ headers }) {
        delete headers.authorization
      },
    },
  },
  'counts-its-calls': {
    what: 'The gateway uses numbers as request ids.',
    hooks: {
      request(wanted) {
        const number = Number(new RegExp(`^${LOG}/(\\d+)$`).exec(wanted.path)?.[1])
        const id = [...numbers].find(([, each]) => each === number)?.[0]
        if (id !== undefined) wanted.path = `${LOG}/${id}`
      },
      responseStart({ headers }) {
        const id = headers['x-gateway-request-id']
        if (id !== undefined) headers['x-gateway-request-id'] = String(numberOf(String(id)))
      },
      body: (body, { path }) =>
        path.startsWith(LOG) ? eachRecord(body, (record) => ({ ...record, id: numberOf(record.id) })) : body,
    },
  },
  'decimals-as-text': {
    what: 'Durations and costs are decimals in quotes, as databases return them.',
    hooks: {
      body: (body, { path }) =>
        path.startsWith(LOG)
          ? eachRecord(body, (record) => ({
              ...record,
              latency_ms: record.latency_ms === null ? null : String(record.latency_ms),
              cost_usd: record.cost_usd === null ? null : record.cost_usd.toFixed(9),
            }))
          : body,
    },
  },
  'a-slow-log': {
    what: 'The log takes 1.3 s to answer, but its content is as recent as declared.',
    hooks: {
      async request({ path }) {
        if (path.startsWith(LOG)) await sleep(1_300)
      },
    },
  },
  'only-a-list': {
    what: 'The log has a list but no path for a single record.',
    target: (target) => {
      const { one: _, attempts: __, ...log } = target.observability.log!
      return { ...target, observability: { ...target.observability, log } }
    },
    hooks: {},
  },
} satisfies Record<string, MustPass>
