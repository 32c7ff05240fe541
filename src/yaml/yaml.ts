// Parses waybill.yaml into plain values with their places, and explains mistakes in the text without assuming
// knowledge of YAML. Adds an entry to the text, and leaves everything else as it is, comments and spaces included.
// Independent of the particular settings.

import { isDeepStrictEqual } from 'node:util'
import {
  type Alias,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  stringify,
  visit,
} from 'yaml'
import { escaped } from '../terminal/clean.ts'
import { type Problem, quoted } from './wording.ts'

/** Maximum depth, since recursive readers could overflow the stack. No setting is nearly as deep. */
const MAX_DEPTH = 50

/**
 * Maximum number of lines and marks (brackets, commas, colons, quotes and so on) in a file. All calls wait
 * during parsing, which takes up to 10 µs for each. A file with 9,000 routes has 100,000.
 */
const MAX_MARKS = 125_000

export interface Text {
  /** Parsed value; null for an empty file. */
  readonly raw: unknown
  /** Problems in the text. `raw` is empty if `broken` is true. */
  readonly problems: readonly Problem[]
  readonly broken: boolean
  /** Returns the offset of a problem, or of the nearest existing element around it. */
  readonly offsetOf: (problem: Problem) => number
  readonly placeOf: (offset: number) => string
}

export function readYaml(text: string, file: string): Text {
  const lines = new LineCounter()
  // Duplicate settings are reported below, where they can be named.
  const isCrowded = holdsMoreMarks(text, MAX_MARKS)
  const document = parseDocument(isCrowded ? '' : text, {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: false,
  })
  const lineOf = (offset: number) => lines.linePos(offset).line
  const placeOf = (offset: number) => {
    const { line, col } = lines.linePos(offset)
    return `${file}:${Math.max(1, line)}:${Math.max(1, col)}`
  }
  const offsetOf = ({ path, atName, offset }: Problem): number => {
    if (offset !== undefined) return offset
    for (let length = path.length; length > 0; length--) {
      const parent = document.getIn(path.slice(0, length - 1), true) as Node | undefined
      const last = String(path[length - 1])
      const pair = isMap(parent) ? parent.items.find(({ key }) => nameOf(key) === last) : undefined
      const item = isSeq(parent) ? parent.items[Number(last)] : undefined
      const exact = length === path.length
      const node = pair ? (exact && atName ? pair.key : (pair.value ?? pair.key)) : item
      const range = (node as Node | undefined)?.range
      if (range) return range[0]
    }
    return 0
  }
  const result = (raw: unknown, problems: Problem[]): Text => ({
    raw,
    problems,
    broken: raw === undefined,
    offsetOf,
    placeOf,
  })

  if (isCrowded) {
    const message = `is too large: it contains more than ${MAX_MARKS} lines, brackets, commas, colons and other marks`
    return result(undefined, [problemAt(0, message)])
  }
  const wrong = syntaxProblems(document.errors, text, lineOf)
  if (wrong.length > 0) return result(undefined, wrong)
  const problems: NodeProblem[] = [
    ...nodeProblems(document.contents, lineOf),
    ...document.warnings.map(({ pos, message }) => {
      const [, tag] = /(!\S+)$/.exec(message) ?? []
      return problemAt(pos[0], tag ? `the tag ${escaped(tag)} is not known` : 'is not understood')
    }),
  ]
  if (problems.some(({ fatal }) => fatal)) return result(undefined, problems)
  try {
    return result(document.toJS() ?? null, problems)
  } catch {
    const first = /\*/.exec(text)?.index ?? 0
    return result(undefined, [
      ...problems,
      problemAt(first, 'the aliases expand to more than this file may contain'),
    ])
  }
}

function holdsMoreMarks(text: string, most: number): boolean {
  if (text.length <= most) return false // a mark takes at least one character
  let marks = 0
  for (const _ of text.matchAll(/[^\w \t./$]/g)) if (++marks > most) return true
  return false
}

/** Returns a problem without a path, for text that cannot be parsed. */
const problemAt = (offset: number, message: string): Problem => ({ path: [], message, offset })

/** Reports only the first mistake, since the other mistakes mostly follow from it. Reports every `${NAME}`. */
function syntaxProblems(
  errors: readonly { code: string; message: string; pos: [number, number] }[],
  text: string,
  lineOf: (offset: number) => number,
): Problem[] {
  const [first] = errors
  if (!first) return []
  const braces = [...text.matchAll(/\$\{([A-Za-z_]\w*)\}/g)]
  const named = braces
    .filter(({ index }) => errors.some(({ pos }) => lineOf(pos[0]) === lineOf(index)))
    .map(({ index, 1: name }) => problemAt(index, `write $${name}, without braces`))
  return named.length > 0 ? named : [problemAt(first.pos[0], inWords(first.code, first.message))]
}

function inWords(code: string, message: string): string {
  const [, missing] = /(?:end with an? |Missing closing |Missing )(\S)/.exec(message) ?? []
  if (code === 'MISSING_CHAR' && missing !== undefined)
    return /[\]},'":|>-]/.test(missing) ? `a ${missing} is missing` : 'something is missing here'
  return SENTENCES[code] ?? 'this cannot be read as YAML'
}

const SENTENCES: Readonly<Record<string, string>> = {
  BAD_ALIAS: 'the name after & or * is missing or invalid; put text that begins with them in quotes',
  BAD_DIRECTIVE: 'a line must not begin with %',
  BAD_DQ_ESCAPE: 'there is no such escape; use single quotes, or write \\\\ for a backslash',
  BAD_INDENT: 'is indented differently from the lines around it',
  BAD_SCALAR_START: 'text cannot begin with this character; put it in quotes',
  BLOCK_AS_IMPLICIT_KEY: 'a second ":" in one line; put the text in quotes, or begin a new line',
  BLOCK_IN_FLOW: 'separate the entries between braces or brackets with commas',
  KEY_OVER_1024_CHARS: 'a name is too long',
  MISSING_CHAR: 'something is missing here',
  MULTILINE_IMPLICIT_KEY: 'a name spans several lines; is a ":" or a quote missing?',
  MULTIPLE_DOCS: 'a second document begins here; a file may contain only one',
  TAB_AS_INDENT: 'tabs cannot indent; use spaces',
  UNEXPECTED_TOKEN: 'this does not belong here; is a quote, a comma or a ":" missing before it?',
}

interface NodeProblem extends Problem {
  /** True if nothing more can be read. */
  readonly fatal?: true
}

/** Reports duplicate settings, impossible names, undefined or circular aliases, and excessive depth. */
function nodeProblems(root: unknown, lineOf: (offset: number) => number): NodeProblem[] {
  const found: NodeProblem[] = []
  const anchors = new Map<string, Node>()
  let isTooDeep = false
  const aliasProblem = (alias: Alias, path: PropertyKey[], around: readonly Node[]): void => {
    const named = anchors.get(alias.source)
    const message =
      named === undefined
        ? `there is no anchor ${quoted(alias.source)} before this alias`
        : around.includes(named)
          ? 'the alias is inside the value that it refers to'
          : null
    if (message !== null) found.push({ path, message, fatal: true, offset: alias.range![0] })
  }
  const visit = (node: unknown, path: PropertyKey[], around: readonly Node[]): void => {
    if (around.length > MAX_DEPTH) {
      if (isTooDeep) return
      isTooDeep = true
      const message = `is nested more than ${MAX_DEPTH} deep`
      found.push({ path: [], message, fatal: true, offset: (node as Node | null)?.range?.[0] ?? 0 })
      return
    }
    if (isAlias(node)) aliasProblem(node, path, around)
    else if (isNode(node) && node.anchor) anchors.set(node.anchor, node)
    if (isSeq(node))
      for (const [index, item] of node.items.entries()) visit(item, [...path, index], [...around, node])
    if (!isMap(node)) return
    const first = new Map<string, Node>()
    for (const { key, value } of node.items) {
      const name = nameOf(key)
      const before = first.get(name)
      if (before)
        found.push({
          path: [...path, name],
          message: `appears twice; the first is on line ${lineOf(before.range![0])}`,
          offset: (key as Node).range![0],
        })
      else first.set(name, key as Node)
      if (name === '__proto__')
        found.push({
          path: [...path, name],
          message: 'cannot be a name; choose another',
          fatal: true,
          offset: (key as Node).range![0],
        })
      visit(key, [...path, name], [...around, node])
      visit(value, [...path, name], [...around, node])
    }
  }
  visit(root, [], [])
  return found
}

const nameOf = (key: unknown): string => (isScalar(key) ? String(key.value) : String(key))

type Path = readonly string[]

/**
 * Returns the text with an entry at the end of the mapping or list at `path`. Makes the mapping or list if the file does
 * not have it. `name`: name of the entry in a mapping; null in a list. Throws if the text has no place for the entry.
 */
export function withEntry(text: string, path: Path, name: string | null, value: unknown): string {
  const entry = `${name === null ? '' : `${inline(name)}: `}${inline(value)}`
  const changed = inserted(text, path, name, entry)
  const wanted = parseDocument(text).toJS() ?? {}
  add(wanted, path, name, value)
  if (!isDeepStrictEqual(parseDocument(changed).toJS(), wanted))
    throw new Error(`there is no place for it in the file; add it to ${path.join('.')} by hand: ${entry}`)
  return changed
}

const inline = (value: unknown): string =>
  stringify(value, { collectionStyle: 'flow', lineWidth: 0 }).trimEnd()

function inserted(text: string, path: Path, name: string | null, entry: string): string {
  const document = parseDocument(text)
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const line = (indent: string) => `${indent}${name === null ? '- ' : ''}${entry}${eol}`
  const node = document.getIn(path, true) as Node | null | undefined
  if ((isMap(node) || isSeq(node)) && node.items.length > 0) {
    const at = lastOffset(node)
    if (node.flow) return `${text.slice(0, at)}, ${entry}${text.slice(at)}`
    const start = text.lastIndexOf('\n', node.range![0] - 1) + 1
    return lineAfter(text, at, line(/^[ \t]*/.exec(text.slice(start))![0]), eol)
  }
  const [top = ''] = path
  if (path.length !== 1) return text
  if (isMap(node) || isSeq(node)) {
    const [open, close] = isMap(node) ? ['{ ', ' }'] : ['[', ']']
    return `${text.slice(0, node.range![0])}${open}${entry}${close}${text.slice(node.range![1])}`
  }
  const pair = isMap(document.contents)
    ? document.contents.items.find(({ key }) => String(key) === top)
    : undefined
  if (pair) return lineAfter(text, (pair.key as Node).range![1], line('  '), eol)
  const end = text === '' || text.endsWith('\n') ? text : text + eol
  return `${end}${end.trim() === '' ? '' : eol}${top}:${eol}${line('  ')}`
}

/** Returns the end of the last value in a collection. */
function lastOffset(node: Node): number {
  let last = 0
  visit(node, {
    Node: (_, each) => {
      if (each !== node)
        last = Math.max(last, isMap(each) || isSeq(each) ? (each.flow ? each.range![1] : 0) : each.range![1])
    },
  })
  return last
}

/** Inserts a line below the line of an offset. */
function lineAfter(text: string, at: number, line: string, eol: string): string {
  const end = text.indexOf('\n', at)
  return end < 0 ? `${text}${eol}${line}` : text.slice(0, end + 1) + line + text.slice(end + 1)
}

function add(values: Record<string, unknown>, path: Path, name: string | null, value: unknown): void {
  const above = path.slice(0, -1).reduce<Record<string, unknown>>((here, part) => here[part] as never, values)
  const last = path.at(-1)!
  above[last] ??= name === null ? [] : {}
  if (name === null) (above[last] as unknown[]).push(value)
  else (above[last] as Record<string, unknown>)[name] = value
}
