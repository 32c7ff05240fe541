import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: { globalSetup: './setup.js', setupFiles: './local.js', include: ['tests/*.vitest.js'] },
})
