// Explains briefly why a file could not be read or written.
import { getSystemErrorMessage } from 'node:util'

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  EISDIR: 'is a folder, not a file',
  ENOTDIR: 'a part of its path is not a folder',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
}

/** Returns the reason without the path. For any other error, returns the first line of its message. */
export function fileReason(error: unknown): string {
  const { code = '', errno, syscall, message } = error as NodeJS.ErrnoException
  if (syscall === undefined || errno === undefined) return message.split('\n')[0]!
  return REASONS[code] ?? getSystemErrorMessage(errno)
}
