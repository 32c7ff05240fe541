// Stops the mock server: `globalTeardown` of Jest. Vitest stops the server itself.
module.exports = () => globalThis.waybillMock?.close()
