// Puts an answer together from the pieces that a reader finds in it. Providers repeat, split, reorder and omit them in
// many ways (deviations/), so the rules are here, once for all dialects:
// - a call is known by its key; a piece without a name continues it, and a call that never has a name is none;
// - names and arguments in pieces are joined; what is given only at the end is taken from there, and never twice;
// - a character in two halves is passed on whole.
import type { Losses } from '../core/losses.ts'
import type { AnswerBlocks, Block, BlockEvent, CallBlock, Opaque, Peer, Stop } from './blocks.ts'
import { isObject } from './json.ts'
import { newCallId, originalId } from './tools.ts'

type Kind = 'text' | 'reasoning' | 'call'

/** A text, a thought or a call that is being received. */
interface Part {
  /** Key of its block in the events. */
  readonly key: number
  readonly kind: Kind
  /** All text or arguments so far. */
  text: string
  /** True once the arguments of a call have begun. */
  hasBegun: boolean
  /** False for arguments that do not begin as an object does. They wait for their end, and may turn out to be none. */
  isPlain: boolean
  /** True if the last piece ends an object. */
  endsObject: boolean
  /** Comparisons of the whole text that are left. Their number is bounded, so that time stays linear. */
  comparisons: number
  /** First half of a character. */
  half: string
  state: 'waiting' | 'open' | 'closed'
  /** Name, id and kind of a call. */
  call: Omit<CallBlock, 'args'> | null
}

/** What a piece says about its call. Empty texts say nothing. */
interface CallPiece {
  readonly id: string
  readonly name: string
  readonly kind?: CallBlock['kind']
  readonly namespace?: string | null
}

export class AnswerParts {
  readonly peer: Peer
  readonly losses: Losses
  #events: BlockEvent[] = []
  readonly #parts = new Map<unknown, Part>()
  /** The text or thought that goes on until another part begins, in dialects that mark no end. */
  #current: Part | null = null
  #count = 0
  /** All text and thoughts so far, for answers that repeat them at the end. */
  readonly #whole = { text: '', reasoning: '' }
  /** Calls that have a name and are not passed on yet, in order. */
  readonly #named = new Set<Part>()
  /** Ids of the calls that are passed on. */
  readonly #ids = new Set<string>()
  #stop: Stop | null = null
  #sequence: string | null = null
  hasCalls = false
  /** The last unknown reason for the end; null if there is none. */
  unknownStop: string | null = null

  constructor(peer: Peer, losses: Losses) {
    this.peer = peer
    this.losses = losses
  }

  /** Returns the events since the last time. */
  take(): BlockEvent[] {
    const events = this.#events
    this.#events = []
    return events
  }

  /** Adds a piece of text or of a thought that continues the current one of its kind, if there is one. */
  flow(kind: 'text' | 'reasoning', piece: string): void {
    if (piece === '') return
    this.#begin(kind)
    this.#whole[kind] += piece
    this.#add(this.#current!, piece)
  }

  /** Adds what is missing of a text that is given as a whole. */
  flowRest(kind: 'text' | 'reasoning', whole: string): void {
    this.flow(kind, this.#missing(this.#whole[kind], whole))
  }

  /** Seals the current thought, or a new one without text. */
  flowSeal(opaque: Opaque): void {
    this.#begin('reasoning')
    this.#seal(this.#current!, opaque)
  }

  /** Ends the current text or thought. */
  endFlow(): void {
    if (this.#current) this.#close(this.#current)
    this.#current = null
  }

  /** Begins a text or thought with a key of its own, unless it has begun. */
  begin(key: unknown, kind: 'text' | 'reasoning'): void {
    if (!this.#parts.has(key)) this.#parts.set(key, this.#new(kind))
  }

  /** Returns what a part is; null if there is none, or it has ended. */
  kindOf(key: unknown): Kind | null {
    const part = this.#parts.get(key)
    return part && part.state !== 'closed' ? part.kind : null
  }

  /** Adds a piece to the part with a key. Returns false if there is none. */
  add(key: unknown, piece: string): boolean {
    const part = this.#parts.get(key)
    if (part && part.state !== 'closed') this.#add(part, piece)
    return part !== undefined
  }

  /** Adds what is missing of a part that is given as a whole. */
  rest(key: unknown, whole: string): void {
    const part = this.#parts.get(key)
    if (!part || part.state === 'closed' || part.comparisons-- <= 0) return
    if (!part.call || !isSameJson(part.text, whole)) this.#add(part, this.#missing(part.text, whole))
  }

  seal(key: unknown, opaque: Opaque): void {
    const part = this.#parts.get(key)
    if (part && part.state !== 'closed') this.#seal(part, opaque)
  }

  end(key: unknown): void {
    const part = this.#parts.get(key)
    if (part) this.#close(part)
  }

  /** Adds a block that arrives in one piece. */
  whole(block: Block): void {
    this.#settle()
    this.endFlow()
    this.#events.push({ type: 'whole', block })
  }

  /** Begins a call, or adds to the name of one that has begun. The name may come in pieces until the arguments do. */
  call(key: unknown, { id, name, kind, namespace }: CallPiece): void {
    let part = this.#parts.get(key)
    if (!part) {
      this.endFlow()
      this.#settle()
      part = this.#new('call')
      part.call = { type: 'call', id: '', name: '', namespace: null, kind: kind ?? 'function' }
      this.#parts.set(key, part)
    }
    const call = part.call!
    const isFixed = part.state !== 'waiting' || part.hasBegun
    part.call = {
      ...call,
      id: call.id || id,
      kind: kind ?? call.kind,
      namespace: namespace ?? call.namespace,
      name: isFixed ? call.name || name : joined(call.name, name),
    }
    if (part.call.name === '' || part.state !== 'waiting') return
    this.hasCalls = true
    this.#named.add(part)
    if (part.hasBegun) this.#passOn(part, part.text)
  }

  /** Returns the id and the name of a call; null if it has not begun. */
  callOf(
    key: unknown,
  ): { readonly id: string; readonly name: string; readonly hasArguments: boolean } | null {
    const part = this.#parts.get(key)
    return part?.call ? { id: part.call.id, name: part.call.name, hasArguments: part.text !== '' } : null
  }

  /** Returns true if the arguments of a call are a complete object. */
  isComplete(key: unknown): boolean {
    const part = this.#parts.get(key)
    return part?.endsObject === true && part.comparisons-- > 0 && isWhole(part.text)
  }

  /** Returns the text or arguments of a part so far. */
  textOf(key: unknown): string {
    return this.#parts.get(key)?.text ?? ''
  }

  /** Sets why the answer ended. The last known reason counts. */
  stop(stop: Stop, sequence: string | null = null): void {
    this.#stop = stop
    this.#sequence = sequence
  }

  /** Notes an unknown reason, which is no good end. */
  stopUnknown(word: string): void {
    this.losses.add('stop_reason')
    this.unknownStop = word
  }

  /** Ends all parts. */
  finish(): void {
    this.endFlow()
    for (const part of this.#parts.values()) this.#close(part)
  }

  /** Returns why the answer ended; null if no reason is known. An answer with calls waits for their results. */
  get ended(): { readonly stop: Stop; readonly sequence: string | null } | null {
    const [stop, sequence] = [this.#stop, this.#sequence]
    if (stop === null) return null
    if (stop === 'end' && this.hasCalls) return { stop: 'calls', sequence }
    return { stop: stop === 'calls' && !this.hasCalls ? 'end' : stop, sequence }
  }

  /** Returns a whole answer. */
  answer(): AnswerBlocks {
    this.finish()
    const { stop, sequence } = this.ended ?? { stop: null, sequence: null }
    return { blocks: blocksOf(this.take()), stop, sequence }
  }

  #new(kind: Kind): Part {
    const state = { text: '', hasBegun: false, isPlain: true, endsObject: false, half: '' }
    return { key: this.#count++, kind, ...state, comparisons: MAX_COMPARISONS, state: 'waiting', call: null }
  }

  #begin(kind: 'text' | 'reasoning'): void {
    if (this.#current?.kind === kind) return
    this.endFlow()
    this.#settle()
    this.#current = this.#new(kind)
  }

  #missing(before: string, whole: string): string {
    if (whole.length >= before.length && whole.startsWith(before)) return whole.slice(before.length)
    if (whole !== '') this.losses.add('repetition')
    return ''
  }

  #add(part: Part, piece: string): void {
    if (piece === '') return
    if (part.call?.kind === 'function') {
      if (this.#isRepeated(part, piece)) return
      if (this.#isCumulative(part, piece)) piece = piece.slice(part.text.length)
    }
    part.text += piece
    if (part.call?.kind !== 'function' || part.hasBegun) {
      part.hasBegun = true
      this.#passOn(part, piece)
      return
    }
    const begin = piece.trimStart()
    if (begin === '') return
    part.hasBegun = true
    part.isPlain = begin.startsWith('{')
    this.#passOn(part, part.text)
  }

  /** Returns true for an object after a complete object, which nothing can follow: it is the same again. */
  #isRepeated(part: Part, piece: string): boolean {
    const isAgain = part.endsObject && /^\s*\{/.test(piece) && part.comparisons-- > 0 && isWhole(part.text)
    if (!isAgain && piece.trim() !== '') part.endsObject = /\}\s*$/.test(piece)
    return isAgain
  }

  /** Returns true if a piece has all arguments so far: joined with them, it would be no JSON. */
  #isCumulative(part: Part, piece: string): boolean {
    const { text } = part
    if (text === '' || piece.length <= text.length || !piece.startsWith(text)) return false
    return part.comparisons-- > 0 && isTorn(text + piece)
  }

  #passOn(part: Part, piece: string): void {
    if (part.call?.name === '' || !part.isPlain) return
    const isFirst = part.state === 'waiting'
    this.#open(part)
    this.#send(part, isFirst ? part.text : piece)
  }

  #open(part: Part): void {
    if (part.state !== 'waiting') return
    const { key, kind, call } = part
    part.state = 'open'
    this.#named.delete(part)
    const block = call ? { ...call, id: this.#idFor(originalId(call.id)) } : { type: kind as 'text' }
    this.#events.push({ type: 'open', key, block })
  }

  /** Returns a new id for a call without one, and for one with the id of another call: clients answer calls by their ids. */
  #idFor(id: string): string {
    if (this.#ids.has(id)) this.losses.add('tool.id')
    const own = id === '' || this.#ids.has(id) ? newCallId() : id
    this.#ids.add(own)
    return own
  }

  #send(part: Part, piece: string): void {
    let text = part.half + piece
    part.half = ''
    const last = text.charCodeAt(text.length - 1)
    if (last >= 0xd800 && last < 0xdc00) {
      part.half = text.slice(-1)
      text = text.slice(0, -1)
    }
    if (text !== '') this.#events.push({ type: 'delta', key: part.key, text })
  }

  #seal(part: Part, opaque: Opaque): void {
    this.#open(part)
    this.#events.push({ type: 'seal', key: part.key, opaque })
  }

  #close(part: Part): void {
    if (part.state === 'closed') return
    const { call, key } = part
    if (call && call.name !== '') {
      this.#open(part)
      if (!part.isPlain) this.#send(part, argumentsIn(part.text))
    }
    const isOpen = part.state === 'open'
    if (!isOpen && part.text !== '') this.losses.add('unknown.block')
    if (isOpen && part.half !== '') this.#events.push({ type: 'delta', key, text: '\ufffd' })
    part.state = 'closed'
    if (isOpen) this.#events.push({ type: 'close', key })
  }

  /** Opens the calls whose names are known, because the next part follows them. */
  #settle(): void {
    for (const part of this.#named)
      if (part.hasBegun) this.#close(part)
      else this.#open(part)
  }
}

/** Maximum comparisons of one part with what is given again. */
const MAX_COMPARISONS = 4

/** Maximum characters of a name in pieces. Providers accept 128. */
const MAX_NAME_LENGTH = 1_024

/** Joins two pieces of a name. Some servers repeat it as far as it is known. */
function joined(before: string, piece: string): string {
  if (before.length > MAX_NAME_LENGTH) return before
  return piece.startsWith(before) ? piece : before + piece
}

/** Returns arguments that are no object as they are meant: none, or an object inside a string. */
function argumentsIn(text: string): string {
  const args = text.trim()
  if (args === 'null' || args === '""') return ''
  if (!args.startsWith('"')) return text
  try {
    const inner: unknown = JSON.parse(args)
    return typeof inner === 'string' && (inner.trim() === '' || isWhole(inner)) ? inner.trim() : text
  } catch {
    return text
  }
}

/** Returns true if a text is a complete JSON object. */
function isWhole(text: string): boolean {
  if (!text.trimEnd().endsWith('}')) return false
  try {
    return isObject(JSON.parse(text))
  } catch {
    return false
  }
}

const TOKENS = /"(?:[^"\\]|\\.)*"|"(?:[^"\\]|\\.)*\\?$|[{}[\]:,]|[^\s"{}[\]:,]+/gs

/** Returns true if a text cannot be the beginning of JSON, because a value follows a value. */
function isTorn(text: string): boolean {
  let isAfterValue = false
  for (const [token] of text.matchAll(TOKENS)) {
    const isMark = token === ':' || token === ','
    const isEnd = token === '}' || token === ']'
    if (isAfterValue && !isMark && !isEnd) return true
    isAfterValue = !isMark && token !== '{' && token !== '['
  }
  return false
}

/** Returns true if two texts are the same JSON, apart from white space. */
function isSameJson(a: string, b: string): boolean {
  try {
    return a !== '' && JSON.stringify(JSON.parse(a)) === JSON.stringify(JSON.parse(b))
  } catch {
    return false
  }
}

function blocksOf(events: readonly BlockEvent[]): Block[] {
  const blocks = new Map<unknown, Block>()
  for (const event of events)
    if (event.type === 'whole') blocks.set(event, event.block)
    else if (event.type === 'open') {
      const { block, key } = event
      if (block.type === 'call') blocks.set(key, { ...block, args: '' })
      else
        blocks.set(
          key,
          block.type === 'text' ? { type: 'text', text: '' } : { ...block, text: '', opaque: null },
        )
    } else if (event.type !== 'close') {
      const block = blocks.get(event.key)!
      if (event.type === 'seal') blocks.set(event.key, { ...block, opaque: event.opaque } as Block)
      else if (block.type === 'call') blocks.set(event.key, { ...block, args: block.args + event.text })
      else blocks.set(event.key, { ...block, text: (block as { text: string }).text + event.text } as Block)
    }
  return [...blocks.values()]
}
