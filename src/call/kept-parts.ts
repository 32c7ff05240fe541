// The conversation of a kept call as parts that a person can read, the same for every dialect: what the request holds, and
// what the answer says. Reads only texts.
import { Losses } from '../core/losses.ts'
import { AnswerParts } from '../dialects/answer-parts.ts'
import type { Block, Peer } from '../dialects/blocks.ts'
import type { Dialect, UpstreamDialect } from '../dialects/dialect.ts'
import { isObject } from '../dialects/json.ts'
import { dialectAt } from '../dialects/registry.ts'
import { StreamEvent } from '../dialects/stream-event.ts'
import { EventReader } from '../providers/event-reader.ts'
import type { KeptCall } from '../store/kept.ts'

export const PART_KINDS = ['tool', 'text', 'thought', 'call', 'result', 'image', 'document', 'other'] as const

/** A piece of a conversation. */
export interface ConversationPart {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly kind: (typeof PART_KINDS)[number]
  /** Name of an offered or called tool, or of a document; null if there is none. */
  readonly name: string | null
  /** Text, definition of an offered tool, arguments of a call or text of a result; for media, where they are or how long they are. */
  readonly text: string
}

type Role = ConversationPart['role']

type KeptBodies = Pick<KeptCall, 'request' | 'status' | 'content_type' | 'answer'>

/** Returns the parts of a call at an endpoint. Empty for a dialect without conversations, and for what cannot be read. */
export function partsOfKept(
  endpoint: string,
  kept: KeptBodies,
): { readonly input: ConversationPart[]; readonly output: ConversationPart[] } {
  const dialect = dialectAt(endpoint)
  return dialect?.blocks
    ? { input: inputOf(dialect.blocks, kept.request), output: outputOf(dialect.upstream, kept) }
    : { input: [], output: [] }
}

function inputOf(blocks: NonNullable<Dialect['blocks']>, request: string): ConversationPart[] {
  try {
    const { tools, turns } = blocks.parseRequest(JSON.parse(request), { forwarded: [] }, new Losses())
    return [
      ...tools.map(({ name, description, schema }): ConversationPart => {
        return { role: 'system', kind: 'tool', name, text: JSON.stringify({ description, schema }) }
      }),
      ...turns.flatMap(({ role, blocks }) =>
        blocks.flatMap((block) => partsOf(block, role === 'developer' ? 'system' : role)),
      ),
    ]
  } catch {
    return []
  }
}

const PEER: Peer = { family: '', host: '', model: '', facts: {}, returnsReasoning: true }

function outputOf(
  upstream: UpstreamDialect,
  { status, content_type, answer }: KeptBodies,
): ConversationPart[] {
  if (status !== 200) return []
  const parts = new AnswerParts(PEER, new Losses())
  try {
    if (content_type?.startsWith('text/event-stream')) {
      const events = new EventReader(upstream.openStream(parts))
      events.push(Buffer.from(answer))
      events.rest()
    } else if (answer.trimStart().startsWith('[')) {
      const stream = upstream.openStream(parts)
      for (const each of JSON.parse(answer)) stream.read(new StreamEvent('', JSON.stringify(each)))
    } else upstream.readAnswer(answer, parts)
  } catch {
    // What could be read before is shown.
  }
  return parts.answer().blocks.flatMap((block) => partsOf(block, 'assistant'))
}

function partsOf(block: Block, role: Role): ConversationPart[] {
  const part = (kind: ConversationPart['kind'], text: string, name: string | null = null) => [
    { role, kind, name, text },
  ]
  switch (block.type) {
    case 'text':
      return part('text', block.text)
    case 'reasoning':
      return block.text === '' ? [] : part('thought', block.text)
    case 'call':
      return part('call', block.args, block.namespace ? `${block.namespace}.${block.name}` : block.name)
    case 'result': {
      const inside = block.blocks.flatMap((each) => partsOf(each, 'tool'))
      const text = inside.map((each) => each.text).join('\n')
      return [{ role: 'tool', kind: 'result', name: null, text }]
    }
    case 'image':
      return part('image', placeOf(block.source))
    case 'document':
      return part('document', placeOf(block.source), block.name)
    default:
      return part('other', isObject(block.raw) ? String(block.raw.type ?? '') : '')
  }
}

/** Returns where media are, or their type and size. */
function placeOf(source: Extract<Block, { type: 'image' }>['source']): string {
  switch (source.kind) {
    case 'base64':
      return `${source.mediaType}, ${Math.round((source.data.length * 3) / 4)} bytes`
    case 'url':
      return source.url
    case 'file':
      return source.id
    default:
      return source.text
  }
}
