// Stops the mock server: `globalTeardown` of Jest. Vitest does so itself.
module.exports = () => globalThis.waybillMock?.close()
