// State that a provider stores and a request only names: threads, earlier answers, files, containers. Only
// the provider that stores it can serve such a request. Each dialect has a table of these kinds; this file
// searches requests for them.
import type { GatewayError } from '../core/errors.ts'
import { isObject, type Json } from './json.ts'

/** A kind of state that a provider stores. */
export interface KeptKind {
  /** Its name in errors and in `decision.skipped`: `the file`. */
  readonly what: string
  /** Places of its ids in a request, see `places`. */
  readonly at: readonly MemberPath[]
  /** Tells ids from other texts in that place, also by their parent object; by default all are ids. */
  readonly isId?: (id: string, owner: Json) => boolean
  /** Its kind in the record. An unrecorded answer is refused, because every answer came through here. */
  readonly onRecord?: 'answer' | 'container' | 'object'
  /** Prefers the model that made it, if the route has that model. */
  readonly staysWithModel?: true
  /** It holds most of the conversation, so a translation without it would ask something else. */
  readonly isConversation?: true
  /** Different in every call, so that no answer is repeated from the cache. */
  readonly changes?: true
  /** Content that a client can send in its place: `the content itself`. */
  readonly instead: string
  /** Error with the code that clients of the dialect check; `unknownKeeper` by default. */
  readonly refusal?: (why: string) => GatewayError
}

/** Names of nested members; `*` is every element of a list. */
export type MemberPath = readonly string[]

/** Parses paths: `a.*.b` is the `b` of every element of `a`. */
export const places = (...paths: readonly string[]): readonly MemberPath[] =>
  paths.map((path) => path.split('.'))

/** A reference in a request to stored state. */
export interface KeptReference {
  readonly kind: KeptKind
  readonly id: string
  /** Member of the request that names it. */
  readonly param: string
}

/** Maximum look-ups of things on record: a request may name a million. The provider checks the others. */
const MAX_LOOKED_UP = 100

/**
 * Returns the first reference to each of these kinds; for kinds on record, each different one. Looks once at
 * the few members that may hold one, and never searches the text, which would take as long as parsing it.
 */
export function referencesIn(kinds: readonly KeptKind[], json: Json): readonly KeptReference[] {
  let tree = trees.get(kinds)
  if (!tree) {
    tree = treeOf(kinds)
    trees.set(kinds, tree)
  }
  const found = new Map<string, KeptReference>()
  collect(tree, json, json, [], found)
  return [...found.values()]
}

/** Places of a dialect as a tree. */
interface Tree {
  /** Kind of the ids at this place; null if none. */
  kind: KeptKind | null
  /** By the names of members, `*` for elements. */
  readonly below: Map<string, Tree>
}

const trees = new WeakMap<readonly KeptKind[], Tree>()

function treeOf(kinds: readonly KeptKind[]): Tree {
  const root: Tree = { kind: null, below: new Map() }
  for (const kind of kinds)
    for (const place of kind.at) {
      let tree = root
      for (const name of place) {
        const next = tree.below.get(name) ?? { kind: null, below: new Map() }
        tree.below.set(name, next)
        tree = next
      }
      tree.kind = kind
    }
  return root
}

/** `owner`: parent object of `value`; `way`: path to it. */
function collect(
  { kind, below }: Tree,
  value: unknown,
  owner: Json,
  way: (string | number)[],
  found: Map<string, KeptReference>,
): void {
  if (typeof value === 'string') {
    if (!kind || value === '' || kind.isId?.(value, owner) === false) return
    const name = kind.onRecord && found.size < MAX_LOOKED_UP ? `${kind.what} ${value}` : kind.what
    if (!found.has(name)) found.set(name, { kind, id: value, param: paramOf(way) })
  } else if (Array.isArray(value)) {
    const each = below.get('*')
    if (each)
      for (let at = 0; at < value.length; at++) {
        way.push(at)
        collect(each, value[at], owner, way, found)
        way.pop()
      }
  } else if (isObject(value))
    for (const [name, tree] of below) {
      const member = value[name]
      if (member == null) continue
      way.push(name)
      collect(tree, member, value, way, found)
      way.pop()
    }
}

const paramOf = (way: readonly (string | number)[]): string =>
  way
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`))
    .join('')
    .slice(1)
