// FLOW-03: An event reaches the client before the next one exists (the witness holds it back until then).
import { type Check, finding } from '../check.ts'
import { ref } from '../lookup.ts'
import { readChat } from '../reading.ts'
import { DONE, delta } from '../scripted.ts'

const HELD = 4

export const eventsAreNotHeldBack = {
  id: 'FLOW-03',
  async exercise(session) {
    const gates = Array.from({ length: HELD }, () => session.nonce())
    const events = gates.flatMap((gate, index) => [delta(`held-${index};`), { gate }])
    const script = [{ events: [...events, delta('', 'stop'), DONE] }]
    const call = await session.openChat('held', { stream: true, script })
    const arrived: boolean[] = []
    for (const [index, gate] of gates.entries()) {
      // By meaning: a gateway may cut the text into other pieces.
      arrived.push(await call.until((body) => readChat(body).content.includes(`held-${index};`), 3_000))
      await session.witness.release(gate)
    }
    await call.done
    session.note('arrived', arrived)
  },
  judge: ({ evidence }) =>
    (evidence.facts.arrived as boolean[]).map((ok, index) =>
      finding(
        'event-arrives-at-once',
        ok,
        `event ${index + 1} ${ok ? 'arrived while the provider held back' : 'did not arrive within 3 s while the provider held back'} the next one`,
        evidence.exchanges.map(ref),
      ),
    ),
} satisfies Check
