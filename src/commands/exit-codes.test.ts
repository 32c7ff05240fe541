// The table of exit codes names every command, once, and no other.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { Command } from 'commander'
import { commandLine } from './program.ts'

const table = readFileSync(new URL('../../docs/command-line.md', import.meta.url), 'utf8')

/** The full names of those that do something: `statusline` does, and so do those below it. */
const namesOf = (command: Command, above = ''): string[] => {
  const name = `${above} ${command.name()}`.trim()
  const below = command.commands.flatMap((each) => namesOf(each, name))
  const isGroup = command.commands.length > 0 && !['statusline', 'conform'].includes(command.name())
  return isGroup ? below : [name, ...below]
}

test('every command has a row of exit codes', () => {
  const rows = [...table.matchAll(/^\| `([^`]+)` \|/gm)].map(([, name]) => name)
  const commands = commandLine({}).commands.flatMap((each) => namesOf(each))
  assert.deepEqual(rows.toSorted(), commands.toSorted())
})

test('where a command says its exit codes itself, the row has the same ones', () => {
  const told = (command: Command): string => {
    let text = ''
    command.configureOutput({ writeOut: (part) => (text += part) }).outputHelp()
    return text
  }
  const find = (words: readonly string[]) =>
    words.reduce<Command>((at, word) => at.commands.find((each) => each.name() === word)!, commandLine({}))
  for (const [, name, cells] of table.matchAll(/^\| `([^`]+)` \|(.+)\|$/gm)) {
    const line = /^Exit codes: (.+)$/m.exec(told(find(name!.split(' '))))?.[1]
    if (line === undefined) continue
    const codes = [...line.matchAll(/(?:^|, )(\d) /g)].map(([, code]) => code)
    const columns = cells!.split('|').flatMap((cell, code) => (cell.trim() ? [String(code)] : []))
    assert.deepEqual(columns, codes, name)
  }
})
