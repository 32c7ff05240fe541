// State that a provider stores and a request only names: threads, earlier answers, files, containers. Only
// the provider with the stored state can serve the request. Each dialect has a table of its kinds of state.
// This file searches requests for references to them. `src/call/objects.ts` decides who may name them.
import { GatewayError } from '../core/errors.ts'
import { isObject, type Json } from './json.ts'

/** A kind of state that a provider stores. */
export interface KeptKind {
  /** Name of the kind in errors and in `decision.skipped`, such as `the file`. */
  readonly what: string
  /** Places of the ids in a request, see `places`. */
  readonly at: readonly MemberPath[]
  /**
   * Returns true if a string is an id, also judging by its parent object `owner`. By default every string is
   * an id.
   */
  readonly isId?: (id: string, owner: Json) => boolean
  /**
   * Kind of the state in the record, which says to whom it belongs. An unrecorded answer is refused, because every
   * answer came through the gateway. For an unrecorded object, `unknown_objects` decides. Absent for state that every
   * key may name.
   */
  readonly onRecord?: 'answer' | 'object'
  /** True if the request should go to the model that made the state, if the route has this model. */
  readonly staysWithModel?: true
  /**
   * True if the state holds most of the conversation. A translation without the state would change the question.
   */
  readonly isConversation?: true
  /** True if the state may change between calls. No answer to the request then comes from the cache. */
  readonly changes?: true
  /** Content that a client can send in place of the id, such as `the content itself`. */
  readonly instead: string
  /** Returns the error, with the code that clients of the dialect check. Default: `unknownKeeper`. */
  readonly refusal?: (why: string) => GatewayError
}

/** Names of nested members; `*` is every element of a list, or every member of an object. */
export type MemberPath = readonly string[]

/** Parses paths: `a.*.b` is the `b` of every element of `a`. */
export const places = (...paths: readonly string[]): readonly MemberPath[] =>
  paths.map((path) => path.split('.'))

/** A reference in a request to stored state. */
export interface KeptReference {
  readonly kind: KeptKind
  readonly id: string
  /** Request member that names the state. */
  readonly param: string
}

/** Maximum number of different recorded objects in one request, since each is looked up. */
const MAX_NAMED = 1_000

/**
 * Returns the first reference to each kind, and all different references for recorded kinds. Visits once the
 * few members that may hold a reference. Throws for too many.
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

/** A dialect's places of ids, as a tree. */
interface Tree {
  /** Kind of the ids at this place; null if none. */
  kind: KeptKind | null
  /** Subtrees by member name; `*` for list elements. */
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

/** Collects the references below `value`. `owner`: parent object of `value`; `way`: path to `value`. */
function collect(
  { kind, below }: Tree,
  value: unknown,
  owner: Json,
  way: (string | number)[],
  found: Map<string, KeptReference>,
): void {
  if (typeof value === 'string') {
    kind ??= below.get('*')?.kind ?? null // one id without its list
    if (!kind || value === '' || kind.isId?.(value, owner) === false) return
    const name = kind.onRecord ? `${kind.what} ${value}` : kind.what
    if (found.has(name)) return
    const param = paramOf(way)
    if (found.size >= MAX_NAMED)
      throw new GatewayError(
        'invalid_request',
        `${param}: the request names more than ${MAX_NAMED} objects.`,
        {
          param,
        },
      )
    found.set(name, { kind, id: value, param })
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
      if (name === '*') collect(tree, value, value, way, found) // one element without its list, as Google accepts it
      for (const each of name === '*' ? Object.keys(value) : [name]) {
        const member = value[each]
        if (member == null) continue
        way.push(each)
        collect(tree, member, value, way, found)
        way.pop()
      }
    }
}

const paramOf = (way: readonly (string | number)[]): string =>
  way
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`))
    .join('')
    .slice(1)
