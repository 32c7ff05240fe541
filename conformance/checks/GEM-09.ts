// GEM-09: If a gateway lists models for Google's clients, the list and single models have Google's format (Waybill:
// it must list them).
import { ref } from '../dialects/lookup.ts'
import type { Exchange } from '../evidence/evidence.ts'
import { at, jsonOf } from '../evidence/reading.ts'
import { step } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { absent, type Check, finding } from '../runner/check.ts'
import { isNotOffered } from './server.ts'

const steps = { list: step('the list'), one: step<{ model: string }>('one model') }

const PREFIX = /^models\//
/** Number of listed models that are also read one by one. */
const MAX_SINGLES = 3

/** Returns the names in a list in Google's format. */
function namesIn({ body }: Exchange): string[] {
  const models = at(jsonOf(body), '/models')
  return (Array.isArray(models) ? models : []).map((each) => String(at(each, '/name')))
}

export const googleList = {
  id: 'GEM-09',
  needs: ['gemini'],
  dialect: 'gemini',
  async exercise(session) {
    const { headers } = session.dialect
    const list = await session.ask(steps.list, '/v1beta/models', { headers })
    for (const name of namesIn(list).slice(0, MAX_SINGLES)) {
      const model = name.replace(PREFIX, '')
      await session.ask(steps.one.with({ model }), `/v1beta/models/${model}`, { headers })
    }
  },
  judge({ evidence }) {
    const [list] = steps.list.in(evidence)
    const singles = steps.one.in(evidence)
    const names = namesIn(list!)
    const isShaped = names.every((name) => /^(models|tunedModels)\//.test(name))
    return [
      isNotOffered(list!)
        ? absent('list-is-in-shape', 'It does not list models for Google’s clients.', [ref(list!)])
        : finding(
            'list-is-in-shape',
            list!.status === 200 && names.length > 0 && isShaped,
            'the list of models',
            {
              expected: '200 with models, each with a name that begins with models/',
              actual: `${endText(list!)}, ${names.slice(0, 3).join(', ') || 'no models'}`,
            },
            [ref(list!)],
          ),
      ...singles.map((exchange) => {
        const { model } = exchange.details
        if (isNotOffered(exchange))
          return absent('one-is-in-shape', `It does not show ${model} alone.`, [ref(exchange)])
        const name = at(jsonOf(exchange.body), '/name')
        return finding(
          'one-is-in-shape',
          exchange.status === 200 && name === `models/${model}`,
          `the answer about ${model}`,
          {
            expected: `200 with the name models/${model}`,
            actual: `${endText(exchange)}, ${name ?? 'no name'}`,
          },
          [ref(exchange)],
        )
      }),
    ]
  },
} satisfies Check
