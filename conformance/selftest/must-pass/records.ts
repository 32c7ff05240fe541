// Gateways with an unusual request log, or with records in unusual words or at unusual times.
import { clock, sleep } from '../../../src/shared/clock.ts'
import type { Target } from '../../target/schema.ts'
import { callIn, changeEvent, changeJson, type Json, type MustPass } from '../gateway.ts'
import type { Wanted } from '../wire.ts'

const LOG = '/api/usage/request-logs'

type Log = NonNullable<Target['observability']['log']>

/** Returns a target with another description of its log. */
const withLog =
  (change: (log: Log) => Log) =>
  (target: Target): Target => ({
    ...target,
    observability: { ...target.observability, log: change(target.observability.log!) },
  })

/** Returns a target with another declaration of costs. */
const withCost = (change: Partial<NonNullable<Log['cost']>>) =>
  withLog((log) => ({ ...log, cost: { ...log.cost!, ...change } }))

/** Changes each record when it is read: the items of a list, or the single record. */
const records = (change: (record: Json) => Json) => ({
  body: (body: string, { path }: Wanted) =>
    path.startsWith(LOG)
      ? changeJson(body, (json) =>
          Array.isArray(json.data)
            ? { ...json, data: json.data.map(change) }
            : json.id === undefined
              ? json
              : change(json),
        )
      : body,
})

/** Changes the answers to reads of the list or of one record. */
const reads = (change: { list?: (json: Json) => unknown; one?: (json: Json) => unknown }) => ({
  body: (body: string, { path }: Wanted) => {
    const how = path.startsWith(`${LOG}/`) ? change.one : path.startsWith(LOG) ? change.list : undefined
    return how ? changeJson(body, (json) => (json.error ? json : how(json))) : body
  },
})

/** Removes the header with the request id; a JSON pointer, if given, finds it instead. */
const byPointer =
  (request_id_pointer?: string) =>
  (target: Target): Target => {
    const { request_id: _, ...headers } = target.observability.headers
    return {
      ...target,
      observability: { ...target.observability, headers, ...(request_id_pointer && { request_id_pointer }) },
    }
  }

/** Request id of an answer from which the header was removed. */
const taken = new WeakMap<Wanted, string>()
const takeId = ({ headers }: { headers: Json }, wanted: Wanted): void => {
  taken.set(wanted, String(headers['x-gateway-request-id']))
  delete headers['x-gateway-request-id']
}

const STATES: Json = { completed: 200, failed: 500, aborted: 499, interrupted: 503 }

/** Ms from the end of a call until its record exists. */
const RECORD_DELAY_MS = 1_500
/** Returns true if a record should be visible by now. */
const isThere = ({ created_at, latency_ms }: Json): boolean =>
  latency_ms !== null && clock.now() - Date.parse(created_at) - latency_ms > RECORD_DELAY_MS
/** Ms from the end of a call until its record has a cost. */
const COST_DELAY_MS = 300
const isPriced = ({ created_at, latency_ms }: Json): boolean =>
  latency_ms !== null && clock.now() - Date.parse(created_at) - latency_ms > COST_DELAY_MS

/** Cost of tokens that the gateway counted itself, US dollars. */
const OWN_COUNT_USD = 6e-6

const late = reads({
  list: (json) => ({ ...json, data: json.data.filter(isThere) }),
  one: (json) => (isThere(json) ? json : { error: { message: 'not yet' } }),
})

/** Numbers and ids of calls, for a log that numbers its calls. */
const numbers = new Map<string, number>()
const numberOf = (id: string): number => {
  if (!numbers.has(id)) numbers.set(id, 1_000 + numbers.size)
  return numbers.get(id)!
}

export const gateways = {
  'states-are-statuses': {
    what: 'The state of a record is an HTTP status, as a number: 200, 500, or 499 if the client disconnected.',
    target: withLog((log) => ({ ...log, completed: ['200'], failed: ['500', '499', '503'] })),
    hooks: records((record) => ({ ...record, state: STATES[record.state] ?? 0 })),
  },
  'states-in-other-words': {
    what: 'The state of a record is SUCCESS, Error or canceled.',
    target: withLog((log) => ({ ...log, completed: ['SUCCESS'], failed: ['Error', 'canceled'] })),
    hooks: records((record) => ({
      ...record,
      state:
        ({ completed: 'SUCCESS', failed: 'Error', aborted: 'canceled', interrupted: 'canceled' } as Json)[
          record.state
        ] ?? 'open',
    })),
  },
  'says-elsewhere-that-it-failed': {
    what: 'If either side breaks off a call, the record has the state completed for the answer so far, and a separate error.',
    target: withLog((log) => ({ ...log, fields: { ...log.fields, error: '/metadata/error/class' } })),
    hooks: records((record) =>
      ['aborted', 'failed'].includes(record.state)
        ? { ...record, state: 'completed', metadata: { error: { class: 'Incomplete' } } }
        : { ...record, metadata: '{"error":{"class":null}}' },
    ),
  },
  'tokens-as-text': {
    what: 'Token counts are in quotes, as database drivers return large integers.',
    hooks: records((record) => ({
      ...record,
      tokens: Object.fromEntries(
        Object.entries(record.tokens ?? {}).map(([name, value]) => [
          name,
          typeof value === 'number' ? String(value) : value,
        ]),
      ),
    })),
  },
  'amounts-with-units': {
    what: 'Durations and costs include a unit, such as `412.5ms` and `0.000012 USD`, and costs are rounded as declared.',
    target: withCost({ rounding: 0.000_001 }),
    hooks: records((record) => ({
      ...record,
      latency_ms: record.latency_ms === null ? null : `${record.latency_ms}ms`,
      cost_usd: record.cost_usd === null ? null : `${record.cost_usd.toFixed(6)} USD`,
    })),
  },
  'costs-in-cents': {
    what: 'Recorded costs are in cents, written as strings.',
    target: withCost({ per_usd: 100 }),
    hooks: records((record) => ({
      ...record,
      cost_usd: record.cost_usd === null ? null : `${record.cost_usd * 100}`,
    })),
  },
  'costs-rounded-to-cents': {
    what: 'Recorded costs are rounded to cents, as declared in the target file.',
    target: withCost({ rounding: 0.01 }),
    hooks: records((record) => ({
      ...record,
      cost_usd: record.cost_usd === null ? null : Math.round(record.cost_usd * 100) / 100,
    })),
  },
  'costs-cut-off': {
    what: 'Recorded costs are cut off after six digits.',
    target: withCost({ rounding: 0.000_001 }),
    hooks: records((record) => ({
      ...record,
      cost_usd: record.cost_usd === null ? null : Math.floor(record.cost_usd * 1e6) / 1e6,
    })),
  },
  'counts-what-is-reported-as-0': {
    what: 'A report of 0 tokens counts as no report, so the gateway counts the tokens itself.',
    hooks: records((record) =>
      record.cost_usd !== null && (record.tokens.input === 0 || record.tokens.output === 0)
        ? { ...record, cost_usd: record.cost_usd + OWN_COUNT_USD }
        : record,
    ),
  },
  'costs-come-later': {
    what: 'A record is complete immediately except for its cost, which follows within the declared time.',
    hooks: records((record) => (isPriced(record) ? record : { ...record, cost_usd: null })),
  },
  'oldest-first': {
    what: 'The list of records begins with the oldest record.',
    hooks: reads({ list: (json) => ({ ...json, data: json.data.toReversed() }) }),
  },
  'a-bare-list': {
    what: 'The log answers with a bare array.',
    target: withLog((log) => ({ ...log, list: '' })),
    hooks: reads({ list: (json) => json.data }),
  },
  'a-list-in-wrappers': {
    what: 'The list of records is inside two objects, under a name that contains a slash.',
    target: withLog((log) => ({ ...log, list: '/result/log~1items' })),
    hooks: reads({
      list: (json) => ({ ok: true, result: { 'log/items': json.data, total: json.data.length } }),
    }),
  },
  'one-record-in-a-wrapper': {
    what: 'An answer with one record has it under `data` in a list of one item.',
    target: withLog((log) => ({ ...log, record: '/data/0' })),
    hooks: reads({ one: (json) => ({ data: [json], total: 1 }) }),
  },
  'names-nobody-for-failures': {
    what: 'The record of a failed call names no provider or model, because none served the call.',
    hooks: records((record) =>
      record.state === 'failed' ? { ...record, resolved_provider: null, resolved_model: null } : record,
    ),
  },
  'attempts-backwards-without-outcomes': {
    what: 'A record lists attempts with the newest first, and without their outcome.',
    target: withLog((log) => ({
      ...log,
      attempts: { list: '/attempt_log', provider: '/provider', model: '/model' },
    })),
    hooks: records((record) => ({
      ...record,
      ...(record.attempt_log && {
        attempt_log: record.attempt_log
          .filter(({ outcome }: Json) => outcome !== 'not_sent')
          .map(({ outcome: _, ...attempt }: Json) => attempt)
          .toReversed(),
      }),
    })),
  },
  'records-what-it-passed-over': {
    what: 'Skipped targets are recorded as `skipped`, as declared in the target file.',
    target: withLog((log) => ({ ...log, unsure_outcomes: [...log.unsure_outcomes, 'skipped'] })),
    hooks: records((record) => ({
      ...record,
      ...(record.attempt_log && {
        attempt_log: [{ provider: 'another', model: 'another', outcome: 'skipped' }, ...record.attempt_log],
      }),
    })),
  },
  'names-the-provider-with-the-model-on-record': {
    what: 'A record names the model with its provider as a prefix, and the provider by its host name.',
    target: (target) => ({
      ...target,
      providers: {
        openai: { aliases: ['api.openai.com'] },
        groq: { aliases: ['api.groq.com'] },
        anthropic: { aliases: ['api.anthropic.com'] },
      },
    }),
    hooks: records((record) => ({
      ...record,
      resolved_model: record.resolved_model && `${record.resolved_provider}/${record.resolved_model}`,
      resolved_provider: record.resolved_provider && `api.${record.resolved_provider}.com`,
    })),
  },
  'providers-by-number': {
    what: 'A record identifies the provider by a number that the gateway assigned.',
    target: (target) => ({
      ...target,
      providers: { openai: { aliases: ['1'] }, groq: { aliases: ['2'] }, anthropic: { aliases: ['3'] } },
    }),
    hooks: records((record) => ({
      ...record,
      resolved_provider: ({ openai: 1, groq: 2, anthropic: 3 } as Json)[record.resolved_provider] ?? null,
    })),
  },
  'asked-with-post': {
    what: 'The list of records is requested with POST, at its full URL.',
    target: withLog(({ one: _, attempts: __, ...log }) => ({
      ...log,
      path: `http://127.0.0.1:{{port}}${log.path}`,
      body: { newest: 'first' },
    })),
    hooks: {
      request(wanted) {
        if (wanted.method === 'POST' && wanted.path.startsWith(LOG) && wanted.body.includes('newest'))
          wanted.method = 'GET'
      },
    },
  },
  'json-in-a-text': {
    what: 'Recorded tokens are a string that contains JSON.',
    hooks: records((record) => ({ ...record, tokens: JSON.stringify(record.tokens ?? {}) })),
  },
  'ids-with-signs': {
    what: 'Request ids contain characters that must be escaped in a path.',
    hooks: {
      request(wanted) {
        const id = wanted.path.startsWith(`${LOG}/`) && decodeURIComponent(wanted.path.slice(LOG.length + 1))
        if (id) wanted.path = `${LOG}/${id.replace(/^call\/\+/, '').replace(/==$/, '')}`
      },
      responseStart({ headers }) {
        const id = headers['x-gateway-request-id']
        if (id !== undefined) headers['x-gateway-request-id'] = `call/+${id}==`
      },
      ...records((record) => ({ ...record, id: `call/+${record.id}==` })),
    },
  },
  'records-come-late': {
    what: 'Records can be read 1.5 s after the end of a call, within the declared 2.5 s.',
    target: withLog((log) => ({ ...log, lag_ms: 2_500 })),
    hooks: late,
  },
  'late-and-without-an-id': {
    what: 'Answers contain no request id, and records appear 1.5 s late, as declared.',
    target: (target) => byPointer()(withLog((log) => ({ ...log, lag_ms: 2_500 }))(target)),
    hooks: {
      ...late,
      responseStart({ headers }) {
        delete headers['x-gateway-request-id']
      },
    },
  },
  'the-id-of-the-answer': {
    what: 'An answer’s `id` is the request id. Errors have no id, but can be found as the only new record.',
    target: byPointer('/id'),
    hooks: {
      responseStart: takeId,
      body: (body, wanted) =>
        callIn(wanted)
          ? changeJson(body, (json) => (json.choices ? { ...json, id: taken.get(wanted) } : json))
          : body,
      event: (event, _, wanted) =>
        changeEvent(event, (json) => (json.choices ? { ...json, id: taken.get(wanted) } : json)),
    },
  },
  'the-id-comes-last': {
    what: 'A stream has the request id in its last event, so clients that disconnect earlier do not receive the id.',
    target: byPointer('/gateway/id'),
    hooks: {
      responseStart: takeId,
      body: (body, wanted) =>
        callIn(wanted) ? changeJson(body, (json) => ({ ...json, gateway: { id: taken.get(wanted) } })) : body,
      event: (event, _, wanted) =>
        changeEvent(event, (json) =>
          json.choices?.[0]?.finish_reason ? { ...json, gateway: { id: taken.get(wanted) } } : json,
        ),
    },
  },
  'id-in-the-body': {
    what: 'The request id is in the body of a whole answer, or in the first event of a stream.',
    target: byPointer('/gateway/id'),
    hooks: {
      responseStart: takeId,
      body: (body, wanted) =>
        callIn(wanted) ? changeJson(body, (json) => ({ ...json, gateway: { id: taken.get(wanted) } })) : body,
      event: (event, index, wanted) =>
        index === 0
          ? changeEvent(event, (json) => ({ ...json, gateway: { id: taken.get(wanted) } }))
          : [event],
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
      ...records((record) => ({ ...record, id: numberOf(record.id) })),
    },
  },
  'decimals-as-text': {
    what: 'Durations and costs are decimals in quotes, as databases return them.',
    hooks: records((record) => ({
      ...record,
      latency_ms: record.latency_ms === null ? null : String(record.latency_ms),
      cost_usd: record.cost_usd === null ? null : record.cost_usd.toFixed(9),
    })),
  },
  'a-slow-log': {
    what: 'The log takes 1.3 s to answer, but its content is as recent as declared.',
    hooks: {
      async request({ path }) {
        if (path.startsWith(LOG)) await sleep(1_300)
      },
    },
  },
} satisfies Record<string, MustPass>
