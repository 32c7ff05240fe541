// Gateways that serve a dialect which their providers do not speak, and translate rightly: Waybill itself, with each dialect
// led to providers of another.
import type { Innocent } from '../innocent.ts'
import type { Further } from '../on-surfaces.ts'
import type { Target } from '../target.ts'

/** Calls of this surface go to the models that chat goes to, and to no provider of its own dialect. */
const likeChat =
  (surface: Further) =>
  (target: Target): Target => ({ ...target, surfaces: { [surface]: {} } })

const chatOnly = (text: string): string => text.replace('[openai, responses]', 'openai')
const responsesOnly = (text: string): string => text.replace('[openai, responses]', 'responses')

/** Calls of this surface go where those of another go. */
const like =
  (surface: Further, other: Target['models']) =>
  (target: Target): Target => ({ ...target, surfaces: { [surface]: { models: other } } })

const claude: Target['models'] = {
  logical: [
    {
      id: 'auto/claude',
      targets: [
        { provider: 'anthropic', model: 'claude-sonnet-5' },
        { provider: 'anthropic', model: 'claude-haiku-4-5' },
      ],
    },
  ],
  direct: [{ id: 'anthropic/claude-sonnet-5', provider: 'anthropic', model: 'claude-sonnet-5' }],
}
const gpt: Target['models'] = {
  logical: [
    {
      id: 'auto/gpt',
      targets: [
        { provider: 'openai', model: 'gpt-5-mini' },
        { provider: 'openai', model: 'gpt-5-nano' },
      ],
    },
  ],
  direct: [{ id: 'openai/gpt-5-mini', provider: 'openai', model: 'gpt-5-mini' }],
}

export const innocents = {
  'messages-from-chat': {
    what: 'Calls of messages are translated to chat and back.',
    on: ['messages'],
    target: likeChat('messages'),
    hooks: { config: chatOnly },
  },
  'messages-from-responses': {
    what: 'Calls of messages are translated to responses and back.',
    on: ['messages'],
    target: like('messages', gpt),
    hooks: { config: responsesOnly },
  },
  'responses-from-chat': {
    what: 'Calls of responses are translated to chat and back.',
    on: ['responses'],
    target: likeChat('responses'),
    hooks: { config: chatOnly },
  },
  'responses-from-messages': {
    what: 'Calls of responses are translated to messages and back.',
    on: ['responses'],
    target: like('responses', claude),
    hooks: {},
  },
} satisfies Record<string, Innocent>
