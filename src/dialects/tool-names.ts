// Maps the tools of one call that a provider does not accept, and maps them back in its answer. The provider
// receives flat names for grouped tools, and an object with one member for a text input. Independent of the
// particular dialects.
import { createHash } from 'node:crypto'
import type { Losses } from '../core/losses.ts'
import type { Block, CallBlock, Conversation, DialectBlocks, Opened, Tool } from './blocks.ts'
import { isObject } from './json.ts'

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
