// Writes docs/losses.md: the meaning of each loss, and the translations in which tests show the loss.

import { LOSSES, type Loss, MOVE_LOSSES } from '../../src/core/losses.ts'
import { LOSS_CASES } from '../../src/dialects/test-loss-cases.ts'

export function lossesPage(): string {
  const rows = (Object.keys(LOSSES) as Loss[]).map((word) => {
    const pairs = LOSS_CASES.filter(({ loses }) => loses.includes(word)).map(({ from, to, answer }) =>
      answer ? `${to} → ${from} (answer)` : `${from} → ${to}`,
    )
    return `| \`${word}\` | ${LOSSES[word]} | ${[...new Set(pairs)].join('<br>')} |`
  })
  return `# What a translation loses

<!-- Made by \`npm run docs\` from src/core/losses.ts and src/dialects/test-loss-cases.ts; the tests check each case against the translation. -->

If a provider speaks the client's dialect, the bytes are relayed and nothing is lost. If it does not, the call is translated,
and these words name what the other dialect cannot express: in the header \`X-Gateway-Lossy\` of the answer (for a stream,
what was known when it began), in \`losses\` of the attempt in the record, and as a label of \`waybill_losses_total\` in
\`/metrics\`. A route with \`on_loss: refuse\`, or with a list of these words, refuses such a call before anything is sent. The last
column lists what the tests show: from the client's dialect to the provider's, or back in the answer.

| word | what is lost | where |
|---|---|---|
${rows.join('\n')}

## What a session loses with its key

A provider may have [several keys](credentials.md#several-keys). If a session has to move to another one, its first call there has
these words, also without a translation. \`on_loss\` does not concern them.

| word | what is lost |
|---|---|
${Object.entries(MOVE_LOSSES)
  .map(([word, meaning]) => `| \`${word}\` | ${meaning} |`)
  .join('\n')}
`
}
