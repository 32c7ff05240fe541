// GEM-03: A stream of events arrives byte for byte, including thoughts, their `thoughtSignature` and calls. Without
// `?alt=sse`, the answer is a list, which arrives as the provider wrote it (Waybill: in one piece).
import { step } from '../evidence/step.ts'
import { type Check, doubt } from '../runner/check.ts'
import { geminiAnswer, geminiEvent, sameBytes } from './gemini.ts'

const steps = { events: step<{ about: string }>('events'), list: step('a list') }

const STREAMS: Readonly<Record<string, readonly object[]>> = {
  text: [geminiAnswer([{ text: 'From here ' }]), geminiAnswer([{ text: 'to there.' }], 'STOP')],
  'thoughts and calls': [
    geminiAnswer([{ text: 'Where to?', thought: true }]),
    geminiAnswer([{ text: '', thoughtSignature: 'c2lnbmF0dXJl' }]),
    geminiAnswer(
      [
        {
          functionCall: { id: 'call-1', name: 'look_up', args: { way: 1, back: false } },
          thoughtSignature: 'c2Vjb25k',
        },
        { functionCall: { name: 'look_up', args: {} } },
      ],
      'STOP',
    ),
  ],
  'unknown members': [
    { ...geminiAnswer([{ text: 'It ', waybillProbe: { kept: true } }]), waybillProbe: [1, null] },
    geminiAnswer([{ text: 'is known.' }], 'STOP'),
  ],
}

const LIST = `[${STREAMS.text!.map((part) => JSON.stringify(part)).join('\n,\r\n')}\n]\n`

export const geminiStreamIsBytes = {
  id: 'GEM-03',
  needs: ['gemini'],
  dialect: 'gemini',
  relays: true,
  async exercise(session) {
    const models = [...new Set([session.model, ...session.target.models.direct.map(({ id }) => id)])]
    for (const model of models) {
      for (const [about, parts] of Object.entries(STREAMS))
        await session.chat(steps.events.with({ about }), {
          ...{ model, stream: true, script: [{ events: parts.map(geminiEvent) }] },
        })
      const script = [{ headers: { 'content-type': 'application/json' }, status: 200, body: LIST }]
      const path = `/v1beta/models/${model}:streamGenerateContent`
      await session.chat(steps.list, { model, stream: true, path, script })
    }
  },
  judge: ({ evidence }) => {
    const found = [
      ...steps.events.in(evidence).flatMap((each) => sameBytes('same-events', evidence, each)),
      ...steps.list.in(evidence).flatMap((each) => sameBytes('same-list', evidence, each)),
    ]
    return found.length > 0 ? found : [doubt('same-events', 'Every stream was translated.')]
  },
} satisfies Check
