// What TSX becomes in the bundle: calls of `h`, which take fewer bytes than those of the automatic runtime.
export { Fragment, h } from 'preact'
