// Compares every import with folders.yaml, which lists the imports allowed for each folder. Reports exports that
// nothing imports. The linter finds import cycles.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parse } from 'yaml'

const TESTS = /[.-]test\.tsx?$|(^|\/)test-[\w-]+\.tsx?$/
const IMPORT = /(?:^(?:import|export) (?:type )?[\w$\s{},*]*?\bfrom|^import|\bimport\()\s*'(\.[^']+)'/gm

/** Folder -> folders that it may import. */
type ImportRules = ReadonlyMap<string, readonly string[]>

interface Row {
  readonly what: string
  /** Folders that it may import. */
  readonly may: readonly string[]
  /** For an optional part: the files of other folders that may import it. */
  readonly doors?: readonly string[]
}

/** Rows of folders.yaml, with the names of their folders. */
export const readFolders = (): [names: string[], row: Row][] =>
  Object.entries<Row>(parse(readFileSync(join(import.meta.dirname, 'folders.yaml'), 'utf8'))).map(
    ([names, row]) => [names.split(', '), row],
  )

export const rules: ImportRules = new Map(
  readFolders().flatMap(([names, { may }]) => names.map((name) => [name, [...names, ...may]] as const)),
)

const doors = new Map(
  readFolders().flatMap(([names, row]) => names.map((name) => [name, row.doors] as const)),
)

/** Returns the longest folder of the rules that holds `file`, or null. */
export const folderOf = (rules: ImportRules, file: string): string | null =>
  [...rules.keys()]
    .filter((folder) => file.startsWith(`${folder}/`))
    .toSorted((a, b) => b.length - a.length)[0] ?? null

/**
 * Returns the reason why `file` may not import `target` (paths from the root), or null if the import is
 * allowed. Tests may import anything.
 */
export function offence(rules: ImportRules, file: string, target: string): string | null {
  if (TESTS.test(file) || !file.includes('/') || !/^(src|mocks|conformance|scripts)\//.test(target))
    return null
  const [from, to] = [folderOf(rules, file), folderOf(rules, target)]
  if (from === null) return `${file}: its folder is missing in scripts/check/folders.yaml`
  const through = to === null || to === from ? undefined : doors.get(to)
  if (through && !through.includes(file) && !/^(scripts|conformance)\//.test(file))
    return `${file}: ${to} is optional; only ${through.join(', ')} may import it`
  if (to !== null && rules.get(from)!.includes(to)) return null
  return `${file}: ${from} may not import ${target}; it may import ${rules.get(from)!.join(', ')}`
}

/** Files that a user of the package imports. */
const LIBRARY = /\/library\.ts$/

/**
 * Returns the exported values of `texts` (path -> source) that no other file names. Types stay exported
 * because declarations name them.
 */
export function unusedExports(texts: ReadonlyMap<string, string>): string[] {
  const words = new Map<string, Set<string>>()
  for (const [file, text] of texts)
    for (const [word] of text.matchAll(/[A-Za-z_$][\w$]*/g))
      words.set(word, (words.get(word) ?? new Set()).add(file))
  return [...texts].flatMap(([file, text]) =>
    [...text.matchAll(/^export (?:async )?(?:const|function|class|enum) ([\w$]+)/gm)]
      .filter(([, name]) => words.get(name!)!.size === 1 && !LIBRARY.test(file))
      .map(([, name]) => `${file}: ${name} is exported, and nothing imports it`),
  )
}

function main(): void {
  const root = join(import.meta.dirname, '../..')
  const texts = new Map(
    ['src', 'mocks', 'conformance', 'scripts']
      .flatMap((folder) =>
        readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) =>
          join(folder, file),
        ),
      )
      .concat('tsup.config.ts')
      .filter((file) => /\.tsx?$/.test(file))
      .map((file) => [file, readFileSync(join(root, file), 'utf8')]),
  )
  const found = [...texts].flatMap(([file, text]) =>
    [...text.matchAll(IMPORT)]
      .map(([, target]) => offence(rules, file, join(dirname(file), target!)))
      .filter((each) => each !== null),
  )
  found.push(...unusedExports(texts))
  for (const each of found) process.stderr.write(`${each}\n`)
  process.stdout.write(`imports: ${texts.size} files, ${found.length} offences\n`)
  process.exitCode = found.length > 0 ? 1 : 0
}

if (import.meta.main) main()
