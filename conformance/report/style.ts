// Style sheet of self-contained pages, as text: the gateway's own, and additions for reports.
import { readFileSync } from 'node:fs'
import { packageFile } from '../../src/shared/package-root.ts'

/** The built package has no sources, so it has copies next to the page's files. */
const FILES = import.meta.url.endsWith('.ts')
  ? ['src/page/base.css', 'conformance/report/report.css']
  : ['dist/page/base.css', 'dist/page/report.css']

export const style = (): string => FILES.map((file) => readFileSync(packageFile(file), 'utf8')).join('\n')
