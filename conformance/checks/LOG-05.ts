// LOG-05: The record of a failed call names the last target and lists all attempts with reasons.

import { refs, requestsOf, where } from '../dialects/lookup.ts'
import { scriptedFailure } from '../dialects/scripted.ts'
import { jsonOf, type AnyJson as Row } from '../evidence/reading.ts'
import { recordExchange, step } from '../evidence/step.ts'
import { listed } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'

const steps = {
  call: step('call'),
}

export const failuresListAttempts = {
  id: 'LOG-05',
  needs: ['fallback'],
  async exercise(session) {
    const route = session.target.models.logical.find(({ targets }) => targets.length > 1)!
    const exchange = await session.chat(steps.call, {
      model: route.id,
      script: [scriptedFailure(503), scriptedFailure(500)],
    })
    await session.record(exchange)
    await session.wait(session.target.capabilities.cooldown_ms)
  },
  judge({ evidence }) {
    const call = steps.call.in(evidence)[0]!
    const reading = recordExchange(evidence, call)
    const record = jsonOf(reading?.body ?? '') as Row | undefined
    const attempts = (record?.attempt_log ?? []) as Row[]
    const entries = requestsOf(evidence, call)
    const said = attempts.map((each) => `${each.provider}/${each.model} ${each.status}`)
    const seen = entries.map((entry) => `${where(entry)} ${entry.answer.status}`)
    const last = entries.at(-1)
    return [
      finding(
        'all-attempts-with-reasons',
        said.join() === seen.join() && attempts.every((each) => each.outcome === 'failed' && each.error_code),
        'attempts on record, each failed and with a reason',
        { expected: listed(seen), actual: listed(said) },
        refs(call, reading, ...entries),
      ),
      finding(
        'names-the-last-target',
        record?.state === 'failed' &&
          record.resolved_provider === last?.provider &&
          record.resolved_model === last?.model,
        'the record',
        {
          expected: `failed, ${last ? where(last) : 'and a target'}`,
          actual: `${record?.state}, ${record?.resolved_provider}/${record?.resolved_model}`,
        },
        refs(reading),
      ),
    ]
  },
} satisfies Check
