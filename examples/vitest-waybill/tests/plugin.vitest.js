import { expect, test } from 'vitest'
import { testPlugin } from './plugin.js'

testPlugin({ test, expect })
