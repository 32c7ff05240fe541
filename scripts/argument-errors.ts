// Preloaded by run.ts: an invalid argument of a program ends it with one line and exit code 2, without a stack trace.
import { isMainThread } from 'node:worker_threads'

if (isMainThread)
  process.on('uncaughtException', (error: NodeJS.ErrnoException) => {
    const isArgument = error.code?.startsWith('ERR_PARSE_ARGS')
    process.stderr.write(`${isArgument ? error.message.split('. ')[0] : (error.stack ?? error)}\n`)
    process.exit(isArgument ? 2 : 1)
  })
