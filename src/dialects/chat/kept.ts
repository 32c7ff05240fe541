// References to provider-stored state in chat requests. Format: OpenAI API reference, "Chat"; OpenAI's
// assistants and Mistral also write `image_file` and a bare `file_id`.
import { type KeptKind, places } from '../kept.ts'

export const kept: readonly KeptKind[] = [
  {
    what: 'the file',
    onRecord: 'object',
    at: places(
      'messages.*.content.*.file.file_id',
      'messages.*.content.*.image_file.file_id',
      'messages.*.content.*.image_url.file_id',
      'messages.*.content.*.input_audio.file_id',
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
