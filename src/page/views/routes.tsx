// The routes with their targets, intended and actual shares of the calls, and cooldowns. Below, a preview of
// the target for any model id, with the reasons.
import { useSignal } from '@preact/signals'
import { type LearnedAnswer, type ResolveAnswer, type RoutesAnswer, useRead } from '../api.ts'
import * as format from '../format.ts'
import { State, Time } from '../parts/columns.tsx'
import { Empty, JsonLink, ReadTrouble } from '../parts/said.tsx'
import { type PlainColumn, Table } from '../parts/table.tsx'
import { callsHref, change, params } from '../place.ts'
import { Estimates, Spans, windowOf } from './what-if.tsx'

export function Routes() {
  const path = `/api/routes?window=${windowOf()}`
  const { data, error, reload } = useRead<RoutesAnswer>(path, 5_000)
  return (
    <>
      <header class="view-head">
        <h1>Routes</h1>
        <JsonLink path={path} name="routes" />
        <span class="spring" />
        <Spans />
      </header>
      <ReadTrouble error={error} retry={reload} />
      <Preview names={data?.routes.map(({ name }) => name) ?? []} />
      {data?.routes.length === 0 && (
        <Empty title="No route is configured">
          <p>
            A route gives a name to several targets. Write one under <code>routes</code> in the configuration
            file.
          </p>
        </Empty>
      )}
      {data?.routes.map((route) => (
        <Route key={route.name} route={route} />
      ))}
      {data && data.direct.length > 0 && (
        <section class="panel">
          <h2>
            Direct <small>calls that named a provider and its model</small>
          </h2>
          <Targets
            rows={data.direct.map((each) => ({
              ...each,
              tier: null,
              state: null,
              wanted: null,
              cooling_until: null,
            }))}
            route={null}
          />
        </section>
      )}
      <Estimates names={data?.routes.map(({ name }) => name) ?? []} />
      <Learned />
    </>
  )
}

const STAYS = {
  session: ', sessions stay with their target',
  prefix: ', conversations stay with their target',
} as const

type RouteAnswer = RoutesAnswer['routes'][number]

function Route({ route }: { route: RouteAnswer }) {
  const { name, description, strategy, sticky, rules, calls, targets } = route
  return (
    <section class="panel">
      <h2>
        <a href={callsHref({ route: name })}>{name}</a>{' '}
        <small>
          {strategy}
          {sticky && STAYS[sticky]}
          {description && `; ${description}`}; {format.count(calls)} calls
        </small>
      </h2>
      {rules.length > 0 && (
        <ul class="plain-list note">
          {rules.map(({ when, use }) => (
            <li key={when + use}>
              {when} → {use}
            </li>
          ))}
        </ul>
      )}
      <Targets rows={targets} route={name} />
    </section>
  )
}

interface TargetRow
  extends Pick<
    RouteAnswer['targets'][number],
    | 'provider'
    | 'model'
    | 'calls'
    | 'failed'
    | 'share'
    | 'cost_usd'
    | 'cost_is_minimum'
    | 'input_tokens'
    | 'cached_input_tokens'
    | 'moved'
    | 'cache_lost'
    | 'tier'
    | 'cooling_until'
  > {
  readonly state: string | null
  readonly wanted: number | null
}

function Targets({ rows, route }: { rows: readonly TargetRow[]; route: string | null }) {
  return (
    <Table
      rows={rows}
      columns={columnsOf(route)}
      keyOf={({ provider, model }) => `${provider}/${model}`}
      isFramed={false}
    />
  )
}

const columnsOf = (route: string | null): readonly PlainColumn<TargetRow>[] => [
  {
    title: 'target',
    cell: ({ provider, model }) => (
      <a
        class="open-call"
        href={callsHref({ provider, model, ...(route !== null ? { route } : { strategy: 'direct' }) })}
      >
        {provider} / {model}
      </a>
    ),
  },
  {
    title: 'state',
    cell: ({ state, cooling_until }) =>
      state === null ? null : (
        <>
          <State state={state} />
          {cooling_until !== null && (
            <small>
              {' '}
              until <Time iso={cooling_until} />
            </small>
          )}
        </>
      ),
  },
  { title: 'tier', cell: ({ tier }) => tier },
  {
    title: 'wanted',
    isNumber: true,
    about: 'of plain calls without a session, while every target is ready',
    cell: ({ wanted }) => format.percent(wanted),
  },
  { title: 'seen', isNumber: true, cell: ({ share }) => format.percent(share) },
  {
    title: 'share',
    about: 'the bar is what was seen, the mark what is wanted',
    style: 'wide',
    cell: ({ share, wanted }) => (
      <span class="meter two" aria-hidden="true">
        <span style={{ width: `${100 * (share ?? 0)}%` }} />
        {wanted !== null && <i style={{ left: `${100 * wanted}%` }} />}
      </span>
    ),
  },
  { title: 'calls', isNumber: true, cell: ({ calls }) => format.count(calls) },
  {
    title: 'failed',
    isNumber: true,
    cell: ({ failed }) => format.count(failed),
    isBad: ({ failed }) => failed > 0,
  },
  {
    title: 'cached',
    isNumber: true,
    about: 'the part of the input that the provider had cached',
    cell: ({ input_tokens, cached_input_tokens }) =>
      cached_input_tokens === null || !input_tokens
        ? null
        : format.percent(cached_input_tokens / input_tokens),
  },
  {
    title: 'cache lost',
    isNumber: true,
    about: 'cached tokens that conversations lost by moving here from another target',
    cell: ({ moved, cache_lost }) =>
      moved === 0
        ? null
        : `${format.compact(cache_lost)} in ${format.count(moved)} ${moved === 1 ? 'move' : 'moves'}`,
  },
  { title: 'cost', isNumber: true, cell: format.cost },
]

const DEPENDS = {
  session: 'its session',
  shape: 'what the call is like',
  dialect: 'its wire format',
  load: 'the load',
} as const

const TRAITS = ['tools', 'images'] as const

/** Shows the current target of a call without making one. The router is only queried, and does not change. */
function Preview({ names }: { names: readonly string[] }) {
  const asked = params.value
  const model = asked.get('model') ?? names[0] ?? ''
  const query = new URLSearchParams({ model })
  for (const name of [...TRAITS, 'effort', 'input_tokens', 'dialect'])
    if (asked.get(name)) query.set(name, asked.get(name)!)
  const path = `/api/cloud/model/resolve?${query}`
  const { data, error } = useRead<ResolveAnswer>(model === '' ? null : path, 5_000)
  const typed = useSignal<string | null>(null)
  return (
    <section class="panel">
      <h2>Where would a call go? {model && <JsonLink path={path} name="resolve" />}</h2>
      <form
        class="preview"
        onSubmit={(event) => {
          event.preventDefault()
          change({ model: (typed.value ?? model).trim() })
        }}
      >
        <label>
          model
          <input
            type="text"
            list="route-names"
            value={typed.value ?? model}
            spellcheck={false}
            onInput={(event) => {
              typed.value = event.currentTarget.value
            }}
            onChange={(event) => change({ model: event.currentTarget.value.trim() })}
          />
          <datalist id="route-names">
            {names.map((name) => (
              <option key={name} value={name} />
            ))}
          </datalist>
        </label>
        {TRAITS.map((name) => (
          <label key={name} class="check">
            <input
              type="checkbox"
              checked={asked.get(name) === 'true'}
              onChange={(event) => change({ [name]: event.currentTarget.checked ? 'true' : null }, true)}
            />{' '}
            {name}
          </label>
        ))}
        <label>
          effort
          <select
            value={asked.get('effort') ?? ''}
            onChange={(event) => change({ effort: event.currentTarget.value }, true)}
          >
            <option value="">not set</option>
            {['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'].map((each) => (
              <option key={each} value={each}>
                {each}
              </option>
            ))}
          </select>
        </label>
        <label>
          input tokens
          <input
            type="number"
            min="0"
            value={asked.get('input_tokens') ?? ''}
            onChange={(event) => change({ input_tokens: event.currentTarget.value }, true)}
          />
        </label>
      </form>
      {error && <p class="trouble">{error.message}</p>}
      {data && !error && <Destination resolution={data} />}
    </section>
  )
}

function Destination({ resolution: data }: { resolution: ResolveAnswer }) {
  const costs = new Map(data.estimate?.targets.map(({ target, usd }) => [target, usd]))
  return (
    <>
      <p class="sentence">
        {data.deterministic ? 'To ' : 'Most likely to '}
        <b>
          {data.provider} / {data.resolved_model}
        </b>
        {data.route !== null ? `, by ${data.strategy}` : ', as named'}
        {data.depends_on.length > 0 &&
          `; it depends on ${data.depends_on.map((each) => DEPENDS[each]).join(', ')}`}
        .
      </p>
      <ol class="candidates">
        {data.candidates.map(({ provider, model: its, probability, cooling_until, reason, ends_on }) => (
          <li key={`${provider}/${its}`} class={probability === 0 ? 'out' : undefined}>
            <span class="number">{format.percent(probability)}</span>{' '}
            <span>
              {provider} / {its}
            </span>{' '}
            {cooling_until !== null ? (
              <small>
                failed; passed over until <Time iso={cooling_until} />
              </small>
            ) : (
              <small>
                {reason}
                {costs.has(`${provider}/${its}`) && `~${format.usd(costs.get(`${provider}/${its}`))} a call`}
              </small>
            )}
            {ends_on !== null && (
              <small>
                {' '}
                {Date.parse(ends_on) > Date.now() ? 'ends' : 'ended'} on {ends_on}
              </small>
            )}
          </li>
        ))}
      </ol>
    </>
  )
}

const PATH = '/api/models/refusals'

function Learned() {
  const { data, error, reload } = useRead<LearnedAnswer>(PATH, 30_000)
  const rows = data?.data ?? []
  if (rows.length === 0) return error ? <ReadTrouble error={error} retry={reload} /> : null
  return (
    <section class="panel">
      <h2>
        Refused by providers{' '}
        <small>
          left out of requests, or replaced, until then or until <code>waybill models forget</code>
        </small>{' '}
        <JsonLink path={PATH} name="refusals" />
      </h2>
      <Table
        rows={rows}
        columns={COLUMNS}
        keyOf={({ provider, model, parameter, value }) => `${provider}/${model} ${parameter} ${value}`}
        isFramed={false}
      />
    </section>
  )
}

type Row = LearnedAnswer['data'][number]
const COLUMNS: readonly PlainColumn<Row>[] = [
  { title: 'target', style: 'long', cell: ({ provider, model }) => `${provider}/${model}` },
  { title: 'parameter', style: 'long', cell: ({ parameter }) => parameter },
  { title: 'value', style: 'long', cell: ({ value }) => value ?? 'any' },
  { title: 'sent', cell: ({ replaced }) => (replaced ? 'replaced' : 'without it') },
  { title: 'seen', cell: ({ learned_at }) => <Time iso={learned_at} /> },
  { title: 'until', cell: ({ until }) => <Time iso={until} /> },
]
