// Parts that the LOG checks and others share: streams that break off, records, and Waybill's own interface.
import type { ScriptStep } from '../../../mocks/server/script.ts'
import { delta, END } from '../../dialects/dialect.ts'
import { listRequest } from '../../dialects/lookup.ts'
import type { Exchange } from '../../evidence/evidence.ts'
import { type AnyJson, at, jsonOf } from '../../evidence/reading.ts'
import type { Step } from '../../evidence/step.ts'
import type { Target } from '../../target/schema.ts'
import type { ChatOptions, CheckContext } from '../context.ts'

/** Maximum time until a gateway on a busy machine notices that its client has left, ms. */
const NOTICE_TIMEOUT_MS = 2_000

/** Makes a stream that the client leaves after its first event. */
export async function leaveStream(session: CheckContext, step: Step): Promise<Exchange> {
  const gate = session.nonce()
  const script = [{ events: [delta('one'), { gate }, END] }]
  const call = await session.openChat(step, { stream: true, script })
  await call.says('one')
  call.leave()
  const exchange = await call.done
  // A gateway may read the rest of the stream, because it is paid for. The stream must therefore have a rest.
  // The mock holds the rest back until the gateway has noticed the disconnect, or has had plenty of time to
  // notice it.
  const noticed = async () =>
    (await session.soFar()).ledger.some(({ nonce, peer_left_at }) => nonce === call.nonce && peer_left_at)
  for (let waited = 0; waited < NOTICE_TIMEOUT_MS && !(await noticed()); waited += 50) await session.wait(50)
  await session.mock.release(gate)
  return exchange
}

/**
 * Makes a stream that the provider breaks off once the client has its first event: before that, a gateway may
 * close the connection without an answer, and the call then has no id.
 */
export async function breakStream(
  session: CheckContext,
  step: Step,
  { ending, ...options }: ChatOptions & { readonly ending: ScriptStep },
): Promise<{ exchange: Exchange; started: boolean }> {
  const gate = session.nonce()
  const script = [{ events: [delta('one'), { gate }, ending] }]
  const call = await session.openChat(step, { ...options, stream: true, script })
  const started = await call.says('one')
  await session.mock.release(gate)
  return { exchange: await call.done, started }
}

/** Returns true if the record has an error: its call did not complete, even if its state says otherwise. */
export const hasError = ({ observability: { log } }: Target, record: unknown): boolean =>
  log?.fields.error !== undefined && ![undefined, null, ''].includes(at(record, log.fields.error) as string)

/**
 * Makes a call that must be recorded. Repeats the call if the gateway refuses it with 503, as a gateway
 * should while a busy machine prevents recording.
 */
export async function onRecord(session: CheckContext, step: Step, options: ChatOptions): Promise<void> {
  for (let tries = 0; tries < 20; tries++) {
    const { status } = await session.chat(step, options)
    if (status !== 503) return
    await session.wait(250)
  }
}

/** Returns the calls that were not refused. */
export const acceptedCalls = <E extends Exchange>(calls: readonly E[]): E[] =>
  calls.filter(({ status }) => status !== 503)

export function readLog(session: CheckContext, step: Step): Promise<Exchange> {
  const { path, ...request } = listRequest(session.target.observability.log!)
  return session.ask(step, path, { ...request, key: session.running.keys.reader })
}

export const LOG = '/api/usage/request-logs'

/** Reads a path as the operator. */
export const readAll = (session: CheckContext, step: Step, path: string): Promise<Exchange> =>
  session.ask(step, path, { key: session.running.keys.reader })

/** Returns the items of a list; an empty list if the answer has none. */
export const rowsIn = (exchange: Exchange | undefined): AnyJson[] =>
  (at(jsonOf(exchange?.body ?? ''), '/data') ?? []) as AnyJson[]
