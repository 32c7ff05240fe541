// Writes the documentation of every command as Markdown, with arguments, options and an example, from the
// command line itself.
import type { Command } from 'commander'
import { commandLine } from '../../src/commands/program.ts'

/** Returns the sections of docs/command-line.md, in the order of `waybill --help`. */
export const commandsPage = (): string =>
  commandLine({})
    .commands.flatMap((command) => sectionsOf(command, 'waybill'))
    .join('\n\n')

/** Returns a command's sections; a command that only groups other commands has none. */
function sectionsOf(command: Command, above: string): string[] {
  const name = `${above} ${command.name()}`
  const below = command.commands.flatMap((each) => sectionsOf(each, name))
  return isGroup(command) ? below : [sectionOf(command, name), ...below]
}

/** Returns true if the command only groups other commands. */
const isGroup = (command: Command): boolean =>
  command.commands.length > 0 && command.registeredArguments.length === 0

function sectionOf(command: Command, name: string): string {
  const usage = [
    name,
    ...command.registeredArguments.map((each) => {
      const text = `${each.name()}${each.variadic ? '...' : ''}`
      return each.required ? `<${text}>` : `[${text}]`
    }),
  ].join(' ')
  const options = command.options.map(
    ({ flags, description, argChoices, defaultValue, mandatory }) =>
      `- \`${flags}\`: ${[
        description,
        ...(argChoices ? [`one of ${argChoices.join(', ')}`] : []),
        ...(mandatory ? ['required'] : []),
        ...(defaultValue === undefined ? [] : [`default: \`${defaultValue}\``]),
      ].join('; ')}`,
  )
  return [
    `### ${name}`,
    '',
    `\`${usage}\`: ${command.description()}.`,
    ...(options.length > 0 ? ['', ...options] : []),
    '',
    `For example \`${exampleOf(command)}\`.`,
  ].join('\n')
}

/** Returns the line below "Example:" in the command's help. */
function exampleOf(command: Command): string {
  let help = ''
  command.configureOutput({ writeOut: (part) => (help += part) }).outputHelp()
  const [, example] = /^Example:\n {2}\$ (.+)$/m.exec(help) ?? []
  if (example === undefined) throw new Error(`${command.name()} has no example in its help`)
  return example
}
