// Converts the content of a chat message, in a request or an answer, to blocks. Format: OpenAI API reference,
// "Chat"; reasoning as DeepSeek, Groq and OpenRouter send it.
import type { Loss, Losses } from '../../core/losses.ts'
import type { Block, Source } from '../blocks.ts'
import { unpackOpaque } from '../carrier.ts'
import { isObject, type Json, listOrEmpty, member, textOf } from '../json.ts'
import { sourceOf } from '../source.ts'
import { originalId } from '../tool-ids.ts'

/** Converts an assistant's message. `family`: the owner of opaque data without our mark. */
export function answerBlocks(message: Json, losses: Losses, family: string | null = null): Block[] {
  const { content, refusal, tool_calls: calls, function_call: call, annotations, audio, images } = message
  const blocks = [...reasoningOf(message, family, losses), ...partsOf(content, losses)]
  if (typeof refusal === 'string' && refusal !== '') {
    losses.add('refusal')
    blocks.push({ type: 'text', text: refusal })
  }
  if (listOrEmpty(annotations).length > 0) losses.add('citations')
  losses.of(audio, 'audio')
  blocks.push(...partsOf(images, losses))
  blocks.push(...listOrEmpty(calls).flatMap((each) => callOf(each, losses)))
  if (isObject(call)) blocks.push(...callOf({ id: call.name, function: call }, losses))
  return blocks
}

/** Opaque details may accompany the text. A text inside the details replaces the text of the message. */
function reasoningOf(message: Json, family: string | null, losses: Losses): Block[] {
  const { reasoning_content: content, reasoning, reasoning_details: details } = message
  const blocks = listOrEmpty(details).flatMap((detail) => detailOf(detail, family, losses))
  if (blocks.some((block) => block.type === 'reasoning' && block.text !== '')) return blocks
  const text = textOf(content) || textOf(reasoning)
  return text === '' ? blocks : [{ type: 'reasoning', text, opaque: null }, ...blocks]
}

/** Converts OpenRouter's `reasoning_details`: signed text, a summary, or encrypted data. Details from this
 * gateway carry a mark. */
export function detailOf(detail: unknown, family: string | null, losses: Losses): Block[] {
  if (!isObject(detail)) return []
  const text = textOf(detail.text) || textOf(detail.summary)
  const sealed = textOf(detail.signature) || textOf(detail.data)
  if (sealed === '') return text === '' ? [] : [{ type: 'reasoning', text, opaque: null }]
  const ours = unpackOpaque(sealed)
  if (!ours && family === null) losses.add('thinking.signature')
  const opaque = ours ?? (family === null ? null : { family, bytes: JSON.stringify(detail) })
  return [{ type: 'reasoning', text, opaque }]
}

/** Converts a string or a list of parts. */
export function partsOf(content: unknown, losses: Losses): Block[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  return listOrEmpty(content).flatMap((part) => partOf(part, losses))
}

function partOf(part: unknown, losses: Losses): Block[] {
  if (typeof part === 'string') return [{ type: 'text', text: part }]
  if (!isObject(part)) return [unknown(part, 'unknown.block')]
  losses.of(part.prompt_cache_breakpoint, 'cache_control')
  const cache = part.cache_control == null ? {} : { cache: part.cache_control }
  switch (part.type) {
    case 'text':
    case 'input_text':
    case 'output_text':
      return [{ type: 'text', text: textOf(part.text), ...cache }]
    case 'refusal':
      losses.add('refusal')
      return [{ type: 'text', text: textOf(part.refusal) }]
    // Mistral's format of reasoning.
    case 'thinking':
      return [
        {
          type: 'reasoning',
          text: listOrEmpty(part.thinking)
            .map((each) => textOf(member(each, 'text')))
            .join(''),
          opaque: null,
        },
      ]
    case 'image_url': {
      const image = part.image_url
      const detail = member(image, 'detail')
      const source = sourceOf(textOf(isObject(image) ? image.url : image))
      return [{ type: 'image', source, ...(typeof detail === 'string' ? { detail } : {}), ...cache }]
    }
    case 'input_audio': {
      const { data, format } = isObject(part.input_audio) ? part.input_audio : {}
      const source: Source = { kind: 'base64', mediaType: `audio/${textOf(format)}`, data: textOf(data) }
      return [{ type: 'document', source, name: null }]
    }
    case 'file':
      return [fileOf(part.file ?? part, cache)] // Mistral sends the file without an enclosing object
    default:
      return [unknown(part, 'unknown.block')]
  }
}

function fileOf(file: unknown, cache: object): Block {
  const { file_id: id, file_data: data, filename } = isObject(file) ? file : {}
  const name = typeof filename === 'string' ? filename : null
  if (typeof id === 'string') return { type: 'document', source: { kind: 'file', id }, name, ...cache }
  return { type: 'document', source: sourceOf(textOf(data)), name, ...cache }
}

function callOf(call: unknown, losses: Losses): Block[] {
  if (!isObject(call)) return []
  const id = originalId(textOf(call.id))
  const { function: made, custom } = call
  if (isObject(made))
    return [
      {
        type: 'call',
        id,
        name: textOf(made.name),
        namespace: null,
        kind: 'function',
        args: argsOf(made.arguments),
      },
    ]
  if (isObject(custom))
    return [
      {
        type: 'call',
        id,
        name: textOf(custom.name),
        namespace: null,
        kind: 'custom',
        args: textOf(custom.input),
      },
    ]
  losses.add('unknown.block')
  return []
}

/** Some servers send the arguments as an object, not as a string. */
export const argsOf = (args: unknown): string =>
  typeof args === 'string' ? args : args == null ? '' : JSON.stringify(args)

const unknown = (raw: unknown, loss: Loss): Block => ({ type: 'unknown', dialect: 'chat', raw, loss })
