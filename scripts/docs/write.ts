// Writes the parts of the documentation that come from the code: the tables of endpoints, fields, recordings
// and scenarios, the JSON Schemas of waybill.yaml, of a recording's metadata and of the suite's results, and
// the texts generated from the requirements. With --check, writes nothing and fails if a part is outdated.
// Always fails if a requirement has no test.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { PROFILES, readProfile, readRequirements } from '../../conformance/checks/requirements.ts'
import { resultsSchema } from '../../conformance/judge/judge.ts'
import { targetJsonSchema } from '../../conformance/target/schema.ts'
import { readRecordings, recordingJsonSchema } from '../../mocks/recording/format.ts'
import { scenarios } from '../../mocks/scenarios/registry.ts'
import { configJsonSchema } from '../../src/config/schema.ts'
import { ATTEMPT_FIELDS, CALL_FIELDS } from '../../src/core/record.ts'
import { rowsOf } from '../agents/report.ts'
import { TESTED_AGENTS } from '../agents/table.ts'
import { readFolders } from '../check/imports.ts'
import { readOutcomes } from '../gateways/scoreboard.ts'
import { readCompared, readProjects, versionsPage } from '../gateways/versions.ts'
import { vectorFiles, vectorText } from '../vectors/make.ts'
import { fileSchema } from '../vectors/vector.ts'
import { badgesOf, implementationsPage, submissionsIn } from './implementations-page.ts'
import { commandsPage, configurationPage, troubleshootingPage } from './reference.ts'
import { frozenIds, requirementsPage, withRows } from './requirements.ts'
import { statusLinePicture } from './status-line-picture.ts'
import {
  endpointsTable,
  endpointsTableWithOrigin,
  exitCodesOfConform,
  exitCodesTable,
  fieldsTable,
  keptTable,
  lossesPage,
  originsSentence,
  recordingsTable,
  spendingTable,
  targetFilesPage,
} from './tables.ts'

const check = process.argv.includes('--check')
/** Files that differ, and files that were written. */
const [stale, written]: [string[], string[]] = [[], []]

/** Writes `text` to a file of the project, or notes that the file differs. */
function put(file: string, text: string): void {
  const path = fileURLToPath(new URL(`../../${file}`, import.meta.url))
  if (readFileSync(path, { encoding: 'utf8', flag: 'a+' }) === text) return
  if (check) stale.push(file)
  else {
    writeFileSync(path, text)
    written.push(file)
  }
}

const textOf = (file: string): string => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')

/** Returns the text of a file with the part between the two marks replaced. */
function between(file: string, mark: string, inner: string, text = textOf(file)): string {
  const [begin, end] = [`<!-- ${mark}:begin -->`, `<!-- ${mark}:end -->`]
  const [from, to] = [text.indexOf(begin), text.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`${file} has no ${begin} … ${end}`)
  return `${text.slice(0, from + begin.length)}\n${inner}\n${text.slice(to)}`
}

const scenarioTable = [
  '| scenario | what happens | shape |',
  '|---|---|---|',
  ...Object.entries(scenarios).map(
    ([name, { description, shape }]) => `| \`${name}\` | ${description} | ${shape} |`,
  ),
]

/** The gateways that were asked the most. */
const boardTable = [
  '| gateway | requirements that hold | that do not |',
  '|---|---|---|',
  ...readOutcomes()
    .flatMap(({ title, version, results }) => (results ? [{ title, version, ...results.counts }] : []))
    .toSorted((a, b) => b.pass + b.fail + b.warn - (a.pass + a.fail + a.warn))
    .slice(0, 4)
    .map(({ title, version, pass, fail, warn }) => `| ${title} ${version} | ${pass} | ${fail + warn} |`),
]

const folderTable = [
  '| folder | what |',
  '|---|---|',
  ...readFolders().map(
    ([names, { what }]) => `| ${names.map((name) => `\`${name}\``).join(', ')} | ${what} |`,
  ),
]

const contract = 'docs/contract.md'
put('CONTRIBUTING.md', between('CONTRIBUTING.md', 'folders', folderTable.join('\n')))
put('README.md', between('README.md', 'scoreboard', boardTable.join('\n')))
put('docs/api.md', between('docs/api.md', 'endpoints', endpointsTable()))
put('recordings/README.md', between('recordings/README.md', 'table', recordingsTable(readRecordings())))
put('recordings/README.md', between('recordings/README.md', 'origins', originsSentence(readRecordings())))
put('mocks/README.md', between('mocks/README.md', 'scenarios', scenarioTable.join('\n')))
const contractTables = {
  endpoints: endpointsTableWithOrigin(),
  record: fieldsTable(CALL_FIELDS),
  attempt: fieldsTable(ATTEMPT_FIELDS),
  kept: keptTable(),
  spending: spendingTable(),
  'exit-codes': exitCodesOfConform(),
}
for (const [mark, table] of Object.entries(contractTables)) put(contract, between(contract, mark, table))
for (const { name, title } of TESTED_AGENTS) {
  const [page, all] = [`docs/agents/${name}.md`, textOf('docs/agents.md')]
  const seen = between(page, 'seen', rowsOf(all, 'agents', title))
  put(page, between(page, 'crossed', rowsOf(all, 'agents-crossed', title), seen))
}
put('docs/results.schema.json', `${JSON.stringify(z.toJSONSchema(resultsSchema), null, 2)}\n`)
const withCommands = between('docs/command-line.md', 'commands', commandsPage())
put('docs/command-line.md', between('docs/command-line.md', 'exit-codes', exitCodesTable(), withCommands))
put('docs/conformance.md', between('docs/conformance.md', 'exit-codes', exitCodesOfConform()))
put('docs/losses.md', lossesPage())
put('docs/status-line.svg', statusLinePicture())
put('docs/troubleshooting.md', troubleshootingPage())
put('docs/configuration.md', configurationPage(configJsonSchema(), textOf('examples/every-setting.yaml')))
put('docs/waybill.schema.json', `${JSON.stringify(configJsonSchema(), null, 2)}\n`)
put('docs/target-files.md', targetFilesPage(targetJsonSchema()))
put('docs/target.schema.json', `${JSON.stringify(targetJsonSchema(), null, 2)}\n`)
put('docs/recording.schema.json', `${JSON.stringify(recordingJsonSchema(), null, 2)}\n`)

for (const [name, vectors] of Object.entries(vectorFiles()))
  put(`conformance/vectors/${name}.json`, vectorText(vectors))
put('conformance/vectors/vectors.schema.json', `${JSON.stringify(z.toJSONSchema(fileSchema), null, 2)}\n`)

const { requirements } = readRequirements()
put(contract, withRows(textOf(contract), requirements))
const frozen = 'conformance/requirements/frozen.txt'
const named = Object.fromEntries(PROFILES.map((name) => [name, readProfile(name).rows]))
put(frozen, frozenIds(textOf(frozen), requirements, named))

const submitted = submissionsIn(fileURLToPath(new URL('../..', import.meta.url)))
put('docs/implementations.md', implementationsPage(submitted))
put('docs/what-broke-when.md', versionsPage(readCompared(), readProjects()))
for (const [file, text] of Object.entries(badgesOf(submitted))) put(file, text)

const { problems } = requirementsPage(fileURLToPath(new URL('../..', import.meta.url)))

for (const problem of problems) process.stderr.write(`requirements: ${problem}\n`)
if (stale.length > 0)
  process.stderr.write(`stale: ${stale.join(', ')}; run \`npm run docs\` and commit what it writes\n`)
const well = stale.length === 0 && problems.length === 0
if (well)
  process.stdout.write(written.length > 0 ? `docs: wrote ${written.join(', ')}\n` : 'docs: up to date\n')
process.exitCode = well ? 0 : 1
