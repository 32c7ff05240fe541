// JSX factory for the bundle: calls of `h`, which take fewer bytes than those of the automatic runtime.
export { Fragment, h } from 'preact'
