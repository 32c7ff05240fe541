import { createRequire } from 'node:module'
import { expect, test } from 'vitest'

const { testPlugin } = createRequire(import.meta.url)('./plugin.cjs')
testPlugin({ test, expect })
