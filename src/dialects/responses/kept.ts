// References in Responses requests to state that OpenAI stores. Format: OpenAI API reference, "Responses".
import { previousResponseNotFound } from '../../core/errors.ts'
import { type KeptKind, places } from '../kept.ts'

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
    // A reference may omit its type. A message without a type has a role.
    isId: (_, { type, role }) => type === 'item_reference' || (type == null && role == null),
    isConversation: true,
    instead: 'the item itself',
  },
  {
    what: 'the file',
    onRecord: 'object',
    at: places(
      'input.*.content.*.file_id',
      'input.*.output.*.file_id',
      'input.*.output.file_id',
      'tools.*.container.file_ids.*',
      'tools.*.environment.file_ids.*',
      'tools.*.input_image_mask.file_id',
    ),
    instead: 'its content',
  },
  {
    what: 'the vector store',
    at: places('tools.*.vector_store_ids.*'),
    instead: 'what is to be searched',
  },
  {
    what: 'the container',
    at: places('tools.*.container', 'tools.*.environment.container_id'),
    onRecord: 'container',
    changes: true,
    instead: '`{"type": "auto"}`, for a new container',
  },
  {
    what: 'the skill',
    at: places('tools.*.environment.skills.*.skill_id'),
    instead: 'what it says',
  },
]
