// `install` and `uninstall`: edit the client's settings, with a receipt, so that `uninstall` can undo exactly that change
// (LINE-11). Another program's line is never replaced; with `wrap` it becomes part of ours.

import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { replaceFile } from '../shared/replace-file.ts'
import {
  commandOf,
  type Edit,
  type Key,
  putCommand,
  readSettings,
  settingOf,
  takeBack,
  withoutEntry,
} from './clients.ts'

interface InstallOptions {
  /** The client's settings file, with links resolved. */
  readonly file: string
  readonly key: Key
  /** Directory of the install records. */
  readonly directory: string
  /** True to keep an existing status line and append ours. */
  readonly wrap: boolean
  /** The command as a program and its arguments, unquoted. */
  readonly words: readonly string[]
}

/**
 * Installs the line. Returns the command that was written. Throws, with advice, if the settings are foreign
 * or broken.
 */
export function installLine({ file, key, directory, wrap, words }: InstallOptions): string {
  if (readReceipt(directory, file, key)) uninstall({ file, key, directory })
  const existed = existsSync(file)
  const text = existed ? readFileSync(file, 'utf8') : ''
  const settings = settingsOf(file, text)
  const foreign = commandOf(settings, key)
  if (settingOf(settings, key) !== undefined && !(wrap && foreign !== null))
    throw new Error(`${file} already has a ${key}; \`--wrap\` keeps it and puts ours after it`)
  const wrapped = wrap && foreign !== null ? ['--wrap', foreign] : []
  const command = [...words, ...wrapped].map(quote).join(' ')
  const put = putCommand(text, key, command)
  writeReceipt(directory, { file, key, command, created: !existed, edit: put.edit })
  replaceFile(file, put.text)
  return command
}

type Uninstalled = 'restored' | 'nothing' | 'edited'

/** Uninstalls the line. `edited`: our entry was changed, so it now belongs to the user and stays. */
export function uninstall({
  file,
  key,
  directory,
}: Pick<InstallOptions, 'file' | 'key' | 'directory'>): Uninstalled {
  const receipt = readReceipt(directory, file, key)
  if (!receipt) return 'nothing'
  const restored = existsSync(file) ? restore(readFileSync(file, 'utf8'), receipt) : null
  if (restored === null) return 'edited'
  if (receipt.created && restored.trim() === '') rmSync(file)
  else replaceFile(file, restored)
  dropReceipt(directory, receipt)
  return 'restored'
}

/** Returns the settings without our entry; null if the entry is no longer ours. */
function restore(text: string, receipt: Receipt): string | null {
  const plain = takeBack(text, receipt.edit)
  if (plain !== null && isWhole(plain)) return plain
  // A formatter may have changed white space. The entry is still ours if it is otherwise the same.
  const settings = settingsOf(receipt.file, text)
  if (commandOf(settings, receipt.key) !== receipt.command) return null
  return `${JSON.stringify(withoutEntry(settings, receipt.key), null, 2)}\n`
}

/** Returns true for valid settings. Removal of an entry from the middle may leave an extra comma. */
function isWhole(text: string): boolean {
  try {
    readSettings(text)
    return true
  } catch {
    return false
  }
}

function settingsOf(file: string, text: string): Readonly<Record<string, unknown>> {
  try {
    return readSettings(text)
  } catch (error) {
    throw new Error(`${file} was not changed: ${(error as Error).message}`)
  }
}

/** Quotes a word for a POSIX shell. */
const quote = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`

interface Receipt {
  readonly file: string
  readonly key: Key
  readonly command: string
  /** True if the file and the directory did not exist before. */
  readonly created: boolean
  /** Only the changed text, because the rest of the file may contain tokens. */
  readonly edit: Edit
}

const receiptFile = (directory: string, file: string, key: Key): string =>
  join(
    directory,
    'receipts',
    `${createHash('sha256').update(`${key} ${file}`).digest('hex').slice(0, 16)}.json`,
  )

/** Returns the install record; null if Waybill did not install the line. */
export function readReceipt(directory: string, file: string, key: Key): Receipt | null {
  try {
    return JSON.parse(readFileSync(receiptFile(directory, file, key), 'utf8'))
  } catch {
    return null
  }
}

const writeReceipt = (directory: string, receipt: Receipt): void =>
  replaceFile(receiptFile(directory, receipt.file, receipt.key), `${JSON.stringify(receipt, null, 2)}\n`)

const dropReceipt = (directory: string, { file, key }: Receipt): void =>
  rmSync(receiptFile(directory, file, key), { force: true })
