// Keeps tests on this machine: a connection to another machine fails with an error. Setup file for Vitest and Jest.
const net = require('node:net')

const { connect } = net.Socket.prototype
function connectHere(...args) {
  const isNormal = Array.isArray(args[0]) // Node's own array of options and callback
  const [target, host] = isNormal ? args[0] : args
  const to = typeof target === 'object' && target !== null ? target : { port: target, host }
  const isHere = to.path || !to.host || /^(localhost|127\.|::1$|\[::1\]$)/.test(to.host)
  // An interceptor (`interceptProviders`, MSW, nock) puts its own `connect` on a socket that it answers itself.
  if (isHere || Object.hasOwn(this, 'connect')) return Reflect.apply(connect, this, args)
  const error = new Error(`a test tried to reach ${to.host}; give your application mock.baseUrl('openai')`)
  if (net.isIP(to.host)) {
    queueMicrotask(() => this.destroy(error))
    return this
  }
  // An interceptor below answers with a lookup of its own; without one, the lookup fails.
  const refused = { ...to, lookup: (_host, _options, done) => done(error) }
  if (isNormal) args[0][0] = refused
  else args.splice(0, typeof host === 'string' ? 2 : 1, refused)
  return Reflect.apply(connect, this, args)
}
// A worker runs several test files.
if (connect.name !== connectHere.name) net.Socket.prototype.connect = connectHere
