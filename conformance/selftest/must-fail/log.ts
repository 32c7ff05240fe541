// Must-fail gateways for the checks of LOG.

import { rmSync } from 'node:fs'
import { clock } from '../../../src/shared/clock.ts'
import { callIn, changeJson, LIST, type MustFail, onRead, RECORD } from '../gateway.ts'

export const mustFail = {
  'always-empty-log': {
    what: 'The log is an empty list.',
    caughtBy: ['LOG-01', 'LOG-12'],
    hooks: {
      body: onRead(LIST, (json) => ({ ...json, data: [] })),
    },
  },
  'analytics-name-a-call': {
    what: 'The routing analytics contain a call id.',
    caughtBy: ['LOG-10'],
    hooks: () => {
      let last: unknown = null
      return {
        responseStart({ headers }) {
          last = headers['x-gateway-request-id'] ?? last
        },
        body: onRead('/api/analytics', (json) => ({ ...json, example: last })),
      }
    },
  },
  'begins-with-an-empty-store': {
    what: 'All records are gone after a restart.',
    caughtBy: ['LOG-08', 'LIFE-01'],
    asCommand: true,
    hooks: {
      before: (data) => rmSync(data, { recursive: true, force: true }),
    },
  },
  'claims-a-log': {
    what: 'The log that the target file declares is missing.',
    caughtBy: ['LOG-01', 'LOG-02', 'LOG-12'],
    hooks: {
      request: ({ path }) =>
        path.startsWith('/api/usage')
          ? {
              status: 404,
              headers: { 'content-type': 'application/json' },
              body: '{"error":{"message":"not here"}}',
            }
          : undefined,
    },
  },
  'failed-calls-name-the-first': {
    what: 'The record of a failed call names the target that was picked first instead of the last target.',
    caughtBy: ['LOG-05'],
    hooks: {
      body: onRead(RECORD, (json) =>
        json.state === 'failed'
          ? { ...json, resolved_provider: json.picked_provider, resolved_model: json.picked_model }
          : json,
      ),
    },
  },
  'final-too-late': {
    what: 'A record becomes final only four seconds after the end of its call.',
    caughtBy: ['LOG-04'],
    hooks: {
      body: onRead(RECORD, (json) =>
        clock.now() - Date.parse(json.completed_at ?? json.created_at) < 4_000
          ? { ...json, state: 'streaming' }
          : json,
      ),
    },
  },
  'forgets-attempts': {
    what: 'The record lists only the last attempt.',
    caughtBy: ['LOG-07'],
    hooks: {
      body: onRead(RECORD, (json) => ({ ...json, attempt_log: json.attempt_log?.slice(-1) })),
    },
  },
  'forgets-failures': {
    what: 'Failed calls do not appear in the log.',
    caughtBy: ['LOG-01'],
    hooks: {
      body: onRead(LIST, (json) => ({
        ...json,
        data: json.data.filter((item: { state: string }) => item.state !== 'failed'),
      })),
    },
  },
  'forgets-the-session': {
    what: 'The record does not name the session that was sent.',
    caughtBy: ['LOG-02'],
    hooks: {
      body: onRead(RECORD, (json) => ({ ...json, session_id: null })),
    },
  },
  'forgets-the-strategy': {
    what: 'The record does not name the strategy that picked the target.',
    caughtBy: ['LOG-02'],
    hooks: {
      body: onRead(RECORD, (json) => ({ ...json, strategy: null })),
    },
  },
  'forgets-why': {
    what: 'Recorded attempts have no reason.',
    caughtBy: ['LOG-05'],
    hooks: {
      body: onRead(RECORD, (json) => ({
        ...json,
        attempt_log: json.attempt_log?.map((each: object) => ({ ...each, error_code: null })),
      })),
    },
  },
  'forgives-bad-filters': {
    what: 'The log ignores invalid query parameters.',
    caughtBy: ['LOG-09'],
    hooks: {
      async request(wanted, { gateway }) {
        if (!wanted.path.startsWith('/api/usage/request-logs?')) return
        const answer = await gateway(wanted)
        return answer.status === 400 ? gateway({ ...wanted, path: '/api/usage/request-logs' }) : answer
      },
    },
  },
  'history-counts-successes': {
    what: 'The usage history leaves out failed calls.',
    caughtBy: ['LOG-10'],
    hooks: {
      body: onRead('/api/usage/history', (json) => ({
        ...json,
        totals: { ...json.totals, calls: json.totals?.calls - json.totals?.failed },
      })),
    },
  },
  'ignores-the-session-filter': {
    what: 'The log cannot be filtered by session.',
    caughtBy: ['LOG-08'],
    hooks: {
      request(wanted) {
        if (wanted.path.startsWith('/api/usage/request-logs?'))
          wanted.path = wanted.path.replace(/session_id=[^&]*&?/, '')
      },
    },
  },
  'invents-attempts': {
    what: 'The record contains an attempt that no provider received.',
    caughtBy: ['LOG-07'],
    hooks: {
      body: onRead(RECORD, (json) => ({
        ...json,
        attempt_log: [...(json.attempt_log ?? []), json.attempt_log?.[0]],
      })),
    },
  },
  'left-is-success': {
    what: 'A call is recorded as completed although its client disconnected.',
    caughtBy: ['LOG-06'],
    hooks: {
      body: (body, { path }) =>
        path.startsWith('/api/usage/request-logs')
          ? body.replaceAll('"state":"aborted"', '"state":"completed"')
          : body,
    },
  },
  'logs-the-first-key': {
    what: 'The record always names the first provider.',
    caughtBy: ['LOG-02'],
    hooks: {
      body: onRead(RECORD, (json) => ({ ...json, resolved_provider: 'openai' })),
    },
  },
  'logs-the-requested': {
    what: 'The record gives the requested model as the model that served the call.',
    caughtBy: ['LOG-02'],
    hooks: {
      body: onRead(RECORD, (json) => ({ ...json, resolved_model: json.requested_model })),
    },
  },
  'logs-twice': {
    what: 'The log contains a streamed call twice.',
    caughtBy: ['LOG-01'],
    hooks: {
      body: onRead(LIST, (json) => ({
        ...json,
        data: json.data.flatMap((item: { id: string; stream: boolean }) =>
          item.stream ? [item, { ...item, id: `${item.id}-2` }] : [item],
        ),
      })),
    },
  },
  'loses-a-row-between-pages': {
    what: 'Each page of the log after the first lacks its first row.',
    caughtBy: ['LOG-09'],
    hooks: {
      body: (body, { path }) =>
        path.includes('cursor=')
          ? changeJson(body, (json) => ({ ...json, data: json.data?.slice(1) }))
          : body,
    },
  },
  'one-state-for-open-calls': {
    what: 'The record does not show that the answer has begun.',
    caughtBy: ['LOG-03'],
    hooks: {
      body: (body, { path }) =>
        path.startsWith('/api/usage/request-logs?') ? body.replaceAll('"streaming"', '"routed"') : body,
    },
  },
  'prompts-in-the-log': {
    what: 'The list of calls contains the last prompt.',
    caughtBy: ['LOG-12'],
    hooks: () => {
      let prompt = ''
      return {
        request(wanted) {
          const call = callIn(wanted)
          if (call) prompt = JSON.stringify(call.messages)
        },
        body: onRead(LIST, (json) => ({ ...json, last_prompt: prompt })),
      }
    },
  },
  'records-at-the-end': {
    what: 'The log does not contain calls in progress.',
    caughtBy: ['LOG-03'],
    hooks: {
      body: onRead(LIST, (json) => ({
        ...json,
        data: json.data?.filter((row: { completed_at: unknown }) => row.completed_at !== null),
      })),
    },
  },
  'records-no-cost': {
    what: 'A paid call is recorded with a cost of 0.',
    caughtBy: ['LOG-02'],
    hooks: {
      body: onRead(RECORD, (json) => ({ ...json, cost_usd: 0 })),
    },
  },
  'repeats-a-row-between-pages': {
    what: 'Each page of the log after the first begins with a row from the previous page.',
    caughtBy: ['LOG-09'],
    hooks: () => {
      let last: unknown[] = []
      return {
        body: (body, { path }) =>
          path.startsWith('/api/usage/request-logs?')
            ? changeJson(body, (json) => {
                const data = path.includes('cursor=') ? [...last, ...(json.data ?? [])] : json.data
                last = json.data?.slice(-1) ?? []
                return { ...json, data }
              })
            : body,
      }
    },
  },
  'rounds-the-sums': {
    what: 'Costs are rounded before they are summed.',
    caughtBy: ['LOG-10'],
    hooks: {
      body: onRead('/api/usage/logs', (json) => ({
        ...json,
        data: json.data?.map((row: { cost_usd: number }) => ({
          ...row,
          cost_usd: Math.round(row.cost_usd * 100) / 100,
        })),
      })),
    },
  },
  'spends-unrecorded': {
    what: 'Every call is sent to a provider twice, but recorded once.',
    caughtBy: ['LOG-07'],
    hooks: {
      async request(wanted, { spend }) {
        const call = callIn(wanted)
        if (call) await spend({ messages: call.messages })
      },
    },
  },
  'shows-the-newest-twice': {
    what: 'The list contains the newest record twice.',
    caughtBy: ['LOG-01/no-record-twice'],
    hooks: {
      body: onRead('/api/usage/request-logs?', (json) => ({
        ...json,
        data: json.data && [...json.data.slice(0, 1), ...json.data],
      })),
    },
  },
  'knows-no-latency': {
    what: 'The record has no latency.',
    caughtBy: ['LOG-02/latency'],
    hooks: { body: onRead('/api/usage/request-logs/', (json) => ({ ...json, latency_ms: null })) },
  },
  'doubles-the-output': {
    what: 'The record has twice the reported output tokens.',
    caughtBy: ['LOG-02/output-tokens'],
    hooks: {
      body: onRead('/api/usage/request-logs/', (json) => ({
        ...json,
        tokens: json.tokens && { ...json.tokens, output: json.tokens.output * 2 },
      })),
    },
  },
  'requested-is-resolved': {
    what: 'The record gives the model that served the call as the requested model.',
    caughtBy: ['LOG-02/requested-model'],
    hooks: {
      body: onRead('/api/usage/request-logs/', (json) => ({ ...json, requested_model: json.resolved_model })),
    },
  },
  'never-completed': {
    what: 'A record still has the state `streaming` after the answer has ended.',
    caughtBy: ['LOG-03/completed-afterwards'],
    hooks: {
      body: onRead('/api/usage/request-logs/', (json) =>
        json.state === 'completed' ? { ...json, state: 'streaming' } : json,
      ),
    },
  },
  'analytics-count-one-more': {
    what: 'Analytics count one call more than the log.',
    caughtBy: ['LOG-10/analytics'],
    hooks: { body: onRead('/api/analytics', (json) => ({ ...json, total_calls: json.total_calls + 1 })) },
  },
  'sessions-count-one-more': {
    what: 'The call count of a session exceeds its calls in the log by one.',
    caughtBy: ['LOG-10/sessions'],
    hooks: {
      body: onRead('/api/sessions', (json) => ({
        ...json,
        data: json.data?.map((each: { calls: number }) => ({ ...each, calls: each.calls + 1 })),
      })),
    },
  },
  'lists-no-failures': {
    what: 'Failed calls are counted but not listed.',
    caughtBy: ['LOG-10/log'],
    hooks: {
      body: onRead('/api/usage/request-logs?', (json) => ({
        ...json,
        data: json.data?.filter(({ state }: { state: string }) => state !== 'failed'),
      })),
    },
  },
} satisfies Readonly<Record<string, MustFail>>
