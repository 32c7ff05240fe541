// The bundle's entry, and the only file of the status line that touches the process. Always ends with exit
// code 0 and a line, even if everything else is broken, because the client would otherwise blank its row
// (LINE-01).
import { statusLine } from './program.ts'

void statusLine(process.argv.slice(2), { stdin: process.stdin, env: process.env, now: Date.now })
  .catch((error: Error) => ({ stdout: 'waybill\n', stderr: `waybill statusline: ${error.name}\n` }))
  .then(({ stdout, stderr }) => {
    if (stderr) process.stderr.on('error', () => {}).write(stderr)
    process.stdout.on('error', () => process.exit(0))
    process.stdout.write(stdout, () => process.exit(0))
  })
