// The style sheet of self-contained pages, as text: the gateway's own, and what reports add to it.
import { readFileSync } from 'node:fs'

/** In `dist` both lie beside the files of the page. */
const FILES = import.meta.url.endsWith('.ts')
  ? ['../../src/page/base.css', './report.css']
  : ['./page/base.css', './page/report.css']

export const style = (): string =>
  FILES.map((file) => readFileSync(new URL(file, import.meta.url), 'utf8')).join('\n')
