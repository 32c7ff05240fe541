// ROUTE-12: A call that needs tools, images or a long context goes only to targets that have them.
import { type Check, finding } from '../check.ts'
import { labelled, refs } from '../lookup.ts'
import { at, jsonOf } from '../reading.ts'
import { targets } from './route.ts'

const TOOLS = [
  { type: 'function', function: { name: 'find_road', parameters: { type: 'object', properties: {} } } },
]

const IMAGE = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }

export const capabilities = {
  id: 'ROUTE-12',
  needs: ['variant:strategies'],
  async exercise(session) {
    await session.another('strategies')
    await session.chat('plain', { model: 'capable' })
    await session.chat('tools', { model: 'capable', body: { tools: TOOLS } })
    const messages = [{ role: 'user', content: [{ type: 'text', text: 'What is this?' }, IMAGE] }]
    await session.chat('nobody sees', { model: 'capable', body: { messages } })
  },
  judge({ evidence }) {
    const [plain, tools, image] = ['plain', 'tools', 'nobody sees'].map(
      (label) => labelled(evidence, label)[0]!,
    )
    const seen = evidence.ledger.filter(({ at: time }) => time >= image!.at)
    return [
      finding(
        'plain-goes-first',
        targets(evidence, 'plain').join() === 'openai/no-tools',
        `a plain call went to ${targets(evidence, 'plain').join()}`,
        refs(plain),
      ),
      finding(
        'tools-go-where-they-can',
        targets(evidence, 'tools').join() === 'groq/no-images',
        `a call with tools went to ${targets(evidence, 'tools').join()}, the only target that has them`,
        refs(tools),
      ),
      finding(
        'image-is-refused',
        image!.status === 503 &&
          at(jsonOf(image!.body), '/error/code') === 'no_target_available' &&
          seen.length === 0,
        `an image that no target takes: ${image!.status} ${at(jsonOf(image!.body), '/error/code')}, ${seen.length} requests`,
        refs(image),
      ),
    ]
  },
} satisfies Check
