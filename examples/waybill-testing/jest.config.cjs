module.exports = {
  globalSetup: './setup.cjs',
  globalTeardown: './teardown.cjs',
  setupFiles: ['./local.cjs'],
  testMatch: ['**/tests/*.jest.cjs'],
  maxConcurrency: 200,
}
