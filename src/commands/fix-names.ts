// `--fix` of `config check` and `target check` replaces the names of earlier versions in a file.
import { readFileSync } from 'node:fs'
import { replaceFile } from '../shared/replace-file.ts'
import { print } from './output.ts'

/** Rewrites the file if it contains old names. The check itself reports a file that cannot be read. */
export function fixNames(file: string, renewed: (text: string) => { text: string; count: number }): void {
  let before: string
  try {
    before = readFileSync(file, 'utf8')
  } catch {
    return
  }
  const { text, count } = renewed(before)
  if (count > 0) replaceFile(file, text)
  print(`${file}: ${count} ${count === 1 ? 'name' : 'names'} of earlier versions replaced`)
}
