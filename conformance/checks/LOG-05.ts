// LOG-05: A failed call names the last target and lists all attempts with reasons.
import { type Check, finding } from '../check.ts'
import { labelled, refs, requestsOf, where } from '../lookup.ts'
import { jsonOf, type Json as Row } from '../reading.ts'
import { failure } from '../scripted.ts'

export const failuresListAttempts = {
  id: 'LOG-05',
  needs: ['fallback'],
  async exercise(session) {
    const route = session.target.models.logical.find(({ targets }) => targets.length > 1)!
    const exchange = await session.chat('call', { model: route.id, script: [failure(503), failure(500)] })
    await session.record('record', exchange)
    await session.wait(session.target.capabilities.cooldown_ms)
  },
  judge({ evidence }) {
    const [call, reading] = [labelled(evidence, 'call')[0]!, labelled(evidence, 'record')[0]]
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
        `attempts on record: ${said.join(', ')}; at the witness: ${seen.join(', ')}`,
        refs(call, reading, ...entries),
      ),
      finding(
        'names-the-last-target',
        record?.state === 'failed' &&
          record.resolved_provider === last?.provider &&
          record.resolved_model === last?.model,
        `it is ${record?.state} and names ${record?.resolved_provider}/${record?.resolved_model}`,
        refs(reading),
      ),
    ]
  },
} satisfies Check
