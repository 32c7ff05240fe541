// `npm run NAME [-- SUB-NAME] [ARGUMENT…]`: runs a program of an npm script by its sub-name. The first
// program is the default. `--help` prints the comment at the top of the program.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export const PROGRAMS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  docs: {
    write: 'docs/write.ts',
    site: 'docs/site/build.ts',
    commands: 'docs/commands/run.ts',
    readme: 'docs/readme.ts',
    requirements: 'docs/requirements.ts',
    pictures: 'docs/page/pictures.ts',
    demo: 'docs/page/demo.ts',
  },
  bench: {
    calls: 'bench/calls.ts',
    reads: 'bench/reads.ts',
    'status-line': 'bench/status-line.ts',
    soak: 'bench/soak/run.ts',
  },
  selftest: {
    reference: 'selftest/reference.ts',
    repeat: 'selftest/reference.ts inproc --busy --profile observable --times',
    'must-fail': 'selftest/must-fail.ts',
    'must-pass': 'selftest/must-pass.ts',
    simulate: 'simulate/run.ts',
    mutants: '../conformance/selftest/mutants.ts',
    without: 'selftest/without.ts',
  },
  agents: {
    all: 'agents/all.ts',
    'python-clients': 'agents/python-clients.ts',
    'own-login': 'agents/own-login.ts',
    known: 'agents/known.ts',
    terminal: 'agents/terminal.ts',
    deviations: 'agents/deviations.ts',
    sessions: 'agents/sessions.ts',
    steps: 'agents/steps.ts',
  },
  release: {
    files: 'release/files.ts',
    package: 'release/package.ts',
    executable: 'release/executable.ts',
    image: 'release/image.sh',
    prices: 'release/prices.ts',
    'newer-prices': 'release/newer-prices.ts',
    drift: 'release/drift.ts',
    focus: 'release/focus.ts',
  },
}

const ARGUMENT_ERRORS = join(import.meta.dirname, 'argument-errors.ts')

if (import.meta.main) main(process.argv.slice(2))

function main([name = '', ...given]: readonly string[]): void {
  const programs = PROGRAMS[name]!
  const isNamed = given[0] !== undefined && !given[0].startsWith('-')
  const program = isNamed ? programs[given[0]!] : Object.values(programs)[0]
  if (program === undefined) {
    process.stderr.write(
      `${name}: there is no "${given[0]}"; there are: ${Object.keys(programs).join(', ')}\n`,
    )
    process.exitCode = 2
    return
  }
  const [file, ...preset] = program.split(' ')
  const path = join(import.meta.dirname, file!)
  if (given.includes('--help')) {
    const [comment] = /^((#!.*\n)?(\/\/|#).*\n)+/.exec(readFileSync(path, 'utf8'))!
    process.stdout.write(comment.replaceAll(/^(#!.*\n|\/\/ ?|# ?)/gm, ''))
    return
  }
  const [command, ...first] = file!.endsWith('.ts')
    ? [process.execPath, '--import', 'tsx', '--import', ARGUMENT_ERRORS, path]
    : [path]
  const child = spawn(command!, [...first, ...preset, ...given.slice(isNamed ? 1 : 0)], { stdio: 'inherit' })
  // Passes on signals that end this process to the program.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
  child.on('exit', (code) => {
    process.exitCode = code ?? 1
  })
}
