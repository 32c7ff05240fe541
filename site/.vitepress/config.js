// The site: the pages that scripts/docs/site/build.ts puts into `content` become one folder, `dist`, which asks no other host.
import { readFileSync } from 'node:fs'
import { defineConfig } from 'vitepress'

const base = process.env.WAYBILL_SITE_BASE ?? '/'

export default defineConfig({
  title: 'Waybill',
  description: 'A local gateway for language models that records where every call went.',
  srcDir: 'content',
  outDir: 'dist',
  cacheDir: 'node_modules/.cache',
  base,
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: `${base}files/src/page/icon.svg` }]],
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    sidebar: JSON.parse(readFileSync(new URL('../content/sidebar.json', import.meta.url), 'utf8')),
  },
  markdown: {
    attrs: { disable: true },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    // What stands in braces is text and no template.
    config({ renderer: { rules } }) {
      const code = rules.code_inline
      rules.code_inline = (tokens, n, ...rest) => {
        tokens[n].attrSet('v-pre', '')
        return code(tokens, n, ...rest)
      }
      const plain = rules.text
      rules.text = (...given) => plain(...given).replaceAll('{{', '&#123;&#123;')
    },
  },
})
