import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askEach } from './target-init.ts'

test('`waybill target init` asks again after a mistake, and keeps the earlier answers', async () => {
  const replies = [
    '',
    'node gateway.js',
    'auto',
    '/health',
    '',
    '/log',
    'model=x-model',
    'log',
    '/log',
    '',
    '',
    '',
  ]
  const asked: string[] = []
  const answers = await askEach({}, async (text) => {
    asked.push(text)
    return replies.shift()!
  })
  assert.deepEqual(answers, {
    ...{ start: 'node gateway.js', call: 'auto', keyEnv: '', headers: 'model=x-model', log: '/log' },
    ...{ name: '', ready: '', read: '' },
  })
  assert.match(
    asked[4]!,
    /✗ the environment variable \/health is not set; set it\nWhich environment variable/,
  )
  assert.match(asked[6]!, /✗ write NAME=HEADER, .*\nWhich response headers/)
  assert.match(asked[8]!, /✗ write a path that begins with \/\nWhere is its log/)
})
