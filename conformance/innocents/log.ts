// Gateways whose request log is unusual.
import { setTimeout as sleep } from 'node:timers/promises'
import { changeJson } from '../fault.ts'
import type { Innocent } from '../innocent.ts'

const LOG = '/api/usage/request-logs'

/** Changes every record that a log answer holds: the items of its list, or the one. */
// biome-ignore lint/suspicious/noExplicitAny: foreign JSON
const eachRecord = (body: string, change: (record: Record<string, any>) => object): string =>
  changeJson(body, (json) =>
    Array.isArray(json.data)
      ? { ...json, data: json.data.map(change) }
      : json.id === undefined
        ? json
        : change(json),
  )

/** Number <-> id, for a log that counts its calls. */
const numbers = new Map<string, number>()
const numberOf = (id: string): number => {
  if (!numbers.has(id)) numbers.set(id, 1_000 + numbers.size)
  return numbers.get(id)!
}

export const innocents = {
  'counts-its-calls': {
    what: 'Request ids are numbers.',
    hooks: {
      request(wanted) {
        const number = Number(new RegExp(`^${LOG}/(\\d+)$`).exec(wanted.path)?.[1])
        const id = [...numbers].find(([, each]) => each === number)?.[0]
        if (id !== undefined) wanted.path = `${LOG}/${id}`
      },
      head({ headers }) {
        const id = headers['x-gateway-request-id']
        if (id !== undefined) headers['x-gateway-request-id'] = String(numberOf(String(id)))
      },
      body: (body, { path }) =>
        path.startsWith(LOG) ? eachRecord(body, (record) => ({ ...record, id: numberOf(record.id) })) : body,
    },
  },
  'decimals-as-text': {
    what: 'Durations and costs are decimals in quotes, as databases give them.',
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
    what: 'The log takes 1.3 s to answer; what it says is as new as promised.',
    hooks: {
      async request({ path }) {
        if (path.startsWith(LOG)) await sleep(1_300)
      },
    },
  },
  'only-a-list': {
    what: 'There is no path for one record, only the list.',
    target: (target) => {
      const { one: _, attempts: __, ...log } = target.observability.log!
      return { ...target, observability: { ...target.observability, log } }
    },
    hooks: {},
  },
} satisfies Record<string, Innocent>
