// The steps of a session: what was new in each, folded, who was asked and who answered, and why the dearest cost what they
// cost. Reads the bodies of kept calls once they are wanted, and only shows them as text.
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { CallRecord } from '../../core/record.ts'
import {
  askedAndAnswered,
  beginningOf,
  continuedBy,
  dearestSteps,
  type SessionStep,
  type StepPart,
  sessionSteps,
  sizeOf,
  stepName,
} from '../../core/steps.ts'
import { type CallBodies, fetchRead, type KeptSession, useRead } from '../api.ts'
import * as format from '../format.ts'
import { callHref, sessionHref } from '../place.ts'

type Step = SessionStep<CallRecord>

/** Maximum characters of a text that are shown. */
const SHOWN = 4_000

/** Shows the steps of a session. `calls`: newest first; those that come later are read when they are wanted. */
export function Steps({ id, calls }: { id: string; calls: readonly CallRecord[] }) {
  const seen = useSignal<readonly CallRecord[]>([])
  const isOf = (list: readonly CallRecord[]) => list[0]?.session_id === id
  useEffect(() => {
    if (isOf(calls) && !isOf(seen.value)) seen.value = calls // those of the session before arrive first
  }, [id, calls])
  const { steps, session } = useSteps(id, seen.value)
  const later = calls.length - seen.value.length
  const dearest = dearestSteps(steps)
  const parent = calls.findLast(({ parent_id }) => parent_id)?.parent_id ?? null
  return (
    <section class="panel">
      <h2>Steps</h2>
      <Branches parent={parent} session={session} steps={steps} />
      {dearest.length > 0 && (
        <>
          <h3>Why it cost that much: the dearest steps</h3>
          <ul class="plain-list">
            {dearest.map(({ step, reason }) => (
              <li key={step.n}>
                <a href={callHref(step.call.id)}>step {step.n}</a>{' '}
                <span class="number">{format.cost(step.call)}</span> {reason}
              </li>
            ))}
          </ul>
        </>
      )}
      {session && session.kept.length < steps.length && (
        <p class="note">
          What was new in a step is shown if its bodies are kept, as by <code>waybill run --keep</code>.
        </p>
      )}
      <ol class="steps">
        {steps.map((step) => (
          <li key={step.call.id} style={{ '--depth': step.depth }}>
            <StepItem step={step} />
          </li>
        ))}
      </ol>
      {later > 0 && (
        <button type="button" class="quiet" onClick={() => (seen.value = calls)}>
          Show {later} more
        </button>
      )}
    </section>
  )
}

function StepItem({ step }: { step: Step }) {
  const { n, call, fresh, isKept, added, output } = step
  const number = <b class="number">{n}</b>
  const head = (
    <>
      {isKept ? number : <a href={callHref(call.id)}>{number}</a>}{' '}
      <span class="long">{askedAndAnswered(call)}</span>{' '}
      <span class="note">
        {[
          call.purpose !== 'main' && call.purpose,
          `${format.compact(fresh)} new, ${format.compact(call.tokens.cached_input)} cached, ${format.compact(call.tokens.output)} out`,
          format.cost(call),
          format.ms(call.latency_ms),
          call.state !== 'completed' && call.state,
          isKept && `${added.length} new ${added.length === 1 ? 'part' : 'parts'}`,
        ]
          .filter(Boolean)
          .join(' · ')}
      </span>
    </>
  )
  if (!isKept) return head
  return (
    <details>
      <summary>{head}</summary>
      <Notes step={step} />
      {added.map((part, i) => (
        <Said key={i} mark="new" part={part} />
      ))}
      {output.map((part, i) => (
        <Said key={-i - 1} mark="answer" part={part} />
      ))}
      <a href={callHref(call.id)}>The call</a>
    </details>
  )
}

function Notes({ step: { after, startedBy, resent, gone, same, isKept } }: { step: Step }) {
  const notes = [
    startedBy !== null && after === null && `Started by ${stepName(startedBy)}.`,
    after !== null &&
      (isKept && same === 0 && gone > 0
        ? `Another conversation than that of ${stepName(after)}.`
        : `Continues ${stepName(after)}.`),
    gone > 0 && same > 0 && `${gone} of its parts are gone.`,
    resent > 0 && `${resent} parts are sent anew, because the conversation changed before them.`,
  ].filter(Boolean)
  return notes.length > 0 ? <p class="note">{notes.join(' ')}</p> : null
}

function Said({ mark, part: { role, kind, name, text } }: { mark: string; part: StepPart }) {
  const title = `${mark}: ${role}, ${kind}${name === null ? '' : ` ${name}`}, ${format.bytes(sizeOf(text))}`
  return (
    <details class="said">
      <summary>
        <span class="note">{title}</span> <span class="long">{beginningOf(text)}</span>
      </summary>
      <pre>
        {text.length > SHOWN ? `${text.slice(0, SHOWN)}…\n(cut; waybill steps --full shows all of it)` : text}
      </pre>
    </details>
  )
}

/** Shows the session from which this one branches off, and those that branch off from it. */
function Branches({
  parent,
  session,
  steps,
}: {
  parent: string | null
  session: KeptSession | null
  steps: readonly Step[]
}) {
  const origin = useRead<CallRecord>(parent && recordPath(parent)).data
  const branches = session?.branches ?? []
  if (!origin && branches.length === 0) return null
  const below = (
    <ul>
      {branches.map(({ session_id, parent_id }) => (
        <li key={session_id}>
          <a href={sessionHref(session_id)}>{session_id}</a>{' '}
          <small>from step {steps.find(({ call }) => call.id === parent_id)?.n ?? '?'}</small>
        </li>
      ))}
    </ul>
  )
  const own = (
    <li>
      <b>this session</b>
      {branches.length > 0 && below}
    </li>
  )
  return (
    <>
      <h3>Branches</h3>
      <ul class="tree">
        {origin ? (
          <li>
            {origin.session_id !== null && <a href={sessionHref(origin.session_id)}>{origin.session_id}</a>}{' '}
            <small>
              at <a href={callHref(origin.id)}>call {format.tail(origin.id)}</a>
            </small>
            <ul>{own}</ul>
          </li>
        ) : (
          own
        )}
      </ul>
    </>
  )
}

const recordPath = (id: string): string => `/api/usage/request-logs/${encodeURIComponent(id)}`
const keptPath = (id: string): string => `/api/kept?${new URLSearchParams({ session_id: id })}`

interface Read {
  readonly steps: readonly Step[]
  /** What is kept; null before it is known. */
  readonly session: KeptSession | null
}

/** Reads steps, first by their records alone, then with what was new in those that are kept. */
function useSteps(id: string, calls: readonly CallRecord[]): Read {
  const read = useSignal<Read>({ steps: [], session: null })
  useEffect(() => {
    const stop = new AbortController()
    const get = <T,>(path: string) => fetchRead<T>(path, stop.signal)
    const ordered = calls.toReversed()
    const parent = ordered.find(({ parent_id }) => parent_id)?.parent_id
    const stepsWith = async (kept: ReadonlySet<string>) => {
      const bodyOf = async (id: string) => {
        if (!kept.has(id)) return null
        // One that cannot be read, such as with another key, leaves the others readable.
        const body = await get<CallBodies>(`${recordPath(id)}/kept`).catch(() => null)
        return body && { ...body, continues: continuedBy(body.request) }
      }
      const call = parent ? await get<CallRecord>(recordPath(parent)) : null
      const add = sessionSteps<CallRecord>(call && { call, body: await bodyOf(call.id) })
      const found: Step[] = []
      for (const each of ordered) found.push(add(each, await bodyOf(each.id)))
      return found
    }
    const load = async () => {
      const session = await get<KeptSession>(keptPath(id))
      read.value = { session, steps: await stepsWith(new Set()) }
      if (session.kept.length === 0) return
      const origin = parent && (await get<CallRecord>(recordPath(parent))).session_id
      const others = origin ? (await get<KeptSession>(keptPath(origin))).kept : []
      read.value = { session, steps: await stepsWith(new Set([...session.kept, ...others])) }
    }
    if (calls.length > 0) load().catch(() => {}) // the request for the session itself reports the error
    return () => stop.abort()
  }, [id, calls])
  return read.value
}
