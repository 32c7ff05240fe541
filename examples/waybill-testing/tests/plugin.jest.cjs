const { testPlugin } = require('./plugin.cjs')

testPlugin({ test, expect })
