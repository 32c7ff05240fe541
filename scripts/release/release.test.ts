import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formula, notes, strays } from './files.ts'

test('mentions of another version are reported with their lines', () => {
  const files = {
    'compose.yaml': 'a: 1\nimage: waybill:1.2.2\n',
    'docs/a.md': '`npm install ./waybill-1.2.3.tgz`, then waybill:1.2.3',
    'examples/helm/waybill/Chart.yaml': 'apiVersion: v2\nversion: 1.2.3\nappVersion: 1.1.0\n',
  }
  assert.deepEqual(strays('1.2.3', files), [
    'compose.yaml:2: waybill:1.2.2',
    'examples/helm/waybill/Chart.yaml:3: appVersion: 1.1.0',
  ])
  const candidate = { 'a.md': '`npx ./waybill-2.0.0-rc.1.tgz`, waybill:2.0.0-rc.1 and waybill:2.0.0' }
  assert.deepEqual(strays('2.0.0-rc.1', candidate), ['a.md:1: waybill:2.0.0'])
})

test('the changelog gives a version’s notes if the version has a heading, and its date if the version is released', () => {
  const log = '# Changelog\n\n## 1.1.0 (unreleased)\n\n- new\n\n## 1.0.0 (2026-11-22)\n\n- first\n'
  assert.deepEqual(notes(log, '1.1.0'), { date: null, text: '- new' })
  assert.deepEqual(notes(log, '1.0.0'), { date: '2026-11-22', text: '- first' })
  assert.equal(notes(log, '1.2.0'), null)
  assert.equal(notes('# Changelog\n\n## Unreleased\n\n- new\n', '1.1.0'), null)
})

test("the formula installs the release's tarball and checks its digest", () => {
  const url = 'https://github.com/o/n/releases/download/v1.2.3/waybill-1.2.3.tgz'
  const text = formula(url, 'ab12')
  assert.ok(text.includes(`url "${url}"\n  sha256 "ab12"`))
  assert.ok(text.includes('homepage "https://github.com/o/n"'))
})
