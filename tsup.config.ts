import fs, { copyFileSync } from 'node:fs'
import http from 'node:http'
import { basename, join } from 'node:path'
import { defineConfig, type Options } from 'tsup'
import { ATTEMPT_FIELDS, CALL_FIELDS } from './src/core/record.ts'
import { packageFacts } from './src/models/facts.ts'

/** Built-in modules with members that load more of Node: `node:http` its own `fetch`, `node:fs` its streams. */
const BUILT_IN = { 'node:http': http, 'node:fs': fs }

/**
 * Leaves out what a start would load in vain, because a module copies every member when it is imported: rarely used parts of
 * Node, 40 ms of processor time at each start, and the error messages of zod in fifty languages. Packages of many files that
 * every start needs are part of the bundle, because each file costs a third of a millisecond.
 */
const forTheStart: NonNullable<Options['esbuildPlugins']>[number] = {
  name: 'for the start',
  setup({ onResolve, onLoad }) {
    const contents: Record<string, string> = {
      // Its other form imports `http`.
      polka: `import { createRequire } from 'node:module'; export default createRequire(import.meta.url)('polka')`,
    }
    for (const [name, module] of Object.entries(BUILT_IN)) {
      const members = Object.entries(Object.getOwnPropertyDescriptors(module))
      const names = members.flatMap(([member, { get }]) => (get ? [] : [member]))
      contents[name] = `const it = process.getBuiltinModule('${name}'); export const { ${names} } = it`
    }
    const namespace = 'for the start'
    onResolve({ filter: /^(node:http|node:fs|polka)$/ }, ({ path }) => ({ path, namespace }))
    onLoad({ filter: /.*/, namespace }, ({ path }) => ({ contents: contents[path]! }))
    // Its other form for Node is of CommonJS modules, which cannot be part of a bundle of modules.
    const yaml = join(import.meta.dirname, 'node_modules/yaml/browser/dist/index.js')
    onResolve({ filter: /^yaml$/ }, () => ({ path: yaml }))
    onLoad({ filter: /zod\/v4\/locales\/index\.js$/ }, () => ({ contents: '' }))
  },
}

/** Packages that are part of the bundle. */
const BUNDLED = ['zod', 'yaml']

// Types come from tsc (tsconfig.build.json): TypeScript 7 has no API for tsup to make them with.
export const gateway = defineConfig({
  // `database-thread` and `fleet-worker` are files of their own because threads are started from them.
  entry: {
    cli: 'src/cli.ts',
    gateway: 'src/gateway/create-gateway.ts',
    'database-thread': 'src/store/sqlite/database-thread.ts',
    'fleet-worker': 'src/fleet/worker.ts',
    mocks: 'mocks/library.ts',
    conformance: 'conformance/runner/library.ts',
    testcontainers: 'src/testcontainers/library.ts',
  },
  format: 'esm',
  target: 'node22',
  clean: true,
  sourcemap: true,
  removeNodeProtocol: false, // `node:sqlite` has no other name
  esbuildPlugins: [forTheStart],
  noExternal: ['polka', ...BUNDLED], // polka, so that the plugin sees it
  define: { PACKAGE_FACTS: JSON.stringify(JSON.stringify(packageFacts())) },
  onSuccess: async () => {
    copyFileSync('src/statusline/statusline.sh', 'dist/statusline.sh') // `install --sh` looks for it beside itself
    for (const name of BUNDLED) copyFileSync(`node_modules/${name}/LICENSE`, `dist/${name}.LICENSE`)
  },
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

/**
 * The page reads the definition of the record as data: the names, kinds and filters of its fields, and the first words of
 * what is said about each; of attempts only the names. What writes them stays behind.
 */
const definitionOfTheRecord: NonNullable<Options['esbuildPlugins']>[number] = {
  name: 'definition of the record',
  setup({ onLoad }) {
    const data = (fields: object) =>
      JSON.stringify(fields, (key, value) => {
        if (key === 'nullable') return undefined
        return key === 'about' ? String(value).split(/[;:.,] | \(/)[0] : value
      })
    onLoad({ filter: /[\\/]src[\\/]core[\\/]record\.ts$/ }, () => ({
      contents: `export const CALL_FIELDS = ${data(CALL_FIELDS)}, ATTEMPT_FIELDS = ${JSON.stringify(ATTEMPT_FIELDS, Object.keys(ATTEMPT_FIELDS))}`,
    }))
  },
}

export const PAGE_ASSETS = ['index.html', 'icon.svg']
/** What the conformance report takes from the page, and its own. */
const REPORT_STYLES = ['src/page/base.css', 'conformance/judge/report.css']

// The page in the browser: one file of code and one of style, which may load nothing else.
export const page = defineConfig({
  entry: { page: 'src/page/main.tsx' },
  outDir: 'dist/page',
  format: 'esm',
  platform: 'browser',
  target: 'es2022',
  splitting: false,
  minify: true,
  noExternal: [/.*/],
  esbuildPlugins: [definitionOfTheRecord],
  esbuildOptions(options) {
    options.jsx = 'transform'
    options.jsxFactory = 'h'
    options.jsxFragment = 'Fragment'
    options.inject = ['./src/page/jsx.ts']
    options.charset = 'utf8'
  },
  onSuccess: async () => {
    for (const file of PAGE_ASSETS) copyFileSync(`src/page/${file}`, `dist/page/${file}`)
    for (const file of REPORT_STYLES) copyFileSync(file, `dist/page/${basename(file)}`)
  },
})

export default [gateway, statusline, page]
