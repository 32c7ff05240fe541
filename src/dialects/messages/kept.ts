// References in Messages requests to state that Anthropic stores. Format: Anthropic API reference, "Messages". After
// one of the error codes used here, clients send the whole conversation again.
import { GatewayError } from '../../core/errors.ts'
import { isObject, type Json } from '../json.ts'
import { type KeptKind, places } from '../kept.ts'

export const kept: readonly KeptKind[] = [
  {
    what: 'the thread',
    at: places('thread.previous_message_id'),
    onRecord: 'answer',
    staysWithModel: true,
    changes: true,
    instead: 'the whole conversation with `thread: {"type": "create"}`',
    refusal: (why) =>
      new GatewayError(
        'thread_not_found',
        `thread.previous_message_id: the thread is not found: ${why}. Send the whole conversation with \`thread: {"type": "create"}\` instead.`,
        { param: 'thread.previous_message_id', details: { error_code: 'thread_not_found' } },
      ),
  },
  {
    what: 'the file',
    onRecord: 'object',
    // The first is a block of a message or of the system prompt, the others are inside of a result or a document.
    at: ['system.*', 'messages.*.content.*'].flatMap((block) =>
      places(
        `${block}.source.file_id`,
        `${block}.source.content.*.source.file_id`,
        `${block}.content.*.source.file_id`,
        `${block}.content.*.source.content.*.source.file_id`,
        `${block}.file_id`,
      ),
    ),
    instead: 'its content',
  },
  {
    what: 'the container',
    at: places('container', 'container.id'),
    onRecord: 'object',
    changes: true,
    instead: 'the request without it, for a new container',
  },
  {
    what: 'the skill',
    at: places('container.skills.*.skill_id'),
    isId: (_, { type }) => type !== 'anthropic',
    instead: 'what it says',
  },
]

/**
 * Returns true if the request asks to store the conversation. Throws if it continues an answer without an id.
 */
export function isThreaded({ thread }: Json): boolean {
  if (thread == null) return false
  if (isObject(thread) && thread.type === 'continue' && typeof thread.previous_message_id !== 'string')
    throw new GatewayError('invalid_request', 'thread.previous_message_id: expected a string', {
      param: 'thread.previous_message_id',
    })
  return true
}

/** Returns the error for a conversation that no target of the requested model can store. */
export const threadUnsupported = (): GatewayError =>
  new GatewayError(
    'thread_unsupported_request',
    'thread: no target of the requested model holds threads. Send the whole conversation without `thread` instead.',
    { param: 'thread', details: { error_code: 'thread_unsupported_request', unsupported: ['model'] } },
  )
