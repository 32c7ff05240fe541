// Record of an `install` in a settings file, so that `uninstall` can undo exactly that change (LINE-11).
import { createHash } from 'node:crypto'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { replaceFile } from '../shared/replace-file.ts'
import type { Edit, Key } from './client-settings.ts'

export interface Receipt {
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

export const writeReceipt = (directory: string, receipt: Receipt): void =>
  replaceFile(receiptFile(directory, receipt.file, receipt.key), `${JSON.stringify(receipt, null, 2)}\n`)

export const dropReceipt = (directory: string, { file, key }: Receipt): void =>
  rmSync(receiptFile(directory, file, key), { force: true })
