// What the checks of LOG share.
import type { Exchange } from '../evidence.ts'
import { listRequest } from '../lookup.ts'
import { delta, END } from '../scripted.ts'
import type { Session } from '../session.ts'
import type { Step } from '../step.ts'

/** A stream that the client leaves after its first event. */
export async function leave(session: Session, step: Step): Promise<Exchange> {
  const gate = session.nonce()
  const script = [{ events: [delta('one'), { gate }, END] }]
  const call = await session.openChat(step, { stream: true, script })
  await call.until((body) => body.includes('one'), 5_000)
  call.leave()
  const exchange = await call.done
  // A gateway may read the rest, because it is paid for; then there has to be one.
  await session.wait(500)
  await session.witness.release(gate)
  return exchange
}

export function readLog(session: Session, step: Step): Promise<Exchange> {
  const { path, ...request } = listRequest(session.target.observability.log!)
  return session.ask(step, path, { ...request, key: session.running.keys.reader })
}
