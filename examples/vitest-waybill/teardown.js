// Ends the mock server: `globalTeardown` of Jest. Vitest does it by itself.
export default () => globalThis.waybillMock?.close()
