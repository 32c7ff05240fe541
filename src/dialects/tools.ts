// Maps the tools of one call that a provider does not accept, and maps them back in its answer. The provider
// receives flat names for grouped tools, and an object with one member for a text input. Independent of the
// particular dialects.
import { createHash } from 'node:crypto'
import type { Losses } from '../core/losses.ts'
import { chance } from '../shared/chance.ts'
import { parseExact } from '../shared/exact-json.ts'
import type { Block, CallBlock, Conversation, DialectBlocks, Opened, Tool } from './blocks.ts'
import { isObject, type Json } from './json.ts'

type Limits = DialectBlocks['tools']
type Named = Pick<Tool, 'name' | 'namespace' | 'kind'>

const INPUT_SCHEMA = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
  additionalProperties: false,
}

export class ToolNames {
  readonly #limits: Limits
  /** The client's tools by their names at the provider. Contains only the tools that differ. */
  readonly #mapped = new Map<string, Named>()

  constructor(tools: readonly Tool[], limits: Limits) {
    this.#limits = limits
    for (const { name, namespace, kind } of tools) {
      const flat = this.#flat(name, namespace)
      if (flat !== name || this.#isWrapped(kind) || kind === 'search')
        this.#mapped.set(flat, { name, namespace, kind })
    }
  }

  /** Returns the conversation in the form that the provider accepts. */
  down(conversation: Conversation, losses: Losses): Conversation {
    const { turns, tools, choice } = conversation
    return {
      ...conversation,
      tools: tools.map((tool) => this.#toolDown(tool, losses)),
      choice:
        choice?.type === 'tool'
          ? {
              ...choice,
              name: this.#flat(choice.name, choice.namespace),
              namespace: this.#keep(choice.namespace),
            }
          : choice,
      turns: turns.map(({ role, blocks }) => ({
        role,
        blocks: blocks.map((block): Block => (block.type === 'call' ? this.#callDown(block) : block)),
      })),
    }
  }

  /** Returns a call with the client's tool name. The arguments follow or are unwrapped by `inputOf`. */
  up(call: Extract<Opened, { type: 'call' }>): Extract<Opened, { type: 'call' }> {
    const tool = this.#mapped.get(call.name)
    return tool ? { ...call, ...tool } : call
  }

  /** Returns true if the call's arguments wrap a text input. */
  isWrapped(name: string): boolean {
    return this.#isWrapped(this.#mapped.get(name)?.kind)
  }

  #isWrapped = (kind: Tool['kind'] | undefined): boolean => kind === 'custom' && !this.#limits.custom

  #keep = (namespace: string | null): string | null => (this.#limits.namespaces ? namespace : null)

  /** Returns a flat name. The name is the same for a tool and all its calls, even in later requests. */
  #flat(name: string, namespace: string | null): string {
    const full = namespace === null || this.#limits.namespaces ? name : `${namespace}__${name}`
    if (this.#limits.name.test(full)) return full
    const digest = createHash('sha256').update(full).digest('hex').slice(0, 8)
    return `${full.replace(/[^a-zA-Z0-9_]/g, '_').slice(0, 54)}_${digest}`
  }

  #callDown(block: CallBlock): CallBlock {
    const { name, namespace, kind, args } = block
    const flat = { ...block, name: this.#flat(name, namespace), namespace: this.#keep(namespace) }
    return this.#isWrapped(kind) ? { ...flat, kind: 'function', args: JSON.stringify({ input: args }) } : flat
  }

  #toolDown(tool: Tool, losses: Losses): Tool {
    const { name, namespace, kind, description, grammar } = tool
    const flat = { ...tool, name: this.#flat(name, namespace), namespace: this.#keep(namespace) }
    if (!this.#isWrapped(kind)) return flat
    const { grammar: _, ...rest } = flat
    losses.of(grammar, 'tool.custom.grammar')
    return {
      ...rest,
      kind: 'function',
      schema: INPUT_SCHEMA,
      description: [
        description,
        grammar === undefined ? null : `The input must follow this grammar:\n${textOf(grammar)}`,
      ]
        .filter((each) => each !== null)
        .join('\n\n'),
    }
  }
}

const textOf = (grammar: unknown): string =>
  isObject(grammar) && typeof grammar.definition === 'string' ? grammar.definition : JSON.stringify(grammar)

/** Unwraps the input of a tool. Returns an input unchanged if it is not wrapped. */
export function unwrapInput(args: string): string {
  try {
    const json: unknown = JSON.parse(args)
    return isObject(json) && typeof json.input === 'string' ? json.input : args
  } catch {
    return args
  }
}

// Ids of tool calls that every dialect accepts, `^[a-zA-Z0-9_-]{1,40}$`. An id that does not fit becomes `wb_` and its
// bytes in base64url. The provider's own id is restored without storing anything.

const FITS = /^[a-zA-Z0-9_-]{1,40}$/
const MARK = 'wb_'
/** Maximum bytes after the mark. */
const MAX_ID_BYTES = 27

/** Returns the id for a client. An id too long for base64url is replaced by a digest (see `isReplaced`). */
export function safeId(id: string): string {
  if (FITS.test(id) && !id.startsWith(MARK)) return id
  const bytes = Buffer.from(id, 'utf8')
  return bytes.length <= MAX_ID_BYTES
    ? `${MARK}${bytes.toString('base64url')}`
    : `wbx_${createHash('sha256').update(bytes).digest('base64url').slice(0, 36)}`
}

/**
 * Returns the id for a provider. Providers accept longer ids than clients, and these ids are never converted
 * back.
 */
export const idForProvider = (id: string): string => (FITS_PROVIDER.test(id) ? id : safeId(id))
const FITS_PROVIDER = /^[a-zA-Z0-9_-]{1,64}$/

/** Returns the id for Mistral, which accepts only ids of exactly nine letters and digits. */
export const idForMistral = (id: string): string =>
  /^[a-zA-Z0-9]{9}$/.test(id)
    ? id
    : createHash('sha256').update(id).digest('base64').replace(/[+/]/g, '').slice(0, 9)

/** Returns true if the provider's own id cannot be restored. Calls and results still have equal ids. */
export const isReplaced = (id: string): boolean => safeId(id).startsWith('wbx_') && !id.startsWith('wbx_')

/** Restores the provider's own id. */
export function originalId(id: string): string {
  if (!id.startsWith(MARK) || !FITS.test(id)) return id
  const bytes = Buffer.from(id.slice(MARK.length), 'base64url')
  const original = bytes.toString('utf8')
  // A foreign id with our prefix is left unchanged.
  return original !== '' && safeId(original) === id ? original : id
}

/** Makes an id for a provider's call without an id. */
export const newCallId = (): string => `call_${chance.uuid().replaceAll('-', '').slice(0, 24)}`

// Arguments of calls are JSON. Numbers keep their original digits.

/** Ways to write that there are no arguments. */
const NONE = /^\s*(?:null|undefined|"")?\s*$/

/** Returns the arguments of a call as text. A provider's request needs an object, so missing arguments become `{}`. */
export const plainArguments = (args: string): string => (NONE.test(args) ? '{}' : args)

/** Parses the arguments of a call; null if they are not an object. Missing arguments are an empty object. */
export function argumentsOf(args: string): Json | null {
  if (NONE.test(args)) return {}
  try {
    const json = parseExact(args)
    return isObject(json) ? json : null
  } catch {
    return null
  }
}
