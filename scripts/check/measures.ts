// Measures the structure of the code and prints it as a table. Exit 1 if a measure is worse than its limit, which is the
// best value so far. Lower a limit when the code improves. A feature may raise those of the size by what it adds, with
// the reason in its commit.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const TESTS = /[.-]test\.tsx?$|(^|\/)test-[\w-]+\.tsx?$|^src\/test\//
/** First lines of functions and methods, as the formatter writes them. */
const FUNCTION =
  /^( *)(?:export )?(?:default )?(?:async )?function\b.*[({]$|^( *)(?:export )?(?:(?:static |async |get |set )*#?[\w$]+(?:<.*>)?\(.*|(?:export )?(?:const|let) [\w$]+.*=.*|return .*|[\w$.#]+: .*|.*=>) ?\{$/
const NOT_A_FUNCTION = /^\s*(?:if|for|while|switch|catch|return|else|do|with|const|let)\b(?!.*=>)|^check\('/
/** Groups of similar files, in which a name has one role, such as the dialects. */
const SIBLINGS = /^(src\/dialects\/)[^/]+\/.*|^(conformance\/selftest\/must-\w+)\/.*/
/** Limits of the size: lower them when the code shrinks. */
const [FILES, SMALL, EXPORTS, CODE] = [648, 40, 2898, 1136]
/** Folder of the suite. */
const ROOM = /^conformance\/(?:[^/]+(?=\/))?/
const EXPORT = /^export (?:async )?(?:const|function\*?|class|interface|type|enum) /gm
const NOUN_CLAUSE = /^(?:What|Whether|Where|Who|Which|Nobody)\b/

interface LongFunction {
  readonly line: number
  readonly lines: number
}

/** Returns the functions of `text` that are longer than `limit` lines, including outer functions. */
export function functionsOver(text: string, limit: number): LongFunction[] {
  const lines = text.split('\n')
  return lines.flatMap((line, index) => {
    const match = FUNCTION.exec(line)
    const indent = match?.[1] ?? match?.[2]
    if (indent === undefined || NOT_A_FUNCTION.test(line) || !(line.includes('(') || line.includes('=>')))
      return []
    const ends = (each: string): boolean => each.startsWith(`${indent}}`) && !each.endsWith('{')
    const length = lines.slice(index).findIndex((each, n) => n > 0 && ends(each)) + 1
    return length > limit ? [{ line: index + 1, lines: length }] : []
  })
}

/** Returns the first line of each comment of `text`, without its marks. */
export function commentStarts(text: string): string[] {
  return text.split('\n').flatMap((line, index, lines) => {
    const [, mark, words] = /^\s*(\/\/|\/\*\*|\*)(?!\/)\s?(.*)$/.exec(line) ?? []
    const before = lines[index - 1] ?? ''
    if (mark === '//') return /^\s*\/\//.test(before) ? [] : [words!]
    if (mark === '/**') return words ? [words.replace(/\s*\*\/$/, '')] : []
    return mark === '*' && /^\s*\/\*\*\s*$/.test(before) ? [words!] : []
  })
}

/** Returns the number of lines that are neither blank nor only a comment. */
export const codeLines = (text: string): number =>
  text
    .replaceAll(/^\s*\/\*[\s\S]*?\*\/\s*$/gm, '')
    .split('\n')
    .filter((line) => !/^\s*(?:\/\/|# |#$|$)/.test(line)).length

/** Returns the pairs of folders of the suite of which the first imports the second; its top is a folder, too. */
export const arrows = (texts: ReadonlyMap<string, string>): Set<string> =>
  new Set(
    [...texts].flatMap(([file, text]) =>
      [...text.matchAll(/(?:\bfrom |\bimport\(|^import )'(\.[^']+)'/gm)].flatMap(([, target]) => {
        const [from, to] = [file, join(dirname(file), target!)].map((path) => ROOM.exec(path)?.[0])
        return from && to && from !== to ? [`${from} -> ${to}`] : []
      }),
    ),
  )

const root = join(import.meta.dirname, '../..')
const filesIn = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file))
const top = (folder: string): number =>
  readdirSync(join(root, folder), { withFileTypes: true }).filter((each) => each.isFile()).length

function main(): void {
  const paths = ['src', 'mocks', 'conformance', 'scripts'].flatMap(filesIn)
  const texts = new Map(
    paths
      .filter((file) => /\.tsx?$/.test(file) && !TESTS.test(file))
      .map((file) => [file, readFileSync(join(root, file), 'utf8')]),
  )
  const over = (limit: number): string[] =>
    [...texts].flatMap(([file, text]) =>
      functionsOver(text, limit).map(({ line, lines }) => `${file}:${line} ${lines}`),
    )
  const comments = [...texts.values()].flatMap(commentStarts)
  const rowFiles = paths.filter((file) => file.endsWith('.yaml'))
  const code =
    [...texts.values()].reduce((sum, text) => sum + codeLines(text), 0) +
    rowFiles.reduce((sum, file) => sum + codeLines(readFileSync(join(root, file), 'utf8')), 0)
  const homes = new Map<string, Set<string>>()
  for (const [file, text] of texts)
    for (const [, name] of text.matchAll(
      /^export (?:async )?(?:const|function|class|interface|type|enum) ([\w$]+)/gm,
    ))
      homes.set(name!, (homes.get(name!) ?? new Set()).add(file.replace(SIBLINGS, '$1$2')))
  const npmScripts = Object.keys(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).scripts)
  const rows: readonly (readonly [measure: string, value: number, limit?: number])[] = [
    ['files at the top of conformance', top('conformance'), 0],
    ['arrows between folders of conformance', arrows(texts).size, 21],
    ['files at the top of mocks', top('mocks'), 8],
    ['files at the top of src', top('src'), 3],
    ['functions over 100 lines', over(100).length, 0],
    ['functions over 80 lines', over(80).length, 10],
    [
      'comments that begin with What, Whether, Where, Who, Which or Nobody, %',
      Math.round((1000 * comments.filter((each) => NOUN_CLAUSE.test(each)).length) / comments.length) / 10,
      1,
    ],
    ['npm scripts', npmScripts.length, 14],
    ['exported names with two meanings', [...homes.values()].filter(({ size }) => size > 1).length, 35],
    ['TypeScript files without tests', texts.size, FILES],
    [
      'files under 40 lines',
      [...texts.values()].filter((text) => text.split('\n').length <= 40).length,
      SMALL,
    ],
    ['exported names', [...texts.values()].join('').match(EXPORT)!.length, EXPORTS],
    ['lines of code and of rows, in hundreds', Math.ceil(code / 100), CODE],
  ]
  for (const [measure, value, limit] of rows)
    process.stdout.write(
      `${String(value).padStart(7)}  ${measure}${limit === undefined ? '' : ` (at most ${limit})`}\n`,
    )
  if (process.argv.includes('--functions')) process.stdout.write(`${over(80).join('\n')}\n`)
  const worse = rows.filter(([, value, limit]) => limit !== undefined && value > limit)
  for (const [measure] of worse)
    process.stderr.write(`measures: more ${measure} than before; see scripts/check/measures.ts\n`)
  process.exitCode = worse.length > 0 ? 1 : 0
}

if (import.meta.main) main()
