// The definition of exit codes lists every command with an action, and no other commands.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Command } from 'commander'
import { commandLine, EXIT_CODES } from './program.ts'

/** The full names of the commands with an action. `statusline` has one, and so do its subcommands. */
const namesOf = (command: Command, above = ''): string[] => {
  const name = `${above} ${command.name()}`.trim()
  const below = command.commands.flatMap((each) => namesOf(each, name))
  const isGroup = command.commands.length > 0 && !['statusline', 'conform'].includes(command.name())
  return isGroup ? below : [name, ...below]
}

test('every command has documented exit codes', () => {
  const commands = commandLine({}).commands.flatMap((each) => namesOf(each))
  assert.deepEqual(Object.keys(EXIT_CODES).toSorted(), commands.toSorted())
})
