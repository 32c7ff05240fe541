// `npm run gateways -- folder NAME…`: writes what a project needs to run the suite in its own CI, into NAME below
// --dir: its target file, a workflow, and a baseline of the failures on the scoreboard. All of it is made from one
// template, the target file of the suite and the stored results.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stringify } from 'yaml'
import { installCommands } from '../../conformance/target/install.ts'
import { readTarget } from '../../conformance/target/read.ts'
import { INSTALLS } from './gateway.ts'
import { BOARD_PROFILE, isDraft, readNotes, readOutcomes, targetFile } from './scoreboard.ts'

/** Time for which an entry of the baseline excuses a failure, ms. */
const EXCUSED_MS = 180 * 24 * 3_600_000

/** Writes the folders of these gateways. */
export function writeFolders(names: readonly string[], directory: string): void {
  for (const name of names) {
    const folder = join(directory, name)
    mkdirSync(folder, { recursive: true })
    for (const [file, text] of Object.entries(filesOfFolder(name))) writeFileSync(join(folder, file), text)
    process.stdout.write(`Written: ${folder}\n`)
  }
}

/** Returns the files of a gateway's folder. */
export function filesOfFolder(
  name: string,
): Readonly<Record<'target.yaml' | 'workflow.yml' | 'baseline.yaml', string>> {
  const target = readTarget(targetFile(name))
  const outcome = readOutcomes().find((each) => each.name === name)
  if (target.install === undefined || !outcome?.results)
    throw new Error(`${name} has no folder: its target file needs \`install\`, and the scoreboard a result`)
  const own = INSTALLS[name]
  const plain = installCommands(target.install, target.version!)
  const lines = own?.install ?? plain.commands.map((command) => command.map(quoted).join(' '))
  const notes = readNotes()[name]!
  const expires = new Date(Date.parse(outcome.date) + EXCUSED_MS).toISOString().slice(0, 10)
  const baseline = outcome.verdicts
    .filter(({ id, level, outcome: said }) => level === 'MUST' && isBad(said) && !isDraft(id))
    .map(({ id }) => ({ id, reason: notes.looked_at[id]!.trim(), expires }))
  return {
    'target.yaml': readFileSync(targetFile(name), 'utf8'),
    'workflow.yml': workflow(
      target.name,
      ['mkdir gateway && cd gateway', ...lines, `echo "$PWD/${own?.bin ?? plain.bin}" >> "$GITHUB_PATH"`],
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the workflow replaces it
      own?.env?.('${{ github.workspace }}/gateway') ?? {},
    ),
    'baseline.yaml': `# Failures of ${target.name} ${target.version} that are known. An entry that is no longer needed fails the run.\n${stringify(baseline)}`,
  }
}

const isBad = (outcome: string): boolean => outcome === 'fail' || outcome === 'untestable'

/** Quotes a word for a shell, if it needs it. */
const quoted = (word: string): string => (/^[\w@=./:-]+$/.test(word) ? word : `'${word}'`)

const example = fileURLToPath(new URL('../../examples/test-your-gateway/workflow.yml', import.meta.url))

/** Returns the workflow; its actions are those of the example. `env` is for the suite. */
function workflow(title: string, install: readonly string[], env: Readonly<Record<string, string>>): string {
  const [checkout, suite] = [...readFileSync(example, 'utf8').matchAll(/uses: .*/g)].map(([use]) => use)
  return `# Runs the suite against ${title}. Put this file into .github/workflows/, and the other two into conformance/.
name: conformance
on: { push: {}, pull_request: {}, workflow_dispatch: {} }
permissions: { contents: read }
jobs:
  conform:
    runs-on: ubuntu-24.04
    timeout-minutes: 45
    steps:
      - ${checkout}
      # Installs a release. Put the build of this commit here instead.
      - run: |
${install.map((line) => `          ${line}`).join('\n')}
      - ${suite}
        with: { target: conformance/target.yaml, profile: ${BOARD_PROFILE}, baseline: conformance/baseline.yaml }
${Object.keys(env).length > 0 ? `        env: ${JSON.stringify(env)}\n` : ''}`
}
