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
  /** True if every key may name an object of this kind that is not on record, because an account shares it. */
  readonly isShared?: true
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
  /** The same as a list, because most requests visit each and find nothing. */
  readonly members: [name: string, tree: Tree][]
}

const trees = new WeakMap<readonly KeptKind[], Tree>()

const emptyTree = (): Tree => ({ kind: null, below: new Map(), members: [] })

function treeOf(kinds: readonly KeptKind[]): Tree {
  const root = emptyTree()
  for (const kind of kinds)
    for (const place of kind.at) {
      let tree = root
      for (const name of place) {
        let next = tree.below.get(name)
        if (!next) {
          next = emptyTree()
          tree.below.set(name, next)
          tree.members.push([name, next])
        }
        tree = next
      }
      tree.kind = kind
    }
  return root
}

/** Collects the references below `value`. `owner`: parent object of `value`; `way`: path to `value`. */
function collect(
  { kind, below, members }: Tree,
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
    for (const [name, tree] of members) {
      if (name === '*') {
        collect(tree, value, value, way, found) // one element without its list, as Google accepts it
        for (const each of Object.keys(value)) collectMember(tree, value, each, way, found)
      } else collectMember(tree, value, name, way, found)
    }
}

function collectMember(
  tree: Tree,
  owner: Json,
  name: string,
  way: (string | number)[],
  found: Map<string, KeptReference>,
): void {
  const member = owner[name]
  if (member == null) return
  way.push(name)
  collect(tree, member, owner, way, found)
  way.pop()
}

const paramOf = (way: readonly (string | number)[]): string =>
  way
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`))
    .join('')
    .slice(1)

// Spellings of an object's name. JSON may escape any character, an address may encode any, and some clients of Google
// write the whole address of a file where others write its name.

/** Codes of a letter, a digit and `-./:_`. */
const CODE = '(2[d-f]|3[0-9a]|4[1-9a-f]|5[0-9af]|6[1-9a-f]|7[0-9a])'
const ESCAPED = new RegExp(String.raw`\\u00${CODE}|\\/`, 'gi')
/** An encoded character, or the percent sign of a further encoding, such as `%2561`. */
const ENCODED = new RegExp(`%(?:${CODE}|25(?=[2-7][0-9a-f]))`, 'gi')
/** Maximum number of encodings of one character that are read. */
const MAX_ENCODINGS = 3

const characterOf = (code: string): string => String.fromCharCode(Number.parseInt(code, 16))

/** Returns JSON text with the characters of names written without escapes. */
export const withoutEscapes = (text: string): string =>
  text.includes('\\u00') || text.includes('\\/')
    ? text.replace(ESCAPED, (_, code?: string) => (code ? characterOf(code) : '/'))
    : text

/** Returns an id or an address as its readers see it, who ignore encodings, line ends, and spaces around it. */
function plainGeminiAddress(written: string): string {
  let plain = withoutEscapes(written)
  for (let count = 0; count < MAX_ENCODINGS && plain.includes('%'); count++)
    plain = plain.replace(ENCODED, (_, code?: string) => (code ? characterOf(code) : '%'))
  return plain.replace(/[\t\r\n]/g, '').trim()
}

/** A file of Google at the end of an address. */
const GOOGLE_FILE = /(?:^|[\\/])files[\\/]+([\w-]+)[\\/]*(?:[?#].*)?$/i

/** Returns the name under which an object is on record, for any spelling of its id or address. */
export function objectName(written: string): string {
  const plain = plainGeminiAddress(written)
  const [, id] = GOOGLE_FILE.exec(plain) ?? []
  return id === undefined ? plain : `files/${id}`
}

/** Returns the host of an address; undefined if it has no scheme. */
const hostOf = (plain: string): string | undefined =>
  /^[a-z][a-z\d+.-]*:[\\/]*(?:[^\\/?#]*@)?([^\\/?#:]*)/i.exec(plain)?.[1]

/** Returns true for a file of Google's Files API, in any spelling. Every account can read any other address. */
export function isGoogleFile(uri: string): boolean {
  const plain = plainGeminiAddress(uri)
  const host = hostOf(plain)
  return /files[\\/]/i.test(plain) && (host === undefined || /(^|\.)googleapis\.com\.?$/i.test(host))
}

/** Returns true for the whole address of a file of Google's Files API. */
export const isGoogleFileAddress = (address: string): boolean =>
  isGoogleFile(address) && /generativelanguage/i.test(hostOf(plainGeminiAddress(address)) ?? '')

/** Returns true for an address with a scheme. Google also accepts the name of a file where it expects an address. */
export const hasScheme = (address: string): boolean => hostOf(plainGeminiAddress(address)) !== undefined
