// One call: its route with the reasons, its attempts as a waterfall, its usage, cost and price. If its
// exchange is stored, also shows the sizes and times of the exchange.
import { useEffect } from 'preact/hooks'
import type { CostEstimate } from '../../core/call.ts'
import { LOSSES } from '../../core/losses.ts'
import {
  ATTEMPT_FIELDS,
  type AttemptRecord,
  CALL_FIELDS,
  type CallDetail,
  type Field,
} from '../../core/record.ts'
import { isOtherModel } from '../../shared/model-names.ts'
import { useRead } from '../api.ts'
import * as format from '../format.ts'
import { useViewKeys } from '../keys.tsx'
import { subscribe } from '../live.ts'
import { PAGE_COLUMNS, State, Time } from '../parts/columns.tsx'
import { Copyable, JsonLink, ReadTrouble } from '../parts/said.tsx'
import { callsHref, rest, sessionHref } from '../place.ts'
import { hasKeys } from '../sign-in.tsx'
import { ExchangeView } from './exchange.tsx'

export function CallView() {
  const id = rest('calls')
  const path = `/api/usage/request-logs/${encodeURIComponent(id)}`
  const { data: call, error, reload } = useRead<CallDetail>(path)
  useEffect(
    () =>
      subscribe({
        call: (record) => {
          if (record.id === id) reload()
        },
        missed: reload,
      }),
    [id],
  )
  useViewKeys({ u: ['back to the list', () => history.back()] }, [])
  return (
    <>
      <header class="view-head">
        <p class="crumb">
          <a href="/calls">Calls</a> /
        </p>
        <h1>{call ? <Time iso={call.created_at} /> : 'Call'}</h1>
        {call && <State state={call.state} />}
        <JsonLink path={path} name={`call-${id}`} />
      </header>
      <ReadTrouble error={error} retry={reload} />
      {call && <Found call={call} />}
    </>
  )
}

function Found({ call }: { call: CallDetail }) {
  const { price, decision } = call
  return (
    <>
      <Sentence call={call} />
      <Facts call={call} />
      <section class="panel">
        <h2>
          Attempts{' '}
          <small>
            {[...new Set([call.strategy, decision.cause])].map((words) => explained(words ?? '')).join('; ')}
          </small>
        </h2>
        <Waterfall call={call} />
        {decision.skipped.length > 0 && (
          <ul class="plain-list note">
            {decision.skipped.map(({ target, reason }) => (
              <li key={target}>
                {target} was passed over: {reason}
              </li>
            ))}
          </ul>
        )}
        {decision.estimate && <Estimate estimate={decision.estimate} />}
      </section>
      <Parts call={call} />
      <Price price={price} />
      {call.artifact.available ? (
        <ExchangeView id={call.id} />
      ) : (
        <p class="note calm">
          The exchange of this call is no longer kept; <code>artifacts.keep</code> sets how many are.
        </p>
      )}
      <section class="panel">
        <h2>Record</h2>
        <Fields call={call} />
      </section>
      <section class="panel">
        <h2>Read it again</h2>
        <Copyable text={curlOf(call)} label="the curl line" />
      </section>
    </>
  )
}

/** Says in a sentence what was asked for, where it went and why it failed. */
function Sentence({ call }: { call: CallDetail }) {
  const sentence = call.error_code === null ? null : (call.attempt_log.at(-1)?.refusal ?? null)
  return (
    <p class="sentence">
      <b>{call.requested_model || `${call.method} ${call.endpoint}`}</b> was asked for and{' '}
      {call.completed_at === null
        ? 'is with'
        : call.state === 'completed'
          ? 'was served by'
          : 'was last with'}{' '}
      <b>{[call.resolved_provider, call.resolved_model].filter(Boolean).join(' / ')}</b>
      {isOtherModel(call.resolved_model, call.response_model) && (
        <>
          , where <b>{call.response_model}</b> answered
        </>
      )}
      {call.fallbacks > 0 && ` after ${call.fallbacks} ${call.fallbacks === 1 ? 'fallback' : 'fallbacks'}`}
      {call.cache === 'HIT' && ', from the cache'}
      {call.replayed && ', from a recording'}
      {call.error_code !== null && (
        <>
          : <span class="bad">{call.error_code}</span>
        </>
      )}
      {sentence === null ? '.' : `: “${sentence}”`}
    </p>
  )
}

/** Meanings of strategies and causes. */
const MEANINGS: Readonly<Record<string, string>> = {
  priority: 'the first target in the order of the route',
  weighted: 'by chance, in the shares of the weights',
  'round-robin': 'each target in turn',
  random: 'by chance',
  cheapest: 'the target at which this call costs least',
  fastest: 'the target that answered fastest lately',
  'least-busy': 'the target with the fewest open calls',
  direct: 'the call named the provider and the model',
  sticky: 'the session stays with its target',
  all_cooling: 'every target failed lately, so the usual order holds',
  reasoning: 'the target can read the earlier reasoning of the conversation',
}

/** Shows a strategy or a cause with its meaning. */
const explained = (words: string): string =>
  words
    .split(', ')
    .map((word) => (MEANINGS[word] ? `${word} (${MEANINGS[word]})` : word))
    .join(', ')

/** Shows the costs by which the targets were compared, and what they assume. */
function Estimate({ estimate }: { estimate: CostEstimate }) {
  const { input_tokens: input, output_tokens: output, later_calls: later, targets } = estimate
  return (
    <>
      <p class="note">
        Compared for {format.count(input)} tokens in, {format.count(output)} out
        {later > 0 && `, and ${later} later calls with the prompt cached`}:
      </p>
      <ul class="plain-list note">
        {targets.map(({ target, usd, cached_tokens, later_usd }) => (
          <li key={target}>
            {target}: {usd === null ? 'price unknown' : format.estimate(usd)}
            {cached_tokens > 0 && `, ${format.count(cached_tokens)} tokens cached`}
            {later_usd !== null && `; a later call ${format.estimate(later_usd)}`}
          </li>
        ))}
      </ul>
    </>
  )
}

/** Shows the models that took part in the call if the provider used several. */
function Parts({ call: { usage, response_model: model, resolved_model: asked } }: { call: CallDetail }) {
  if (!usage?.parts) return null
  return (
    <section class="panel">
      <h2>
        Models <small>that took part; {model} answered</small>
      </h2>
      <dl class="fields rates">
        {usage.parts.map((part, index) => (
          <div key={index}>
            <dt>{part.model ?? asked}</dt>
            <dd>
              {part.kind.replaceAll('_', ' ')}: {format.count(part.input)} in, {format.count(part.output)}{' '}
              out, {format.cost(part)}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  )
}

function Price({ price }: Pick<CallDetail, 'price'>) {
  if (!price) return null
  return (
    <section class="panel">
      <h2>
        Price{' '}
        <small>
          of {price.model}, from {SOURCES[price.source] ?? price.source}
        </small>
      </h2>
      <dl class="fields rates">
        {[...format.ratesOf(price.rates), ...format.extrasOf(price)].map(({ kind, text }) => (
          <div key={kind}>
            <dt>{kind}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}

function Facts({ call }: { call: CallDetail }) {
  const { tokens, price } = call
  return (
    <dl class="figures">
      <Fact name="Took" value={format.ms(call.latency_ms)} />
      <Fact name="First event" value={format.ms(call.ttft_ms)} />
      <Fact name="Tokens in" value={format.count(tokens.input)} more={cached(call)} />
      <Fact
        name="Tokens out"
        value={format.count(tokens.output)}
        more={tokens.reasoning ? `${format.count(tokens.reasoning)} of them reasoning` : ''}
      />
      <Fact
        name="Cost"
        value={format.cost(call)}
        more={
          call.cost_missing?.length
            ? `without ${call.cost_missing.map((word) => MISSING[word] ?? word).join(', ')}`
            : call.reported_usd !== null
              ? `as the provider says; ${format.usd(call.priced_usd)} by its tokens`
              : call.saved_usd !== null
                ? `${format.usd(call.saved_usd)} saved`
                : price
                  ? `by ${SOURCES[price.source] ?? price.source}`
                  : ''
        }
      />
    </dl>
  )
}

/** Parts missing from a cost, as text. */
const MISSING: Readonly<Record<string, string>> = {
  attempt: 'an attempt that broke off',
  usage: 'usage that was not reported',
  model: 'the price of the model that answered',
  unknown_usage: 'a count that no price explains',
  cache_write_12h: 'the price of what is cached for twelve hours',
  price: 'a price that is not known',
  iterations: 'parts that do not add up',
  service_tier: 'the price of this tier',
  speed: 'the price at this speed',
  region: 'the price in this region',
  tools: 'fees for tools',
}

const SOURCES: Readonly<Record<string, string>> = {
  config: 'the configuration',
  waybill: 'Waybill’s own prices',
}

const cached = ({ tokens }: CallDetail): string =>
  [
    tokens.cached_input ? `${format.compact(tokens.cached_input)} from a cache` : '',
    tokens.cache_write ? `${format.compact(tokens.cache_write)} into a cache` : '',
    tokens.source === 'estimated' ? 'estimated' : '',
  ]
    .filter(Boolean)
    .join(', ')

function Fact({ name, value, more = '' }: { name: string; value: string; more?: string }) {
  return (
    <div class="figure card">
      <dt>{name}</dt>
      <dd>{value}</dd>
      <dd class="note">{more}</dd>
    </div>
  )
}

/**
 * Fields that the bar already shows. All other fields of the record appear as text, derived from its
 * definition.
 */
const SHOWN_BY_BAR = ['n', 'provider', 'model', 'started_at', 'ended_at', 'outcome', 'tokens', 'cost_usd']

function Waterfall({ call }: { call: CallDetail }) {
  const begin = Date.parse(call.created_at)
  const ends = call.attempt_log.map(({ ended_at }) =>
    Date.parse(ended_at ?? call.completed_at ?? new Date().toISOString()),
  )
  const end = Math.max(begin + 1, ...ends, Date.parse(call.completed_at ?? call.created_at))
  const part = (ms: number) => `${Math.max(0, Math.min(100, (100 * (ms - begin)) / (end - begin)))}%`
  if (call.attempt_log.length === 0)
    return <p class="note calm">No request was sent: the cache had the answer.</p>
  return (
    <ol class="waterfall">
      {call.attempt_log.map((attempt, index) => {
        const [from, to] = [Date.parse(attempt.started_at), ends[index]!]
        const first = index === call.attempt_log.length - 1 ? call.ttft_ms : null
        return (
          <li key={attempt.n}>
            <div class="who">
              <b>
                {attempt.provider} / {attempt.model}
              </b>
              <span>
                <State state={attempt.outcome} />
                {attempt.status !== null && ` ${attempt.status}`}
                {attempt.error_code !== null && <span class="bad"> {attempt.error_code}</span>}
              </span>
            </div>
            <div class="track" aria-hidden="true">
              <span
                class={`bar ${attempt.outcome}`}
                style={{ marginLeft: part(from), width: `max(3px, calc(${part(to)} - ${part(from)}))` }}
              />
              {first !== null && <span class="first-event" style={{ left: part(begin + first) }} />}
            </div>
            <div class="note">
              after {format.ms(from - begin)}, for {format.ms(to - from)}
              {first !== null && `; first event after ${format.ms(first)}`}
              {attempt.cost_usd !== null && `; ${format.cost(attempt)}`}
              <More attempt={attempt} />
            </div>
            <Losses losses={attempt.losses ?? []} />
          </li>
        )
      })}
    </ol>
  )
}

/** Names of fields that need words. */
const NAMES: Readonly<Record<string, string>> = {
  refusal: 'the provider said',
  adjusted: 'left out, because the provider refuses it',
}

/** Shows what a translation lost, with the meaning of each loss. */
function Losses({ losses }: { losses: readonly string[] }) {
  if (losses.length === 0) return null
  return (
    <>
      <p class="note">Lost in the translation:</p>
      <ul class="plain-list note">
        {losses.map((name) => (
          <li key={name}>
            <code>{name}</code> {(LOSSES as Readonly<Record<string, string>>)[name]}
          </li>
        ))}
      </ul>
    </>
  )
}

/** Shows the remaining fields of an attempt, such as the parameters that were left out. */
function More({ attempt }: { attempt: AttemptRecord }) {
  const others = Object.keys(ATTEMPT_FIELDS).filter(
    (name) => ![...SHOWN_BY_BAR, 'status', 'error_code', 'losses'].includes(name),
  )
  return others.map((name) => {
    const value = (attempt as Record<string, unknown>)[name]
    if (value === null || value === undefined || (Array.isArray(value) && value.length === 0)) return null
    const text =
      typeof value === 'object'
        ? Array.isArray(value)
          ? value.join(', ')
          : JSON.stringify(value)
        : String(value)
    return (
      <span key={name}>
        ; {NAMES[name] ?? name.replaceAll('_', ' ')}: {text}
      </span>
    )
  })
}

/** Shows every field of the record, derived from its definition. A value with a filter links to the list. */
function Fields({ call }: { call: CallDetail }) {
  return (
    <dl class="fields">
      {PAGE_COLUMNS.filter(({ name }) => !['decision', 'price'].includes(name)).map((column) => {
        const filter = column.filterOf(call)
        const raw = column.name === 'session_id' ? call.session_id : null
        const field = (CALL_FIELDS as Record<string, Field>)[column.name]
        const isWhole = column.name === 'id' || column.name === 'client'
        const shown = isWhole ? (call[column.name as 'id' | 'client'] ?? '–') : (raw ?? column.show(call))
        return (
          <div key={column.name} title={column.about}>
            <dt>{column.name}</dt>
            <dd class={field?.kind === 'id' ? 'mono' : undefined}>
              {raw !== null ? (
                <a href={sessionHref(raw)}>{raw}</a>
              ) : filter ? (
                <a href={callsHref({ [filter[0]]: filter[1] })}>{shown}</a>
              ) : (
                shown
              )}
            </dd>
          </div>
        )
      })}
    </dl>
  )
}

/** Never contains a key: a required key comes from the environment of the user who pastes the command. */
function curlOf({ id }: CallDetail): string {
  return `curl -s${hasKeys() ? ' -H "authorization: Bearer $WAYBILL_KEY"' : ''} ${location.origin}/api/usage/request-logs/${id}`
}
