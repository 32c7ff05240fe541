// `waybill completion bash|zsh|fish`: a shell script that completes commands, options, agents and models. The script
// is generated from the command line's own table, so no command is missing. Models come from `waybill routes --names`.
// Without a suggestion, the shell completes file names.
import type { Command } from 'commander'
import { AGENTS } from './agent-table.ts'

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

interface Place {
  /** Words after `waybill`, for example `recordings import`; empty at the start. */
  readonly path: string
  readonly commands: readonly { readonly name: string; readonly about: string }[]
  readonly options: readonly { readonly name: string; readonly about: string }[]
  /** Kind of the first argument, if it can be completed. */
  readonly values: keyof typeof VALUES | undefined
}

/** Commands of a shell that print the values, by the name of the argument. */
const VALUES = {
  program: `echo ${AGENTS.flatMap(({ programs }) => programs).join(' ')}`,
  model: 'waybill routes --names 2>/dev/null',
} as const

export const completion = (program: Command, shell: Shell): string => WRITERS[shell](placesOf(program, ''))

function placesOf(command: Command, path: string): Place[] {
  const inside = command.commands.flatMap((each) => placesOf(each, `${path} ${each.name()}`.trim()))
  const commands = command.commands.map((each) => ({ name: each.name(), about: each.description() }))
  const options = command.options.flatMap(({ long, description }) =>
    long ? [{ name: long, about: description }] : [],
  )
  const values = (['program', 'model'] as const).find(
    (name) => command.registeredArguments[0]?.name() === name,
  )
  return [
    { path, commands, options: [...options, { name: '--help', about: 'show help' }], values },
    ...inside,
  ]
}

const words = ({ commands, options, values }: Place): string =>
  [...[...commands, ...options].map(({ name }) => name), ...(values ? [`$(${VALUES[values]})`] : [])].join(
    ' ',
  )

/** Finds the command for the words before the cursor. Words that are not commands are skipped. */
const bash = (places: readonly Place[]): string => `# waybill completion bash >> ~/.bashrc
_waybill() {
  local word path="" known
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$path $word" in
${places
  .filter(({ path }) => path !== '')
  .map(({ path }) => {
    const [name, ...before] = path.split(' ').reverse()
    return `      "${before.reverse().join(' ')} ${name}") path="${path}" ;;`
  })
  .join('\n')}
    esac
  done
  case "$path" in
${places.map((place) => `    "${place.path}") known="${words(place)}" ;;`).join('\n')}
  esac
  [ "\${COMP_WORDS[COMP_CWORD-1]}" = --model ] && known="$(${VALUES.model})"
  COMPREPLY=($(compgen -W "$known" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _waybill waybill
`

const zsh = (places: readonly Place[]): string =>
  `# waybill completion zsh >> ~/.zshrc\nautoload -U +X compinit && compinit -u\nautoload -U +X bashcompinit && bashcompinit\n${bash(places).replace(/^.*\n/, '')}`

const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

const fish = (places: readonly Place[]): string =>
  [
    '# waybill completion fish > ~/.config/fish/completions/waybill.fish',
    ...places.flatMap(({ path, commands, options, values }) => {
      const inside = path === '' ? [] : path.split(' ').map((word) => `__fish_seen_subcommand_from ${word}`)
      const outside = commands.map(({ name }) => name).join(' ')
      const here = [...inside, ...(outside ? [`not __fish_seen_subcommand_from ${outside}`] : [])].join(
        '; and ',
      )
      return [
        ...commands.map(
          ({ name, about }) => `complete -c waybill -f -n ${quoted(here)} -a ${name} -d ${quoted(about)}`,
        ),
        ...(values
          ? [
              `complete -c waybill -f -n ${quoted(here)} -a ${quoted(`(${VALUES[values]} | string split " ")`)}`,
            ]
          : []),
        ...options.map(({ name, about }) => {
          const given = name === '--model' ? ` -x -a ${quoted(`(${VALUES.model})`)}` : ''
          return `complete -c waybill -n ${quoted(here)} -l ${name.replace(/^--/, '')}${given} -d ${quoted(about)}`
        }),
      ]
    }),
    '',
  ].join('\n')

const WRITERS = { bash, zsh, fish } as const satisfies Record<Shell, (places: readonly Place[]) => string>
