// Adds an entry to a YAML text and leaves everything else as it is, comments and spaces included. Independent of the
// particular settings.
import { isDeepStrictEqual } from 'node:util'
import { isMap, isSeq, type Node, parseDocument, stringify, visit } from 'yaml'

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
