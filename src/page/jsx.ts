// Bundled form of TSX: calls of `h`, which take fewer bytes than those of the automatic runtime.
export { Fragment, h } from 'preact'
