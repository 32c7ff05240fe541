// What the checks of LOG share.
import type { Exchange } from '../evidence.ts'
import { readAll } from '../request-log.ts'
import { delta } from '../scripted.ts'
import type { Session } from '../session.ts'

/** A stream that the client leaves after its first event. */
export async function leave(session: Session, label: string): Promise<Exchange> {
  const script = [{ events: [delta('one'), { gate: `never-${session.nonce()}` }] }]
  const call = await session.openChat(label, { stream: true, script })
  await call.until((body) => body.includes('one'), 5_000)
  call.leave()
  return call.done
}

export const readLog = (session: Session, label: string): Promise<Exchange> =>
  readAll(session, label, session.target.observability.log!.path)
