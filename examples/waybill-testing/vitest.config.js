import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    globalSetup: './setup.cjs',
    setupFiles: './local.cjs',
    include: ['tests/*.vitest.js'],
    maxConcurrency: 200,
  },
})
