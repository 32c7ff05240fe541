import { expect, test } from '@jest/globals'
import { testPlugin } from './plugin.js'

testPlugin({ test, expect })
