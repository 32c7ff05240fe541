// Makes all files of a release, checks that they agree, and prints their names. Publishes nothing;
// .github/workflows/release.yml does that. docs/releasing.md explains each file.
//   npm run release -- --dry-run [--out DIR]         reports what is still missing for a release
//   npm run release -- --tag vVERSION [--out DIR]    fails if anything is missing
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { buildExecutable, programOutput, reasonAgainst } from './executable.ts'

const root = join(import.meta.dirname, '../..')

/** Returns the places that name a version other than this one, as `file:line: the text there`. */
export function strays(version: string, files: Readonly<Record<string, string>>): string[] {
  const naming = /\bwaybill[:-](\d+\.\d+\.\d+(?:-[a-z]+\.\d+)?)|^(?:appVersion|version): (\S+)$/g
  return Object.entries(files).flatMap(([file, text]) =>
    text
      .split('\n')
      .flatMap((line, n) =>
        [...line.matchAll(naming)]
          .filter(([, named, chart]) => (named ?? chart) !== version)
          .map(([found]) => `${file}:${n + 1}: ${found}`),
      ),
  )
}

/** Returns the section of a version in CHANGELOG.md, or null; `date` is null while it is unreleased. */
export function notes(changelog: string, version: string): { date: string | null; text: string } | null {
  const sections = changelog.split(/^## /m).slice(1)
  const section = sections.find((each) => each.startsWith(`${version} `))
  const heading = section?.slice(0, section.indexOf('\n')) ?? ''
  const [, named, when] = /^(\S+) \(?(unreleased|\d{4}-\d\d-\d\d)\)?$/.exec(heading) ?? []
  if (section === undefined || named !== version) return null
  return {
    date: when === 'unreleased' ? null : when!,
    text: section.slice(heading.length).trim(),
  }
}

/** Returns the Homebrew formula, which installs the published tarball. */
export const formula = (url: string, sha256: string): string => `class Waybill < Formula
  desc "Gateway for language models that records where each call went"
  homepage "${url.includes('/releases/') ? url.slice(0, url.indexOf('/releases/')) : 'https://example.org'}"
  url "${url}"
  sha256 "${sha256}"
  license "MIT"

  depends_on "node"

  def install
    system "npm", "install", *std_npm_args
    bin.install_symlink libexec.glob("bin/*")
  end

  service do
    run [opt_bin/"waybill", "serve", "--config", etc/"waybill.yaml"]
    environment_variables WAYBILL_DATA: var/"waybill"
    keep_alive true
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/waybill --version")
  end
end
`

const read = (file: string): string => readFileSync(join(root, file), 'utf8')
const sha256 = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex')

/** Returns the obstacles to a release of `version`: mistakes and open tasks. */
function examine(version: string, tag: string | undefined): { wrong: string[]; open: string[] } {
  const locked = JSON.parse(read('package-lock.json'))
  const versions = [locked.version, locked.packages[''].version]
  const told = programOutput(
    'git',
    'ls-files',
    '*.md',
    '*.yml',
    '*.yaml',
    '*.json',
    ':!conformance/submissions',
  )
    .trim()
    .split('\n')
  const files = told.filter(
    (file) =>
      !/^(CHANGELOG|DECISIONS)\.md$|^package-lock\.json$|^docs\/scoreboard|^conformance\/targets\//.test(
        file,
      ),
  )
  const wrong = [
    ...(versions.every((each) => each === version) ? [] : [`package-lock.json is of ${versions.join(', ')}`]),
    ...strays(version, Object.fromEntries(files.map((file) => [file, read(file)]))),
  ]
  if (tag !== undefined && tag !== `v${version}`) wrong.push(`the tag ${tag} is not v${version}`)
  const said = notes(read('CHANGELOG.md'), version)
  const open: string[] = []
  if (said === null) open.push(`CHANGELOG.md does not begin with "## ${version} (DATE)"`)
  else if (said.date === null) open.push(`CHANGELOG.md says "unreleased" of ${version}; put the date there`)
  if (tag === undefined) open.push(`there is no tag; sign v${version} when the rest is done`)
  if (programOutput('git', 'status', '--porcelain').trim() !== '') open.push('the working tree has changes')
  if (!JSON.parse(read('package.json')).repository)
    open.push('package.json names no repository, which provenance in the registry is held against')
  return { wrong, open }
}

async function make(version: string, repository: string | undefined, out: string): Promise<void> {
  rmSync(out, { recursive: true, force: true })
  mkdirSync(out, { recursive: true })
  if (!existsSync(join(root, 'dist/cli.js'))) throw new Error('dist is not built; run npm run build first')
  const packed = JSON.parse(
    programOutput('npm', 'pack', '--json', '--ignore-scripts', '--pack-destination', out),
  )
  const tarball = join(out, packed[0].filename)
  const sbom = programOutput('npm', 'sbom', '--sbom-format', 'spdx', '--package-lock-only', ...omitted)
  writeFileSync(join(out, 'sbom.spdx.json'), sbom)
  const url = repository
    ? `https://github.com/${repository}/releases/download/v${version}/${packed[0].filename}`
    : pathToFileURL(tarball).href
  writeFileSync(join(out, 'waybill.rb'), formula(url, sha256(tarball)))
  const chart = join(out, `waybill-chart-${version}.tgz`)
  const same = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner']
  programOutput('tar', '-czf', chart, ...same, '-C', 'examples/helm', 'waybill')
  writeFileSync(join(out, 'notes.md'), `${notes(read('CHANGELOG.md'), version)?.text ?? ''}\n`)
  if (reasonAgainst() === null) {
    await buildExecutable(join(out, EXECUTABLE))
    programOutput('gzip', '-n', join(out, EXECUTABLE))
  }
  const sums = readdirSync(out).map((file) => `${sha256(join(out, file))}  ${file}\n`)
  writeFileSync(join(out, 'SHA256SUMS'), sums.join(''))
}

const EXECUTABLE = 'waybill-linux-x64'

/** Options that leave out dependencies that an installed package lacks. */
const omitted = ['--omit', 'dev', '--omit', 'optional', '--omit', 'peer']

function report(version: string, out: string): string {
  const size = (file: string) => `${(readFileSync(join(out, file)).length / 1000).toFixed(0)} kB`
  const executable = () =>
    existsSync(join(out, `${EXECUTABLE}.gz`))
      ? `${EXECUTABLE}.gz of ${size(`${EXECUTABLE}.gz`)}`
      : `no executable (${reasonAgainst()})`
  const { packages } = JSON.parse(readFileSync(join(out, 'sbom.spdx.json'), 'utf8'))
  return `would be published:
  package   waybill ${version}, ${size(`waybill-${version}.tgz`)}, with provenance
  image     waybill:${version} for linux/amd64 and linux/arm64, with SBOM and provenance
  release   v${version} with the package, ${executable()}, waybill-chart-${version}.tgz, waybill.rb, sbom.spdx.json (${packages.length} packages)
the files are in ${out}; SHA256SUMS has their digests
nothing was published`
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      'dry-run': { type: 'boolean', default: false },
      tag: { type: 'string' },
      repository: { type: 'string', default: process.env.GITHUB_REPOSITORY },
      out: { type: 'string', default: '.tmp/release' },
    },
  })
  if (!values['dry-run'] && values.tag === undefined)
    throw new Error('say --dry-run, or --tag vVERSION in the release workflow')
  const { version } = JSON.parse(read('package.json'))
  const { wrong, open } = examine(version, values.tag)
  const bad = values['dry-run'] ? wrong : [...wrong, ...open]
  if (bad.length > 0) throw new Error(`this is no release of ${version}:\n  ${bad.join('\n  ')}`)
  const out = join(root, values.out)
  await make(version, values.repository, out)
  for (const each of open) console.log(`still to do: ${each}`)
  console.log(report(version, out))
}

if (import.meta.main)
  try {
    await main()
  } catch (error) {
    console.error(`release: ${(error as Error).message}`)
    process.exitCode = 1
  }
