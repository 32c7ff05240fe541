// Tools that a provider does not take as they are, mapped for one call and mapped back in its answer: groups of tools get
// flat names, tools whose input is a text get an object with one member. Knows no dialect.
import { createHash } from 'node:crypto'
import type { Losses } from '../losses.ts'
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
  /** Name at the provider -> the tool as the client knows it. Only those that differ. */
  readonly #mapped = new Map<string, Named>()

  constructor(tools: readonly Tool[], limits: Limits) {
    this.#limits = limits
    for (const { name, namespace, kind } of tools) {
      const flat = this.#flat(name, namespace)
      if (flat !== name || this.#isWrapped(kind) || kind === 'search')
        this.#mapped.set(flat, { name, namespace, kind })
    }
  }

  /** The conversation as the provider takes it. */
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

  /** A call as the client knows it; its arguments follow, or are unwrapped by `input`. */
  up(call: Extract<Opened, { type: 'call' }>): Extract<Opened, { type: 'call' }> {
    const tool = this.#mapped.get(call.name)
    return tool ? { ...call, ...tool } : call
  }

  /** Whether the arguments of this call hold the input of the tool, which is a text. */
  isWrapped(name: string): boolean {
    return this.#isWrapped(this.#mapped.get(name)?.kind)
  }

  #isWrapped = (kind: Tool['kind'] | undefined): boolean => kind === 'custom' && !this.#limits.custom

  #keep = (namespace: string | null): string | null => (this.#limits.namespaces ? namespace : null)

  /** The same for a tool and for every call of it, also in a later request. */
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

/** The input of a tool out of its wrapping; as it is where it is not wrapped. */
export function inputOf(args: string): string {
  try {
    const json: unknown = JSON.parse(args)
    return isObject(json) && typeof json.input === 'string' ? json.input : args
  } catch {
    return args
  }
}
