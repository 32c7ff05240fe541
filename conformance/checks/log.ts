// What the checks of LOG share.
import type { Exchange } from '../evidence.ts'
import { listRequest } from '../lookup.ts'
import { delta, END } from '../scripted.ts'
import type { ChatOptions, Session } from '../session.ts'
import type { Step } from '../step.ts'

/** How long a busy machine may take to tell a gateway that its client has left, ms. */
const NOTICED = 2_000

/** A stream that the client leaves after its first event. */
export async function leave(session: Session, step: Step): Promise<Exchange> {
  const gate = session.nonce()
  const script = [{ events: [delta('one'), { gate }, END] }]
  const call = await session.openChat(step, { stream: true, script })
  await call.says('one')
  call.leave()
  const exchange = await call.done
  // A gateway may read the rest, because it is paid for; then there has to be one. It is held back until the gateway
  // has noticed, or had plenty of time to.
  const noticed = async () =>
    (await session.soFar()).ledger.some(({ nonce, peer_left_at }) => nonce === call.nonce && peer_left_at)
  for (let waited = 0; waited < NOTICED && !(await noticed()); waited += 50) await session.wait(50)
  await session.witness.release(gate)
  return exchange
}

/**
 * A call that is there to be on record. A gateway that cannot record at the moment, on a machine with much else to do,
 * refuses it (503) as it should; then it is made again.
 */
export async function onRecord(session: Session, step: Step, options: ChatOptions): Promise<void> {
  for (let tries = 0; tries < 20; tries++) {
    const { status } = await session.chat(step, options)
    if (status !== 503) return
    await session.wait(250)
  }
}

/** Those that were not refused. */
export const taken = <E extends Exchange>(calls: readonly E[]): E[] =>
  calls.filter(({ status }) => status !== 503)

export function readLog(session: Session, step: Step): Promise<Exchange> {
  const { path, ...request } = listRequest(session.target.observability.log!)
  return session.ask(step, path, { ...request, key: session.running.keys.reader })
}
