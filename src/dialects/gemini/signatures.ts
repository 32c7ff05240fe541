// Thought signatures. Google signs a model's thoughts and attaches the signature to a part of the answer: a
// call, a text, or a thought. In blocks the signature becomes a reasoning block before this part. Opaque
// reasoning of another family is packed with its text into the signature of the next part. Google's clients
// return signatures unchanged, but drop thought parts.
import { type Block, packOpaque, type ReasoningBlock, unpackOpaque } from '../blocks.ts'
import type { Json } from '../json.ts'

/** Prefix of a signature on a text. Signatures never contain a colon. */
const ON_TEXT = 'text:'
/** Prefix of a signature on an empty text, at the end of a stream. */
const ALONE = 'alone:'

/** Value that Google accepts as the signature of another model's call. Gemini CLI also sends this value. */
export const NO_SIGNATURE = 'skip_thought_signature_validator'

const sealed = (text: string, family: string, bytes: string): ReasoningBlock => ({
  type: 'reasoning',
  text,
  opaque: { family, bytes },
})

/** Converts a part to blocks. A thought without a signature still belongs to the family. */
export function parts(part: Json, family: string, block: () => Block): Block[] {
  const { text, thought, thoughtSignature: seal } = part
  const signature = typeof seal === 'string' && seal !== NO_SIGNATURE ? seal : ''
  if (thought === true) return [sealed(typeof text === 'string' ? text : '', family, signature)]
  if (text === '') return signature === '' ? [] : [sealed('', family, ALONE + signature)]
  if (signature === '') return [block()]
  return [sealed('', family, typeof text === 'string' ? ON_TEXT + signature : signature), block()]
}

/**
 * Converts blocks of the provider's own family to parts. A signature without a text waits for the next part.
 */
export class Signer {
  #waiting: { readonly isText: boolean; readonly signature: string } | null = null

  /** Returns the parts of a reasoning block. */
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

  /**
   * Returns the part with the waiting signature if their kinds match. Otherwise a separate part with the
   * signature comes first.
   */
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

/** Packs thoughts of any family into one signature for Google's clients. */
export function carrierOf(thoughts: readonly ReasoningBlock[]): string {
  const pairs = thoughts.map(({ text, opaque }) => [text, opaque?.bytes ?? null])
  const family = thoughts.find(({ opaque }) => opaque)?.opaque?.family ?? ''
  return packOpaque({ family, bytes: THOUGHTS + JSON.stringify(pairs) })
}

/** Returns the thoughts packed in a signature; null for Google's own signatures. */
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
