// Markdown -> the blocks of it that can be held to what happens: commands, with or without their output, and files. Pure.

/**
 * What may follow the language of a block: `not-run="why"`; `runs-on` (its last command goes on until the end of the page;
 * the next block waits until its output is there, or the text that `runs-on` names); `exit=1`; `seconds=60`;
 * `needs="pytest"`, a program without which it is not run; `file=NAME`, written before the next block runs; `from=PATH`,
 * whose text it must be.
 */
export interface Block {
  readonly line: number
  readonly language: string
  readonly attributes: Readonly<Record<string, string>>
  readonly text: string
}

export interface Command {
  readonly command: string
  /** Null: nothing is said of it. */
  readonly output: string | null
}

export function blocksOf(markdown: string): Block[] {
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

/** `sh`: one script, of which nothing is said. `console`: a command behind each `$ `, and below it what it prints. */
export function commandsOf({ language, text }: Block): Command[] {
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

/** Whether this was printed. `…` stands for anything; spaces at the ends of lines do not count. */
export function wasPrinted(expected: string, actual: string): boolean {
  const plain = (text: string) => text.replaceAll(/[ \t\r]+$/gm, '').trim()
  const pattern = plain(expected)
    .split('…')
    .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('[\\s\\S]*?')
  return new RegExp(`^${pattern}$`).test(plain(actual))
}
