// ROUTE-12: A call that needs tools, images or a long context goes only to targets that support them.

import { refs } from '../dialects/lookup.ts'
import type { Exchange } from '../evidence/evidence.ts'
import { at, jsonOf } from '../evidence/reading.ts'
import { step } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'
import { targets } from './route.ts'

const steps = {
  plain: step('plain'),
  tools: step('tools'),
  image: step('image'),
}

const TOOLS = [
  { type: 'function', function: { name: 'find_road', parameters: { type: 'object', properties: {} } } },
]

const IMAGE = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }

export const capabilities = {
  id: 'ROUTE-12',
  needs: ['variant:strategies'],
  async exercise(session) {
    await session.another('strategies')
    await session.chat(steps.plain, { model: 'capable' })
    await session.chat(steps.tools, { model: 'capable', body: { tools: TOOLS } })
    const messages = [{ role: 'user', content: [{ type: 'text', text: 'What is this?' }, IMAGE] }]
    await session.chat(steps.image, { model: 'capable', body: { messages } })
  },
  judge({ evidence }) {
    const [plain, tools, image] = [steps.plain, steps.tools, steps.image].map((step) => step.in(evidence)[0]!)
    const went = (exchange: Exchange) => targets(evidence, [exchange]).join()
    const seen = evidence.ledger.filter(({ at: time }) => time >= image!.at)
    return [
      finding(
        'plain-goes-first',
        went(plain!) === 'openai/no-tools',
        'where a plain call went',
        { expected: 'openai/no-tools', actual: went(plain!) },
        refs(plain),
      ),
      finding(
        'tools-go-where-they-can',
        went(tools!) === 'groq/no-images',
        'where a call with tools went',
        { expected: 'groq/no-images, the only target that has them', actual: went(tools!) },
        refs(tools),
      ),
      finding(
        'image-is-refused',
        image!.status === 503 &&
          at(jsonOf(image!.body), '/error/code') === 'no_target_available' &&
          seen.length === 0,
        'a call with an image, which no target takes',
        {
          expected: '503 no_target_available, and no request',
          actual: `${endText(image!)} ${at(jsonOf(image!.body), '/error/code')}, ${seen.length} requests`,
        },
        refs(image),
      ),
    ]
  },
} satisfies Check
