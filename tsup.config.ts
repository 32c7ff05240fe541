import { defineConfig } from 'tsup'

// Types come from tsc (tsconfig.build.json): TypeScript 7 has no API for tsup to make them with.
export default defineConfig({
  // `writer` is a file of its own because a thread is started from it.
  entry: {
    cli: 'src/cli.ts',
    gateway: 'src/gateway.ts',
    writer: 'src/store/writer.ts',
    mocks: 'mocks/intercept.ts',
  },
  format: 'esm',
  target: 'node22',
  clean: true,
  sourcemap: true,
})
