// Keeps tests on this machine: a connection to another machine fails with an error. Setup file for Vitest and Jest.
const net = require('node:net')

const { connect } = net.Socket.prototype
function connectHere(...args) {
  const [target, host] = Array.isArray(args[0]) ? args[0] : args
  const to = typeof target === 'object' && target !== null ? target : { port: target, host }
  const isHere = to.path || !to.host || /^(localhost|127\.|::1$|\[::1\]$)/.test(to.host)
  if (isHere) return Reflect.apply(connect, this, args)
  const error = new Error(`a test tried to reach ${to.host}; give your application mock.baseUrl('openai')`)
  queueMicrotask(() => this.destroy(error))
  return this
}
// A worker runs several test files.
if (connect.name !== connectHere.name) net.Socket.prototype.connect = connectHere
