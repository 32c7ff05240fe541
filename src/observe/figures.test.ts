import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Counter, Gauge, Histogram, labels, render } from './figures.ts'

test('the metrics have Prometheus’ format with help, type, labels and cumulative buckets', () => {
  const calls = new Counter('calls_total', 'Calls.')
  calls.add(labels('a', 'x', 'b', 'y'))
  calls.add(labels('a', 'x', 'b', 'y'), 2)
  const open = new Gauge('open', 'Open now.', () => [['', 3]])
  const seconds = new Histogram('took_seconds', 'Time.', [0.5, 1])
  for (const value of [0.2, 0.5, 0.7, 4]) seconds.observe(labels('a', 'x'), value)
  assert.equal(
    render([calls, new Counter('none_total', 'None.', { plain: true }), open, seconds]),
    `# HELP calls_total Calls.
# TYPE calls_total counter
calls_total{a="x",b="y"} 3

# HELP none_total None.
# TYPE none_total counter
none_total 0

# HELP open Open now.
# TYPE open gauge
open 3

# HELP took_seconds Time.
# TYPE took_seconds histogram
took_seconds_bucket{le="0.5",a="x"} 2
took_seconds_bucket{le="1",a="x"} 3
took_seconds_bucket{le="+Inf",a="x"} 4
took_seconds_sum{a="x"} 5.4
took_seconds_count{a="x"} 4
`,
  )
})

test('a label cannot break out of its quotes (TELL-06)', () => {
  assert.equal(labels('model', 'a"} 7\nb\\'), 'model="a\\"} 7\\nb\\\\"')
})
