import fc from 'fast-check'

/**
 * Any character but the backslash, for the names of random JSON. After an object with a backslash in a name, V8
 * misreads escaped names of later objects (see `plain-names.ts`), so JSON.parse could not judge our own reading.
 */
export const unit = fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }).filter((each) => each !== '\\')
