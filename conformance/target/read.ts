// Reads a target file: returns a Target, or all mistakes with their lines and the probable corrections. The
// fields are in schema.ts.
import { dirname, resolve } from 'node:path'
import { providers } from '../../mocks/providers/registry.ts'
import { readBounded } from '../../src/shared/bounded.ts'
import { packageFile } from '../../src/shared/package-root.ts'
import { escaped } from '../../src/terminal/clean.ts'
import { fileReason } from '../../src/terminal/file-error.ts'
import { mistakes, nearest, type Problem, quoted } from '../../src/yaml/wording.ts'
import { readYaml, type Text } from '../../src/yaml/yaml.ts'
import { type Target, targetJsonSchema, targetSchema } from './schema.ts'

/** Directory of the target files that come with the package. */
export const ownTargets = packageFile('conformance/targets')

/** JSON Schema of target files, for editors. */
export const targetSchemaFile = packageFile('docs/target.schema.json')

/** Error about a target file that cannot be used; `problems` are complete lines. */
export class TargetError extends Error {
  override readonly name = 'TargetError'
}

/** One file, before it is merged with the file that it extends. */
interface Source extends Text {
  readonly file: string
  readonly text: string
  readonly own: Readonly<Record<string, unknown>>
}

/** Reads a target file. Throws TargetError with one line for each problem, its place and a remedy. */
export function readTarget(file: string): Target {
  const own = sourceOf(file)
  const base =
    own.own.extends === undefined ? null : sourceOf(resolve(dirname(file), String(own.own.extends)))
  const sources = base === null ? [own] : [own, base]
  const { extends: _, ...given } = { ...base?.own, ...own.own }
  const broken = sources.flatMap((source) => source.problems.map((problem) => lineOf(source, problem)))
  if (broken.length > 0) throw new TargetError(broken.join('\n'))
  const empty =
    own.raw === null ? [{ path: [], message: 'is empty; docs/target-files.md describes the fields' }] : []
  const problems: Problem[] = empty.length > 0 ? empty : problemsIn(given)
  if (problems.length > 0) {
    const place = ({ path }: Problem) =>
      Math.max(
        0,
        sources.findIndex((source) => Object.hasOwn(source.own, String(path[0]))),
      )
    const offset = (problem: Problem) => sources[place(problem)]!.offsetOf(problem)
    const sorted = problems.toSorted((a, b) => place(a) - place(b) || offset(a) - offset(b))
    throw new TargetError(sorted.map((each) => lineOf(sources[place(each)]!, each)).join('\n'))
  }
  return targetSchema.parse(given)
}

function problemsIn(given: Readonly<Record<string, unknown>>): Problem[] {
  const json = () => {
    const { extends: _, ...properties } = targetJsonSchema().properties ?? {}
    return { properties }
  }
  const found = mistakes(given, { schema: targetSchema, json })
  return found.length > 0 ? found : unknownProviders(targetSchema.parse(given))
}

/** Reports providers that the mock lacks, and models of providers that the file does not name. */
function unknownProviders({ providers: named, models }: Target): Problem[] {
  const there = providers.map(({ name }) => name)
  const problem = (
    path: Problem['path'],
    name: string,
    known: readonly string[],
    atName: boolean,
  ): Problem => {
    const near = nearest(name, known)
    const advice = near === null ? `there are: ${known.join(', ')}` : `did you mean ${near}?`
    return { path, message: `there is no provider ${quoted(name)}; ${advice}`, atName }
  }
  const missing = Object.keys(named)
    .filter((name) => !there.includes(name))
    .map((name) => problem(['providers', name], name, there, true))
  const targets = [
    ...models.direct.map(({ provider }, n) => [['models', 'direct', n, 'provider'], provider] as const),
    ...models.logical.flatMap(({ targets }, n) =>
      targets.map(
        ({ provider }, m) => [['models', 'logical', n, 'targets', m, 'provider'], provider] as const,
      ),
    ),
  ]
  const strangers = targets
    .filter(([, name]) => !Object.hasOwn(named, name))
    .map(([path, name]) => problem(path, name, Object.keys(named), false))
  return [...missing, ...strangers]
}

/** Maximum bytes of a target file. */
const MAX_BYTES = 2 ** 19

function sourceOf(file: string): Source {
  let text: string
  try {
    text = readBounded(file, MAX_BYTES).toString('utf8')
  } catch (cause) {
    throw new TargetError(`${file}: ${fileReason(cause)}`, { cause })
  }
  const read = readYaml(text, file)
  const mapping = typeof read.raw === 'object' && !Array.isArray(read.raw) ? read.raw : null
  if (!read.broken && read.raw !== null && mapping === null)
    throw new TargetError(`${file}: has no fields; docs/target-files.md describes them`)
  return { ...read, file, text, own: { ...mapping } }
}

function lineOf({ placeOf, offsetOf }: Source, problem: Problem): string {
  const name = problem.path.map((part) => escaped(String(part))).join('.')
  return `${placeOf(offsetOf(problem))} ${name === '' ? 'file' : name}: ${problem.message}`
}

/** Readiness check of a target that is known only by its address. The target may have no model list. */
const ANSWERS = { path: '/v1/models', status: [200, 404] }

/** Returns the target for a bare URL on the command line: only its address and a model are known. */
export const bareTarget = (
  url: string,
  model: string,
  options: { keyEnv?: string; mockPort?: number },
): Target =>
  targetSchema.parse({
    name: new URL(url).host,
    start: { url: url.replace(/\/+$/, '').replace(/\/v1$/, '') },
    key_env: options.keyEnv,
    mock_port: options.mockPort,
    providers: { openai: {} },
    ready: ANSWERS,
    // Claims nothing about the provider's model, which the gateway chooses.
    models: { call: model },
    capabilities: { catalog: '/v1/models', read_paths: ['/v1/models'] },
  })

/** Returns the target for the address of a model server, which does not use a mock. */
export const bareServer = (
  url: string,
  model: string,
  {
    keyEnv,
    dialects,
    window,
  }: { keyEnv?: string; dialects: readonly (keyof Target['dialects'])[]; window?: number },
): Target =>
  targetSchema.parse({
    name: new URL(url).host,
    start: { url: url.replace(/\/+$/, '').replace(/\/v1$/, '') },
    key_env: keyEnv,
    ready: ANSWERS,
    providers: {},
    models: { call: model },
    dialects: {
      ...(!dialects.includes('chat') && { chat: false }),
      ...Object.fromEntries(dialects.filter((name) => name !== 'chat').map((name) => [name, {}])),
    },
    capabilities: { catalog: '/v1/models', window },
  })
