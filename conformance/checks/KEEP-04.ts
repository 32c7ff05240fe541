// KEEP-04: One key never sees another key's rows, sums or cached answers.

import { ref, refs, requestIdOf } from '../dialects/lookup.ts'
import type { Exchange } from '../evidence/evidence.ts'
import { step } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'
import { LOG } from './log/parts.ts'

const steps = {
  call: step('call'),
  own: step('own'),
  foreign: step('foreign'),
}

export const keysAreWalls = {
  id: 'KEEP-04',
  needs: ['gateway_keys', 'files'],
  async exercise(session) {
    const { other } = session.running.keys
    if (other === null) return session.untestable('the target has no second key')
    const id = `wall-${session.nonce()}`
    session.note('id', id)
    const exchange = await session.chat(steps.call, { headers: { 'x-gateway-session-id': id } })
    await session.record(exchange)
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
      for (const [step, key] of [
        [steps.own, session.running.keys.client],
        [steps.foreign, other],
      ] as const)
        await session.ask(step, path, { key })
  },
  judge({ evidence, target }) {
    const id = evidence.facts.id as string
    const [call] = steps.call.in(evidence)
    const requestId = requestIdOf(target, call!) ?? id
    const tells = ({ status, body }: Exchange) =>
      status === 200 && (body.includes(id) || body.includes(requestId))
    const seen = (exchange: Exchange) =>
      `${endText(exchange)}, ${tells(exchange) ? 'and the call' : 'and not the call'}`
    const [own] = steps.own.in(evidence)
    return [
      finding(
        'own-key-finds-it',
        tells(own!),
        'what the key that made the call gets',
        { expected: '200 and the call', actual: seen(own!) },
        refs(own),
      ),
      ...steps.foreign
        .in(evidence)
        .map((exchange) =>
          finding(
            'other-key-does-not',
            !tells(exchange),
            `what another key gets of ${exchange.request.path.replace(requestId, '{id}')}`,
            { expected: 'nothing of the call', actual: seen(exchange) },
            [ref(exchange)],
          ),
        ),
    ]
  },
} satisfies Check
