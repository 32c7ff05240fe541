// Thought signatures. Google seals what a model thought and puts the seal on a part of what it said: a call, a text, or a thought.
// In blocks it is a reasoning block before that part. The other way round, what another family sealed travels in the signature
// of the next part, its text too: clients of Google's return signatures unchanged, but not the parts that are thoughts.
import type { Block, ReasoningBlock } from '../blocks.ts'
import { packOpaque, unpackOpaque } from '../carrier.ts'
import type { Json } from '../json.ts'

/** Where a seal stood, if not on a call or on a thought; no signature has a colon. */
const ON_TEXT = 'text:'
/** On a text that is empty: at the end of a stream. */
const ALONE = 'alone:'

/** What Google takes in the place of a signature where another model made the call; Gemini CLI sends it, too. */
export const NO_SIGNATURE = 'skip_thought_signature_validator'

const sealed = (text: string, family: string, bytes: string): ReasoningBlock => ({
  type: 'reasoning',
  text,
  opaque: { family, bytes },
})

/** A part of Google's in blocks. A thought without a seal is the family's own all the same. */
export function parts(part: Json, family: string, block: () => Block): Block[] {
  const { text, thought, thoughtSignature: seal } = part
  const signature = typeof seal === 'string' && seal !== NO_SIGNATURE ? seal : ''
  if (thought === true) return [sealed(typeof text === 'string' ? text : '', family, signature)]
  if (text === '') return signature === '' ? [] : [sealed('', family, ALONE + signature)]
  if (signature === '') return [block()]
  return [sealed('', family, typeof text === 'string' ? ON_TEXT + signature : signature), block()]
}

/** Blocks of the provider's own family -> parts: what becomes of a reasoning block, and what waits for the next part. */
export class Signer {
  #waiting: { readonly isText: boolean; readonly signature: string } | null = null

  /** The parts of a reasoning block. */
  seal({ text, opaque }: ReasoningBlock): Json[] {
    const before = this.flush()
    const bytes = opaque?.bytes ?? ''
    if (text !== '') return [...before, { text, thought: true, ...(bytes && { thoughtSignature: bytes }) }]
    if (bytes.startsWith(ALONE)) return [...before, { text: '', thoughtSignature: bytes.slice(ALONE.length) }]
    if (bytes !== '')
      this.#waiting = bytes.startsWith(ON_TEXT)
        ? { isText: true, signature: bytes.slice(ON_TEXT.length) }
        : { isText: false, signature: bytes }
    return before
  }

  /** A part with the seal that waits for one of its kind; a seal that belongs to none goes before it alone. */
  sign(part: Json): Json[] {
    const waiting = this.#waiting
    if (waiting === null || waiting.isText !== 'text' in part) return [...this.flush(), part]
    this.#waiting = null
    return [{ ...part, thoughtSignature: waiting.signature }]
  }

  flush(): Json[] {
    const waiting = this.#waiting
    this.#waiting = null
    return waiting ? [{ text: '', thoughtSignature: waiting.signature }] : []
  }
}

const THOUGHTS = 'thoughts:'

/** Thoughts of any family as one signature for a client of Google's. */
export function carrierOf(thoughts: readonly ReasoningBlock[]): string {
  const pairs = thoughts.map(({ text, opaque }) => [text, opaque?.bytes ?? null])
  const family = thoughts.find(({ opaque }) => opaque)?.opaque?.family ?? ''
  return packOpaque({ family, bytes: THOUGHTS + JSON.stringify(pairs) })
}

/** What such a signature holds; null for one of Google's own. */
export function thoughtsIn(signature: unknown): ReasoningBlock[] | null {
  const opaque = typeof signature === 'string' ? unpackOpaque(signature) : null
  if (!opaque) return null
  if (!opaque.bytes.startsWith(THOUGHTS)) return []
  try {
    const pairs: unknown = JSON.parse(opaque.bytes.slice(THOUGHTS.length))
    return (Array.isArray(pairs) ? pairs : []).flatMap((pair): ReasoningBlock[] => {
      const [text, bytes] = Array.isArray(pair) ? pair : []
      if (typeof text !== 'string') return []
      const seal = typeof bytes === 'string' ? { family: opaque.family, bytes } : null
      return [{ type: 'reasoning', text, opaque: seal }]
    })
  } catch {
    return []
  }
}
