// Extracts testable blocks from Markdown: commands, with or without their output, and files. Pure.

/**
 * Block with its attributes, which follow the language: `not-run="why"`; `runs-on` (its last command runs
 * until the end of the page; the next block waits until it prints something, or the text that `runs-on`
 * names); `exit=1`; `seconds=60`; `after-ctrl-c`, in README: first ends what is still running;
 * `needs="pytest"`: skipped if this program is missing; `file=NAME`, written before the next block runs;
 * `from=PATH`, whose text it must equal.
 */
export interface CommandBlock {
  readonly line: number
  readonly language: string
  readonly attributes: Readonly<Record<string, string>>
  readonly text: string
}

interface Command {
  readonly command: string
  /** Expected output; null if the block shows none. */
  readonly output: string | null
}

export function commandBlocks(markdown: string): CommandBlock[] {
  return [...markdown.matchAll(/^( *)(`{3,})(\w*)([^\n`]*)\n([\s\S]*?)^\1\2 *$/gm)].map((found) => {
    const [, indent = '', , language = '', info = '', text = ''] = found
    const attributes = [...info.matchAll(/([\w-]+)(?:=(?:"([^"]*)"|(\S+)))?/g)].map(
      ([, name, quoted, bare]) => [name!, quoted ?? bare ?? ''],
    )
    return {
      line: markdown.slice(0, found.index).split('\n').length,
      language,
      attributes: Object.fromEntries(attributes),
      text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    }
  })
}

/**
 * Returns the commands of a block. `sh`: one script, without output. `console`: a command after each `$ `,
 * with its output below.
 */
export function commandsOf({ language, text }: CommandBlock): Command[] {
  if (language === 'sh') return [{ command: text, output: null }]
  const commands: { command: string; output: string }[] = []
  let goesOn = false
  for (const line of text.split('\n')) {
    const last = commands.at(-1)
    if (goesOn) last!.command += `\n${line}`
    else if (line.startsWith('$ ')) commands.push({ command: line.slice(2), output: '' })
    else if (last) last.output += `${line}\n`
    else if (line !== '')
      throw new Error(`a console block begins with "$ ", not with ${JSON.stringify(line)}`)
    goesOn = (goesOn || line.startsWith('$ ')) && line.endsWith('\\')
  }
  return commands
}

/** Returns true if the actual output matches. `…` matches any text; trailing spaces of lines are ignored. */
export function wasPrinted(expected: string, actual: string): boolean {
  const plain = (text: string) => text.replaceAll(/[ \t\r]+$/gm, '').trim()
  const pattern = plain(expected)
    .split('…')
    .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('[\\s\\S]*?')
  return new RegExp(`^${pattern}$`).test(plain(actual))
}
