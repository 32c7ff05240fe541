// References in Responses requests to state that OpenAI stores. Format: OpenAI API reference, "Responses".
import { previousResponseNotFound } from '../../core/errors.ts'
import { type KeptKind, places } from '../kept.ts'
import { isReference } from './named-items.ts'

/** Places of tools: in the request, in a namespace, and as added by an item of the input. */
const TOOLS = ['tools.*', 'tools.*.tools.*', 'input.*.tools.*', 'input.*.tools.*.tools.*']
const inTools = (...paths: readonly string[]) =>
  places(...TOOLS.flatMap((at) => paths.map((path) => `${at}.${path}`)))

export const kept: readonly KeptKind[] = [
  {
    what: 'the previous response',
    at: places('previous_response_id'),
    onRecord: 'answer',
    instead: 'the whole conversation',
    refusal: previousResponseNotFound,
  },
  {
    what: 'the conversation',
    onRecord: 'object',
    at: places('conversation', 'conversation.id'),
    isConversation: true,
    changes: true,
    instead: 'all of it as `input`',
  },
  {
    what: 'the prompt',
    at: places('prompt.id'),
    isConversation: true,
    instead: 'its text as `instructions`',
  },
  {
    what: 'the item',
    at: places('input.*.id'),
    isId: (_, owner) => isReference(owner),
    isConversation: true,
    instead: 'the item itself',
  },
  {
    what: 'the file',
    onRecord: 'object',
    at: [
      ...places(
        'input.*.content.*.file_id',
        'input.*.output.*.file_id',
        'input.*.output.file_id',
        'input.*.file_id',
        'prompt.variables.*.file_id',
      ),
      ...inTools('container.file_ids.*', 'environment.file_ids.*', 'input_image_mask.file_id'),
    ],
    instead: 'its content',
  },
  {
    what: 'the vector store',
    at: inTools('vector_store_ids.*'),
    instead: 'what is to be searched',
  },
  {
    what: 'the container',
    at: inTools('container', 'environment.container_id'),
    onRecord: 'object',
    changes: true,
    instead: '`{"type": "auto"}`, for a new container',
  },
  {
    what: 'the skill',
    at: inTools('environment.skills.*.skill_id'),
    instead: 'what it says',
  },
]
