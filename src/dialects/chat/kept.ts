// References in chat requests to state that a provider stores. Format: OpenAI API reference, "Chat";
// `image_file` and a bare `file_id` as OpenAI's assistants and Mistral write them.
import { type KeptKind, places } from '../kept.ts'

export const kept: readonly KeptKind[] = [
  {
    what: 'the file',
    onRecord: 'object',
    at: places(
      'messages.*.content.*.file.file_id',
      'messages.*.content.*.image_file.file_id',
      'messages.*.content.*.file_id',
    ),
    instead: 'its content',
  },
  {
    what: 'the audio',
    at: places('messages.*.audio.id'),
    instead: 'its text',
  },
]
