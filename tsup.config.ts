import { copyFileSync } from 'node:fs'
import { defineConfig } from 'tsup'

// Types come from tsc (tsconfig.build.json): TypeScript 7 has no API for tsup to make them with.
export const gateway = defineConfig({
  // `writer` and `reader` are files of their own because threads are started from them.
  entry: {
    cli: 'src/cli.ts',
    gateway: 'src/gateway.ts',
    writer: 'src/store/sqlite/writer.ts',
    reader: 'src/store/sqlite/reader.ts',
    mocks: 'mocks/library.ts',
    conformance: 'conformance/library.ts',
    testcontainers: 'src/testcontainers/library.ts',
  },
  format: 'esm',
  target: 'node22',
  clean: true,
  sourcemap: true,
  removeNodeProtocol: false, // `node:sqlite` has no other name
  // `install --sh` looks for it beside itself.
  onSuccess: async () => copyFileSync('src/statusline/statusline.sh', 'dist/statusline.sh'),
})

// A program that runs at every keystroke's end: CommonJS in one file starts 4 ms sooner than modules do. What it needs
// rarely lies in files of its own, because parsing them costs another one.
const RARELY_NEEDED = { subagents: 'statusline', width: 'terminal', wrap: 'statusline' }
export const statusline = defineConfig({
  entry: {
    statusline: 'src/statusline/main.ts',
    ...Object.fromEntries(
      Object.entries(RARELY_NEEDED).map(([name, folder]) => [
        `statusline-${name}`,
        `src/${folder}/${name}.ts`,
      ]),
    ),
  },
  format: 'cjs',
  target: 'node22',
  splitting: false,
  minify: true,
  noExternal: [/.*/],
  esbuildPlugins: [
    {
      name: 'rarely needed',
      setup({ onResolve }) {
        const filter = new RegExp(`^\\.{1,2}/(?:\\w+/)?(${Object.keys(RARELY_NEEDED).join('|')})\\.ts$`)
        onResolve({ filter }, ({ path, kind }) =>
          kind === 'dynamic-import'
            ? { path: path.replace(filter, './statusline-$1.cjs'), external: true }
            : undefined,
        )
      },
    },
  ],
  esbuildOptions(options) {
    options.supported = { 'dynamic-import': false } // `require` instead, which does not start the module loader
  },
})

export default [gateway, statusline]
