// Starts one mock server for all tests: `globalSetup` of Vitest and Jest. WAYBILL_RECORDINGS is the
// directory of the recordings. Workers find the server through the environment variable WAYBILL_MOCK.

module.exports = async function setup() {
  if (process.env.WAYBILL_MOCK) return // another process started the mock
  const { createMockProviders } = await import('waybill/mocks')
  const recordings = process.env.WAYBILL_RECORDINGS
  const mock = await createMockProviders(recordings ? { recordings } : {})
  const providers = mock.providers.map((name) => [
    name,
    { path: mock.baseUrl(name).slice(mock.url.length), key: mock.key(name) },
  ])
  process.env.WAYBILL_MOCK = JSON.stringify({
    url: mock.url,
    control: mock.controlUrl,
    providers: Object.fromEntries(providers),
  })
  globalThis.waybillMock = mock
  return () => mock.close() // Vitest calls this function; Jest uses teardown.cjs
}
