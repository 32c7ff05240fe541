// KEEP-04: One key never sees another key's rows, sums or cached answers.
import { type Check, finding } from '../check.ts'
import type { Exchange } from '../evidence.ts'
import { labelled, ref, refs, requestIdOf } from '../lookup.ts'
import { LOG } from '../request-log.ts'

export const keysAreWalls = {
  id: 'KEEP-04',
  needs: ['gateway_keys', 'files'],
  async exercise(session) {
    const { other } = session.running.keys
    if (other === null) return session.untestable('the target has no second key')
    const id = `wall-${session.nonce()}`
    session.note('id', id)
    const exchange = await session.chat('call', { headers: { 'x-gateway-session-id': id } })
    await session.record('record', exchange)
    const requestId = exchange.headers['x-gateway-request-id']
    for (const path of [
      `${LOG}?session_id=${id}`,
      `${LOG}/${requestId}`,
      `${LOG}/${requestId}/artifact`,
      `/api/usage/logs?session_id=${id}`,
      `/api/sessions/${id}`,
      '/api/sessions',
      `/api/statusline?session_id=${id}&model=${session.model}`,
    ])
      for (const [label, key] of [
        ['own', session.running.keys.client],
        ['foreign', other],
      ] as const)
        await session.ask(label, path, { key })
  },
  judge({ evidence, target }) {
    const id = evidence.facts.id as string
    const [call] = labelled(evidence, 'call')
    const requestId = requestIdOf(target, call!) ?? id
    const tells = ({ status, body }: Exchange) =>
      status === 200 && (body.includes(id) || body.includes(requestId))
    const [own] = labelled(evidence, 'own')
    return [
      finding('own-key-finds-it', tells(own!), 'the key that made the call finds it', refs(own)),
      ...labelled(evidence, 'foreign').map((exchange) =>
        finding(
          'other-key-does-not',
          !tells(exchange),
          `${exchange.request.path.replace(requestId, '{id}')}: another key gets ${exchange.status}${tells(exchange) ? ' and sees the call' : ''}`,
          [ref(exchange)],
        ),
      ),
    ]
  },
} satisfies Check
