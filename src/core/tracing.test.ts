import assert from 'node:assert/strict'
import { test } from 'node:test'
import { traceHeaders } from './tracing.ts'

const CALL = {
  id: '019c0000-0000-7000-8000-000000000001',
  traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
}
const told = (tracestate: string, parent: 'trace' | 'link' = 'trace') =>
  traceHeaders(CALL, 1, { parent, sample: 1, follow_caller: true }, { tracestate })

test('a valid tracestate is passed on if the trace is continued (TRACE-05)', () => {
  for (const tracestate of [
    'a=1',
    'rojo=00f067aa0ba902b7 , congo=t61rcWkgMzE',
    'fw529a3039@dt=FfAaqcjs=='.slice(0, -2),
  ])
    assert.deepEqual(told(tracestate).slice(2), ['tracestate', tracestate])
  const many = Array.from({ length: 33 }, (_, n) => `k${n}=v`).join(',')
  const long = `a=${' '.repeat(200)}x,`.repeat(6)
  for (const wrong of ['', 'a', 'A=1', 'a=1=2', 'a=ä', 'a=1,,b=2', many, long, `a=${'x'.repeat(300)}`])
    assert.equal(told(wrong).length, 2, wrong)
  assert.equal(told('a=1', 'link').length, 2)
})
