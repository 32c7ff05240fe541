// A target file -> a Target, or every mistake in it with its line and what was probably meant. The fields
// are in target.ts.
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { providers } from '../mocks/providers.ts'
import { nearest } from '../src/config/nearest.ts'
import { type Problem, quoted } from '../src/config/problem.ts'
import { mistakes } from '../src/config/wording.ts'
import { readYaml, type Text } from '../src/config/yaml.ts'
import { escaped } from '../src/terminal/clean.ts'
import { type Target, targetJsonSchema, targetSchema } from './target.ts'

/** The target files that come with the package; the same step up from conformance/ and from dist/. */
export const ownTargets = fileURLToPath(new URL('../conformance/targets', import.meta.url))

/** For editors; the same step up from conformance/ and from dist/. */
export const targetSchemaFile = fileURLToPath(new URL('../docs/target.schema.json', import.meta.url))

/** A target file that cannot be used; `problems` are complete lines for a person. */
export class TargetError extends Error {
  override readonly name = 'TargetError'
}

/** Fields of version 0.1 -> their names now. */
const RENAMED: Readonly<Record<string, string>> = { tells: 'observability', has: 'capabilities' }

/** One file as written. */
interface Source extends Text {
  readonly file: string
  readonly own: Readonly<Record<string, unknown>>
}

/** Reads a target file. Throws TargetError, one line for each problem, with its place and a remedy. */
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
  const renamed = Object.keys(given).filter((name) => Object.hasOwn(RENAMED, name))
  if (renamed.length > 0)
    return renamed.map((name) => ({ path: [name], message: `is now called ${RENAMED[name]}`, atName: true }))
  const { extends: _, ...properties } = targetJsonSchema().properties ?? {}
  const found = mistakes(given, { schema: targetSchema, json: { properties } })
  return found.length > 0 ? found : unknownProviders(targetSchema.parse(given))
}

/** The witness simulates some providers, and a model can only go to one of those that the file names. */
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

function sourceOf(file: string): Source {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (cause) {
    throw new TargetError(`${file}: ${(cause as Error).message.split('\n')[0]}`, { cause })
  }
  const read = readYaml(text, file)
  const mapping = typeof read.raw === 'object' && !Array.isArray(read.raw) ? read.raw : null
  if (!read.broken && read.raw !== null && mapping === null)
    throw new TargetError(`${file}: has no fields; docs/target-files.md describes them`)
  return { ...read, file, own: { ...mapping } }
}

function lineOf({ placeOf, offsetOf }: Source, problem: Problem): string {
  const name = problem.path.map((part) => escaped(String(part))).join('.')
  return `${placeOf(offsetOf(problem))} ${name === '' ? 'file' : name}: ${problem.message}`
}

/** A target of which nothing is known but its address and a model: what a bare url on the command line stands for. */
export const bareTarget = (
  url: string,
  model: string,
  options: { keyEnv?: string; witnessPort?: number },
): Target =>
  targetSchema.parse({
    name: new URL(url).host,
    start: { url: url.replace(/\/+$/, '').replace(/\/v1$/, '') },
    key_env: options.keyEnv,
    witness_port: options.witnessPort,
    providers: { openai: {} },
    // What the provider will be asked for is the gateway's business: nothing is claimed of it.
    models: { call: model },
    capabilities: { catalog: '/v1/models', read_paths: ['/v1/models'] },
  })
