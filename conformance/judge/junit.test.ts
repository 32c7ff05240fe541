import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Results } from './judge.ts'
import { junit } from './write.ts'

test('junit.xml escapes markup and white space, and writes characters that XML 1.0 forbids as escapes', () => {
  const verdict = {
    id: 'TELL-05',
    slug: 'errors',
    outcome: 'harness-error',
    reason: `<b a="1">&amp;'\t\r\n]]> é 😀 \u0000\u001b[31m\ufffe\ud800`,
    duration: 1500,
    text: 'Sentence.',
  }
  const results = { target: { name: '"A" & B' }, profile: 'observable', verdicts: [verdict], duration: 2500 }
  const reason = `&#60;b a=&#34;1&#34;&#62;&#38;amp;'&#9;&#10;]]&#62; é 😀 \\u0000\\u001b[31m\\ufffe\\ud800`
  assert.equal(
    junit(results as unknown as Results),
    `<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="&#34;A&#34; &#38; B, profile observable" tests="1" failures="0" errors="1" skipped="0" time="2.5">
    <testcase classname="waybill.TELL" name="TELL-05 errors" time="1.5">
      <error message="${reason}" type="harness-error">Sentence.&#10;${reason}</error>
    </testcase>
  </testsuite>
</testsuites>
`,
  )
})
