// One call.
export const Call = () => null
